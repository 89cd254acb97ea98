package rules

import (
	"errors"
	"fmt"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/ext"
)

// costLimit bounds the work that one evaluation may do, in CEL's own unit:
// far above any condition on one object, and below a second.
const costLimit = 1_000_000

// condition is a compiled neededWhen.
type condition struct{ program cel.Program }

// compileCondition is nil, and no error, for an empty expression.
func compileCondition(text string) (*condition, error) {
	if text == "" {
		return nil, nil
	}
	env, err := cel.NewEnv(cel.Variable("object", cel.DynType), ext.Strings())
	if err != nil {
		return nil, fmt.Errorf("CEL: %w", err)
	}
	ast, issues := env.Compile(text)
	if err := firstIssue(issues); err != nil {
		return nil, fmt.Errorf("%q is not CEL: %w", text, err)
	}
	if out := ast.OutputType(); !out.IsExactType(cel.BoolType) && !out.IsExactType(cel.DynType) {
		return nil, fmt.Errorf("%q is of type %s: write a condition that is true or false", text, out)
	}
	program, err := env.Program(ast, cel.CostLimit(costLimit), cel.EvalOptions(cel.OptOptimize))
	if err != nil {
		return nil, fmt.Errorf("%q can not be evaluated: %w", text, err)
	}
	return &condition{program}, nil
}

// firstIssue is one sentence: CEL's own text spans lines and draws the place.
func firstIssue(issues *cel.Issues) error {
	if issues.Err() == nil {
		return nil
	}
	first := issues.Errors()[0]
	return fmt.Errorf("column %d: %s", first.Location.Column()+1, plain(first.Message))
}

// plain leaves out the list of every token that could have stood there.
func plain(message string) string {
	message, _, _ = strings.Cut(strings.TrimPrefix(message, "Syntax error: "), " expecting ")
	return strings.Replace(message, "mismatched input '<EOF>'", "it ends too early", 1)
}

var errNotBool = errors.New("it is neither true nor false")

// holds evaluates the condition on an object. With an error nothing is known.
func (c *condition) holds(object map[string]any) (bool, error) {
	if c == nil {
		return true, nil
	}
	value, _, err := c.program.Eval(map[string]any{"object": object})
	if err != nil {
		return false, err
	}
	held, ok := value.Value().(bool)
	if !ok {
		return false, errNotBool
	}
	return held, nil
}
