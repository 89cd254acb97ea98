// Package cli is the command line's frame: streams, common flags, where values
// come from, exit codes, help, version and completion. The commands themselves
// are groups in packages of their own, so that a program takes only those it
// wants.
//
// It does no work of its own and refuses to know what the groups do. It reads
// no clock, stream or environment but those that main passes in.
package cli

import (
	"context"
	"io"
	"time"

	"github.com/spf13/cobra"
)

// Input is where answers come from.
type Input struct {
	io.Reader
	Terminal bool
}

// Output is where text goes.
type Output struct {
	io.Writer
	Terminal bool
	Width    func() int // columns of the terminal; 0 where there is none
}

// Process is all that a program has of the world outside.
type Process struct {
	Args []string // without the program's name
	In   Input
	Out  Output
	Err  Output
	Env  func(name string) (string, bool)
	// Environ is every variable as NAME=value, in which slips are looked for;
	// nil: nobody looks.
	Environ func() []string
	Now     func() time.Time
}

// Program is what a program is called and how it introduces itself.
type Program struct {
	Name  string // as it is typed
	Short string // in one sentence
	// Examples are those of the program's own help; of a flat program they are
	// its group's.
	Examples string
	// Flat says that the program is its one group alone, whose commands stand
	// at the top without the group's name.
	Flat bool
}

// Group is a part of the command line.
type Group struct {
	// Command makes the group's command with all below it.
	Command func(*App) *cobra.Command
	// Code is the exit code for an error of the group; false where the group
	// does not know it.
	Code func(error) (int, bool)
}

// App is what commands share.
type App struct {
	Process
	Program Program
	Common  Common
	out     *pipe
	given   map[string]bool   // flags of the command line itself
	from    map[string]string // where the others have their values from
}

// Main runs one command and answers with its exit code.
func Main(ctx context.Context, program Program, p Process, groups ...Group) int {
	app := &App{Process: p, Program: program, out: &pipe{to: p.Out}}
	app.Out.Writer = app.out
	root := newRoot(app, groups)
	root.SetArgs(append([]string{}, p.Args...)) // of nil, cobra makes the process's own
	err := root.ExecuteContext(ctx)
	if err == nil {
		err = app.out.failed
	}
	return app.finish(ctx, err, groups)
}
