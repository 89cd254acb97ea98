package host

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/ebb-io/ebb/internal/cli"
	"github.com/ebb-io/ebb/internal/store/state"
)

func holdCommand(a *cli.App) *cobra.Command {
	var where engineFlags
	cmd := &cobra.Command{
		Use:   "hold [flags] -- COMMAND",
		Short: "Run a command while no run and no watch touches the engine",
		Example: a.Examples(group,
			"hold -- docker compose pull",
			"hold -- ./update.sh --all"),
		Long: `For pulls and updates that shall not meet a pass. The command has this one's
streams, gets its signals, and its exit code becomes this one's. When it ends,
passes may go on, whatever it left in the background; if this one is killed,
when all of that has ended.`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 || cmd.ArgsLenAtDash() != 0 {
				return cli.Usagef("want a command behind --, such as %s hold -- docker compose pull (see %s --help)", a.Typed(group), cmd.CommandPath())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := configure(a, cmd); err != nil {
				return err
			}
			if err := where.check(a); err != nil {
				return err
			}
			return hold(cmd.Context(), a, &where, args)
		},
	}
	where.add(cmd.Flags())
	return cmd
}

func hold(ctx context.Context, a *cli.App, where *engineFlags, args []string) error {
	lock, err := where.hold(ctx, a)
	if err != nil {
		return err
	}
	defer func() { _ = state.Release(lock) }() // its command has ended, if not all that it began
	return start(ctx, a, args, lock)
}

// start runs a command with this process's streams, to its end. It inherits the
// lock: even if this process is killed, no pass meets it.
func start(ctx context.Context, a *cli.App, args []string, lock *os.File) error {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = a.In.Reader, a.Stdout(), a.Err.Writer
	cmd.ExtraFiles = []*os.File{lock}
	cmd.Cancel = func() error { return forward(ctx, a, cmd.Process) }
	if err := cmd.Start(); err != nil {
		return notStarted{err}
	}
	_ = cmd.Wait() // the state says it
	return ended(cmd.ProcessState)
}

// notStarted is a command that could not be started.
type notStarted struct{ error }

func (n notStarted) Error() string { return "hold: " + n.error.Error() }

func (n notStarted) Unwrap() error { return n.error }

// code is the exit code that shells have for it.
func (n notStarted) code() int {
	if errors.Is(n, exec.ErrNotFound) || errors.Is(n, fs.ErrNotExist) {
		return 127
	}
	return 126
}

// hold takes the lock of the engine that is meant.
func (f *engineFlags) hold(ctx context.Context, a *cli.App) (*os.File, error) {
	at, err := f.open(ctx, a)
	if err != nil {
		return nil, err
	}
	defer at.close()
	return at.dir.Hold(ctx, at.engine.Engine().ID, func() { a.Note("waiting for the pass in hand") })
}

// forward hands on the signal that this process got. An interrupt from the
// keyboard has reached the command already: twice is more than was meant.
func forward(ctx context.Context, a *cli.App, to *os.Process) error {
	var interrupted cli.Interrupted
	if !errors.As(context.Cause(ctx), &interrupted) {
		return to.Signal(syscall.SIGTERM)
	}
	if interrupted.Signal == syscall.SIGINT && a.In.Terminal {
		return nil
	}
	return to.Signal(interrupted.Signal)
}

// ended is the exit code of a command as a shell tells it.
func ended(state *os.ProcessState) error {
	code := state.ExitCode()
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		code = 128 + int(status.Signal())
	}
	if code == cli.Done {
		return nil
	}
	return cli.Silent(code)
}
