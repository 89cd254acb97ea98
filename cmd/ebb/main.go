// Command ebb brings container-image storage down to what is still in use.
package main

import (
	"context"
	"os"
	"time"

	"golang.org/x/term"

	"github.com/ebb-io/ebb/internal/cli"
	"github.com/ebb-io/ebb/internal/cli/demo"
	"github.com/ebb-io/ebb/internal/cli/registry"
)

func main() {
	manageMemory()
	ctx := cli.WithSignals(context.Background())
	os.Exit(cli.Main(ctx, cli.Process{
		Args:    os.Args[1:],
		In:      cli.Input{Reader: os.Stdin, Terminal: isTerminal(os.Stdin)},
		Out:     cli.Output{Writer: os.Stdout, Terminal: isTerminal(os.Stdout), Width: width(os.Stdout)},
		Err:     cli.Output{Writer: os.Stderr, Terminal: isTerminal(os.Stderr), Width: width(os.Stderr)},
		Env:     os.LookupEnv,
		Now:     time.Now,
		Environ: os.Environ,
	}, registry.Group(), demo.Group(registry.Group())))
}

func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

func width(f *os.File) func() int {
	return func() int {
		columns, _, _ := term.GetSize(int(f.Fd())) // 0: it is no terminal
		return columns
	}
}
