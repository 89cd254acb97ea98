package cli_test

import (
	"context"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/ebb-io/ebb/internal/cli"
	"github.com/ebb-io/ebb/internal/cli/host"
	"github.com/ebb-io/ebb/internal/cli/registry"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"ebb": ebb, "ebb-host": ebbHost})
}

// The variables by which a test arranges the world of an ebb that it starts.
const (
	clockVar    = "EBB_TEST_NOW"      // RFC 3339; the real clock where it is empty
	terminalVar = "EBB_TEST_TERMINAL" // which of in, out and err shall pass for a terminal
	userVar     = "EBB_TEST_USER"     // number of the user to run as
)

// ebb is cmd/ebb with a clock and terminals that a test can set.
func ebb() { start(cli.Ebb(), registry.Group(), host.Group()) }

// ebbHost is cmd/ebb-host in the same way.
func ebbHost() { start(cli.EbbHost(), host.Group()) }

func start(program cli.Program, groups ...cli.Group) {
	if id, err := strconv.Atoi(os.Getenv(userVar)); err == nil {
		if err := syscall.Setuid(id); err != nil {
			panic(err)
		}
	}
	ctx := cli.WithSignals(context.Background())
	os.Exit(cli.Main(ctx, program, cli.Process{
		Args: os.Args[1:],
		In:   cli.Input{Reader: os.Stdin, Terminal: onTerminal("in")},
		Out:  output(os.Stdout, "out"),
		Err:  output(os.Stderr, "err"),
		Env:  os.LookupEnv, Environ: environ,
		Now: clock(),
	}, groups...))
}

func onTerminal(stream string) bool { return strings.Contains(os.Getenv(terminalVar), stream) }

func output(f *os.File, name string) cli.Output {
	o := cli.Output{Writer: f, Terminal: onTerminal(name)}
	if o.Terminal {
		o.Width = func() int { return 80 }
	}
	return o
}

func clock() func() time.Time {
	if now, err := time.Parse(time.RFC3339, os.Getenv(clockVar)); err == nil {
		return func() time.Time { return now }
	}
	return time.Now
}

// environ leaves out what the tests themselves set.
func environ() []string {
	return slices.DeleteFunc(os.Environ(), func(entry string) bool { return strings.HasPrefix(entry, "EBB_TEST_") })
}
