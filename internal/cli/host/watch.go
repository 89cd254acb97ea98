package host

import (
	"context"
	"errors"
	"log/slog"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	app "github.com/ebb-io/ebb/internal/app/host"
	"github.com/ebb-io/ebb/internal/cli"
	"github.com/ebb-io/ebb/internal/metrics"
)

// watchFlags are those of a watch alone.
type watchFlags struct {
	planFlags
	every, retryEvery time.Duration
	retries           int
	address           string
	textfile          string
	notify            string
}

func watchCommand(a *cli.App) *cobra.Command {
	flags := watchFlags{every: 6 * time.Hour, retryEvery: 5 * time.Minute, retries: 12}
	cmd := &cobra.Command{
		Use:   "watch",
		Short: "Do what run does, at once and then every so often, without a question",
		Example: a.Examples(group,
			"watch --pins-from /etc/ebb/pins.txt",
			"watch --pin-running --every 1h --metrics 127.0.0.1:9723",
			"watch -c /etc/ebb/host.yaml -o json"),
		Long: `Standard error gets one line for each pinned repository and pass, and one for
the pass; with -o json standard output gets a Result in one line. While images
are pulled, or the engine is away, a pass is tried again. Pins are read anew
each time. SIGTERM ends it with exit code 0 when the image in hand is done.

The command of --notify is run by sh, has a Result on its standard input, and a
minute. When it fails, that is a warning.`,
		Args: cli.NoArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			w, err := newWatch(a, cmd, &flags)
			if err != nil {
				return err
			}
			return w.watch(cmd.Context())
		},
	}
	flags.planFlags.add(a, cmd)
	flags.add(cmd.Flags())
	return cmd
}

func (f *watchFlags) add(flags *pflag.FlagSet) {
	flags.Var(cli.Age{Value: &f.every}, "every", "from one pass to the next")
	flags.Var(cli.Age{Value: &f.retryEvery}, "retry-every", "how long to wait before a pass is tried again")
	flags.Var(number{&f.retries, ""}, "retries", "how often a pass is tried again, before the next one is due")
	flags.StringVar(&f.address, "metrics", "", "serve metrics for Prometheus at `ADDRESS`, such as 127.0.0.1:9723, below /metrics")
	flags.StringVar(&f.textfile, "textfile", "", "write metrics to `FILE`, for the textfile collector of the node exporter")
	flags.StringVar(&f.notify, "notify", "", "run `COMMAND` after each pass")
}

// watch is a job that deletes again and again.
type watch struct {
	*job
	flags    *watchFlags
	schedule app.Schedule
	log      *slog.Logger
	metrics  *metrics.Metrics
	// notifyFor is how long a command may take to pass a result on.
	notifyFor time.Duration
}

func newWatch(a *cli.App, cmd *cobra.Command, flags *watchFlags) (*watch, error) {
	j, err := newJob(a, cmd, &flags.planFlags)
	if err != nil {
		return nil, err
	}
	switch {
	case j.none():
		return nil, j.errNoPins()
	case flags.every <= 0:
		return nil, cli.Usagef("--every %s: passes need some time between them, such as 6h", flags.every)
	case flags.retries > 0 && flags.retryEvery <= 0:
		return nil, cli.Usagef("--retry-every %s: tries need some time between them, such as 5m", flags.retryEvery)
	case a.Common.Output == cli.YAML || a.Common.Output == cli.Name:
		return nil, cli.Usagef("-o %s: a watch writes lines of its log, and with -o json also a Result in one line", a.Common.Output)
	}
	if err := metrics.CheckTextfile(flags.textfile); err != nil {
		return nil, cli.Usagef("--textfile %w", err)
	}
	schedule := app.Schedule{Every: flags.every, RetryEvery: flags.retryEvery, Retries: flags.retries}
	return &watch{job: j, flags: flags, schedule: schedule, log: newLog(a), metrics: metrics.New(a.Version()), notifyFor: time.Minute}, nil
}

// newLog writes lines of key=value to standard error, by the program's clock.
func newLog(a *cli.App) *slog.Logger {
	level := slog.LevelInfo
	if a.Common.Quiet {
		level = slog.LevelWarn
	}
	return slog.New(slog.NewTextHandler(a.Err, &slog.HandlerOptions{
		Level: level,
		ReplaceAttr: func(groups []string, attr slog.Attr) slog.Attr {
			if len(groups) == 0 && attr.Key == slog.TimeKey {
				attr.Value = slog.TimeValue(a.Now().UTC())
			}
			return attr
		},
	}))
}

func (w *watch) watch(ctx context.Context) error {
	stop, err := w.serve()
	if err != nil {
		return err
	}
	defer stop()
	app.Watch(ctx, app.Wait, w.pass)
	return asked(ctx)
}

// asked makes nothing of an end that a service manager asked for: a person's
// interrupt is told as in every other command.
func asked(ctx context.Context) error {
	cause := context.Cause(ctx)
	var interrupted cli.Interrupted
	if errors.As(cause, &interrupted) && interrupted.Signal == syscall.SIGTERM {
		return nil
	}
	return cause
}
