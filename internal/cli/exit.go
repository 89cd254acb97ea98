package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ebb-io/ebb/internal/report"
)

// The exit codes that every group has in common.
const (
	Done  = 0
	Fail  = 1
	Usage = 2
)

// UsageError is a mistake on the command line, in the environment or in a
// configuration file.
type UsageError struct{ Err error }

func (e *UsageError) Error() string { return e.Err.Error() }
func (e *UsageError) Unwrap() error { return e.Err }

// Usagef makes a UsageError.
func Usagef(format string, args ...any) error { return &UsageError{fmt.Errorf(format, args...)} }

// Silent ends the program with a code and no word: the output has said it all.
type Silent int

func (s Silent) Error() string { return fmt.Sprintf("exit code %d", int(s)) }

// finish says what went wrong, in one line, and answers with the exit code.
func (a *App) finish(ctx context.Context, err error, groups []Group) int {
	if err == nil {
		return Done
	}
	var silent Silent
	if errors.As(err, &silent) {
		return int(silent)
	}
	var interrupted Interrupted
	if errors.As(err, &interrupted) || errors.Is(err, context.Canceled) && errors.As(context.Cause(ctx), &interrupted) {
		err = interrupted
	}
	a.say("%s: %s", a.Program.Name, strings.TrimSuffix(err.Error(), "."))
	return code(err, groups)
}

func code(err error, groups []Group) int {
	var interrupted Interrupted
	if errors.As(err, &interrupted) {
		return 128 + int(interrupted.Signal)
	}
	var usage *UsageError
	if errors.As(err, &usage) {
		return Usage
	}
	for _, g := range groups {
		if code, ok := g.Code(err); ok {
			return code
		}
	}
	return Fail
}

// say writes one line to standard error, whatever names are in it; on a terminal
// it is broken between words.
func (a *App) say(format string, args ...any) {
	text := strings.ReplaceAll(strings.TrimRight(fmt.Sprintf(format, args...), "\n"), "\n", "; ")
	text = report.EscapeLine(text)
	if a.Err.Terminal && a.Err.Width != nil {
		text = strings.Join(report.Wrap(text, a.Err.Width()), "\n")
	}
	_, _ = fmt.Fprintln(a.Err, text) // there is nowhere else to complain
}

// Note tells a person something that is no error.
func (a *App) Note(format string, args ...any) {
	if !a.Common.Quiet {
		a.say("%s: %s", a.Program.Name, fmt.Sprintf(format, args...))
	}
}

// Args turns what cobra says of arguments into a UsageError.
func Args(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return Usagef("%w (see %s --help)", err, cmd.CommandPath())
		}
		return nil
	}
}

// NoArgs is Args for a command that has none.
func NoArgs() cobra.PositionalArgs {
	return Args(func(_ *cobra.Command, args []string) error {
		if len(args) > 0 {
			return fmt.Errorf("unexpected argument %q", args[0])
		}
		return nil
	})
}
