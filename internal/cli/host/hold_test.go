package host

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/spf13/cobra"

	"github.com/ebb-io/ebb/internal/cli"
)

// within calls f as a command of a program with these streams does, and is its
// exit code.
func within(ctx context.Context, t *testing.T, p cli.Process, f func(context.Context, *cli.App) error) int {
	t.Helper()
	group := cli.Group{
		Command: func(a *cli.App) *cobra.Command {
			return &cobra.Command{Use: "x", RunE: func(cmd *cobra.Command, _ []string) error { return f(cmd.Context(), a) }}
		},
		Code: code,
	}
	p.Args = []string{"x"}
	p.Env = func(string) (string, bool) { return "", false }
	return cli.Main(ctx, cli.Ebb(), p, group)
}

func TestHeldCommand(t *testing.T) {
	for _, test := range []struct {
		name string
		args []string
		code int
		out  string
		err  string
	}{
		{"its streams", []string{"sh", "-c", "cat; echo oops >&2"}, 0, "input", "oops\n"},
		{"its exit code", []string{"sh", "-c", "exit 42"}, 42, "", ""},
		{"its signal", []string{"sh", "-c", "kill -9 $$"}, 137, "", ""},
		{"one that is not there", []string{"/no/such"}, 127, "", "ebb: hold: fork/exec /no/such: no such file or directory\n"},
		{"one that is in no folder", []string{"no-such"}, 127, "", "ebb: hold: exec: \"no-such\": executable file not found in $PATH\n"},
		{"one that can not be executed", []string{"./hold_test.go"}, 126, "", "ebb: hold: fork/exec ./hold_test.go: permission denied\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var out, err bytes.Buffer
			p := cli.Process{In: cli.Input{Reader: strings.NewReader("input")}, Out: cli.Output{Writer: &out}, Err: cli.Output{Writer: &err}}
			code := within(t.Context(), t, p, func(ctx context.Context, a *cli.App) error { return start(ctx, a, test.args, lockFile(t)) })
			if code != test.code || out.String() != test.out || err.String() != test.err {
				t.Errorf("exit code %d, want %d; wrote %q and %q, want %q and %q", code, test.code, out.String(), err.String(), test.out, test.err)
			}
		})
	}
}

func lockFile(t *testing.T) *os.File {
	t.Helper()
	f, err := os.CreateTemp(t.TempDir(), "lock")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

// TestHeldCommandGetsSignals: all but an interrupt that the keyboard has sent it
// already. It ends as it likes.
func TestHeldCommandGetsSignals(t *testing.T) {
	const script = `trap 'echo int; exit 5' INT; trap 'echo term; exit 6' TERM; echo ready; while :; do sleep 0.02; done`
	for _, test := range []struct {
		name     string
		signal   syscall.Signal
		terminal bool
		want     string
		code     int
	}{
		{"termination", syscall.SIGTERM, false, "term\n", 6},
		{"interrupt", syscall.SIGINT, false, "int\n", 5},
		{"termination at a terminal", syscall.SIGTERM, true, "term\n", 6},
	} {
		t.Run(test.name, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			read, write := io.Pipe()
			var rest bytes.Buffer
			done := make(chan struct{})
			go func() {
				defer close(done)
				ready := make([]byte, len("ready\n"))
				_, _ = io.ReadFull(read, ready)
				cancel(cli.Interrupted{Signal: test.signal})
				_, _ = io.Copy(&rest, read)
			}()
			p := cli.Process{In: cli.Input{Reader: strings.NewReader(""), Terminal: test.terminal}, Out: cli.Output{Writer: write}, Err: cli.Output{Writer: io.Discard}}
			code := within(ctx, t, p, func(ctx context.Context, a *cli.App) error {
				return start(ctx, a, []string{"sh", "-c", script}, lockFile(t))
			})
			_ = write.Close()
			<-done
			if code != test.code || rest.String() != test.want {
				t.Errorf("exit code %d, want %d; it wrote %q, want %q", code, test.code, rest.String(), test.want)
			}
		})
	}
}

func TestInterruptOfTheKeyboardIsNotDoubled(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cli.Interrupted{Signal: syscall.SIGINT})
	a := &cli.App{Process: cli.Process{In: cli.Input{Terminal: true}}}
	if err := forward(ctx, a, cmd.Process); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Errorf("it ended with %v, want by being killed", err)
	}
}
