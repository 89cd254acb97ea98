// Package process is what Ebb's programs have in common as processes: their
// arguments, streams, environment, clock, signals and end.
//
// It knows no command, and is for the main packages alone.
package process

import (
	"context"
	"os"
	"time"

	"golang.org/x/term"

	"github.com/ebb-io/ebb/internal/cli"
)

// Main runs a program over groups of commands, and ends the process.
func Main(program cli.Program, groups ...cli.Group) {
	ctx := cli.WithSignals(context.Background())
	os.Exit(cli.Main(ctx, program, cli.Process{
		Args:    os.Args[1:],
		In:      cli.Input{Reader: os.Stdin, Terminal: isTerminal(os.Stdin)},
		Out:     cli.Output{Writer: os.Stdout, Terminal: isTerminal(os.Stdout), Width: width(os.Stdout)},
		Err:     cli.Output{Writer: os.Stderr, Terminal: isTerminal(os.Stderr), Width: width(os.Stderr)},
		Env:     os.LookupEnv,
		Now:     time.Now,
		Environ: os.Environ,
	}, groups...))
}

func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

func width(f *os.File) func() int {
	return func() int {
		columns, _, _ := term.GetSize(int(f.Fd())) // 0: it is no terminal
		return columns
	}
}
