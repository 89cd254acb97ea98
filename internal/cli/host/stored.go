package host

import (
	"io"
	"os"
	"reflect"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ebb-io/ebb/internal/cli"
	"github.com/ebb-io/ebb/internal/report"
)

// readStored takes the options of a stored plan, and refuses any that was given
// besides and says otherwise. Every error is a UsageError.
func (r *run) readStored(cmd *cobra.Command) error {
	data, err := r.readPlanFile()
	if err != nil {
		return cli.Usagef("plan: %w", err)
	}
	if r.stored, err = report.ReadHostPlan(data, r.Typed(group)+" check -o json"); err != nil {
		return cli.Usagef("plan %s: %w", r.flags.plan, err)
	}
	if r.stored.PlannedAt.After(r.Now()) {
		return cli.Usagef("plan %s: it was made at %s, which is yet to come: set the clocks right and check again",
			r.flags.plan, r.stored.PlannedAt.Format("2006-01-02T15:04:05Z"))
	}
	if err := r.contradiction(cmd); err != nil {
		return err
	}
	return r.takeOptions()
}

func (r *run) readPlanFile() ([]byte, error) {
	if r.flags.plan == "-" {
		return io.ReadAll(r.In)
	}
	return os.ReadFile(r.flags.plan)
}

// contradiction compares what was given, by flag, environment or file, with
// what the plan was made with.
func (r *run) contradiction(cmd *cobra.Command) error {
	mine, theirs := r.options(), r.stored.Options
	for _, o := range []struct {
		flag         string
		mine, theirs any
	}{
		{"pin", mine.Pin, theirs.Pin},
		{"pins-from", mine.PinsFrom, theirs.PinsFrom},
		{"compose", mine.Compose, theirs.Compose},
		{"pin-running", mine.PinRunning, theirs.PinRunning},
		{"keep", mine.Keep, theirs.Keep},
		{"keep-previous", mine.KeepPrevious, theirs.KeepPrevious},
		{"keep-newer", mine.KeepNewer, theirs.KeepNewer},
		{"min-age", mine.MinAge, theirs.MinAge},
		{"unused-for", mine.UnusedFor, theirs.UnusedFor},
		{"require-healthy", mine.RequireHealthy, theirs.RequireHealthy},
		{"quiet-for", mine.QuietFor, theirs.QuietFor},
		{"max-deletes", mine.MaxDeletes, theirs.MaxDeletes},
		{"max-delete-share", mine.MaxDeleteShare, theirs.MaxDeleteShare},
	} {
		if cmd.Flags().Changed(o.flag) && !reflect.DeepEqual(o.mine, o.theirs) {
			return cli.Usagef("--%s is %v here and was %v when plan %s was made: leave it out, or check again",
				o.flag, display(o.mine), display(o.theirs), r.flags.plan)
		}
	}
	return nil
}

func display(option any) any {
	items, ok := option.([]string)
	if !ok {
		return option
	}
	if len(items) == 0 {
		return "not given"
	}
	return strings.Join(items, ",")
}

func (r *run) takeOptions() error {
	o := r.stored.Options
	p, quietFor, err := o.Policy()
	if err != nil {
		return cli.Usagef("plan %s: %w", r.flags.plan, err)
	}
	r.policy, r.quietFor = p, quietFor
	r.choices = choices{pin: o.Pin, pinsFrom: o.PinsFrom, compose: o.Compose, pinRunning: o.PinRunning}
	return nil
}
