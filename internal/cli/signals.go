package cli

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// Interrupted is the cause of a context that a signal ended.
type Interrupted struct{ Signal syscall.Signal }

func (i Interrupted) Error() string { return fmt.Sprintf("stopped by signal: %s", i.Signal) }

// WithSignals ends the context at the first interrupt, termination or loss of
// the terminal; a second one kills the process at once. A reader of standard
// output that goes away kills nothing: a write fails instead.
func WithSignals(ctx context.Context) context.Context {
	ctx, cancel := context.WithCancelCause(ctx)
	signal.Ignore(syscall.SIGPIPE)
	signals := make(chan os.Signal, 1)
	for _, s := range []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(s) { // as for a job in the background
			signal.Notify(signals, s)
		}
	}
	go func() {
		first := <-signals
		signal.Reset(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
		number, _ := first.(syscall.Signal)
		cancel(Interrupted{Signal: number})
	}()
	return ctx
}
