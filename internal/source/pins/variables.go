package pins

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/compose-spec/compose-go/v2/dotenv"
	"github.com/compose-spec/compose-go/v2/template"
)

// substitute puts the values of variables into a text. One that has no value
// and no default stays as ${NAME}, which no image name can hold.
func substitute(text string, variables map[string]string) (string, error) {
	lookup := func(name string) (string, bool) {
		value, ok := variables[name]
		return value, ok
	}
	replace := func(found string, mapping template.Mapping, cfg *template.Config) (string, error) {
		value, err := template.DefaultReplacementFunc(found, mapping, cfg)
		var required *template.MissingRequiredError
		if errors.As(err, &required) {
			return unset(required.Variable), nil
		}
		return value, err
	}
	known := func(name string) (string, bool) {
		if value, ok := lookup(name); ok {
			return value, true
		}
		return unset(name), false
	}
	value, err := template.SubstituteWithOptions(absent(text, lookup), known, template.WithReplacementFunction(replace), template.WithoutLogging)
	if err != nil {
		return "", fmt.Errorf("%q: %w", text, err)
	}
	return value, nil
}

func unset(name string) string { return "${" + name + "}" }

// onlyWhenSet is ${NAME:+text} and ${NAME+text} without anything nested.
var onlyWhenSet = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*):?\+[^{}]*\}`)

// absent takes out what is there only with a variable that is not set: this
// one says what to do without it.
func absent(text string, lookup template.Mapping) string {
	return onlyWhenSet.ReplaceAllStringFunc(text, func(found string) string {
		if _, ok := lookup(onlyWhenSet.FindStringSubmatch(found)[1]); ok {
			return found
		}
		return ""
	})
}

// environment is what variables are looked up in: what was passed in, then the
// env files, of which a later one wins. Without any it is .env in the folder,
// where there is one.
func (r *reader) environment(passed map[string]string, dir string, files []string) (map[string]string, error) {
	byDefault := len(files) == 0
	if byDefault {
		files = []string{filepath.Join(dir, ".env")}
	}
	own := map[string]string{}
	for _, file := range files {
		if file == os.DevNull {
			continue // no env file is wanted
		}
		content, err := r.read(absolute(dir, file))
		if byDefault && errors.Is(err, fs.ErrNotExist) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		found, err := dotenv.ParseWithLookup(bytes.NewReader(content), inEnvFile(string(content), passed, own))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		maps.Copy(own, found)
	}
	maps.Copy(own, passed)
	return own, nil
}

// inEnvFile looks up a variable that an env file uses. One without a value
// stays visible, but where the file says what to do then.
func inEnvFile(content string, passed, own map[string]string) dotenv.LookupFn {
	return func(name string) (string, bool) {
		if value, ok := passed[name]; ok {
			return value, true
		}
		if value, ok := own[name]; ok {
			return value, true
		}
		if assigned(content, name) {
			return "", false // the parser knows it
		}
		for _, operator := range []string{":", "-", "+", "?"} {
			if strings.Contains(content, "${"+name+operator) {
				return "", false
			}
		}
		return unset(name), true
	}
}

// assigned tells whether an env file gives a value to a variable.
func assigned(content, name string) bool {
	for line := range strings.Lines(content) {
		line = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), "export "))
		if rest, ok := strings.CutPrefix(line, name); ok {
			rest = strings.TrimSpace(rest)
			if strings.HasPrefix(rest, "=") || strings.HasPrefix(rest, ":") {
				return true
			}
		}
	}
	return false
}

func absolute(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}
