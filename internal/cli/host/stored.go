package host

import (
	"github.com/spf13/cobra"

	"github.com/ebb-io/ebb/internal/cli"
	"github.com/ebb-io/ebb/internal/report"
)

// readStored takes the options of a stored plan, and refuses any that was given
// besides and says otherwise. Every error is a UsageError.
func (r *run) readStored(cmd *cobra.Command) error {
	file := cli.PlanFile(r.flags.plan)
	data, err := file.Read(r.App)
	if err != nil {
		return err
	}
	if r.stored, err = report.ReadHostPlan(data, r.Typed(group)+" check -o json"); err != nil {
		return cli.Usagef("plan %s: %w", file, err)
	}
	if err := file.Past(r.App, r.stored.PlannedAt); err != nil {
		return err
	}
	if err := r.contradiction(cmd); err != nil {
		return err
	}
	return r.takeOptions()
}

// contradiction compares what was given, by flag, environment or file, with
// what the plan was made with.
func (r *run) contradiction(cmd *cobra.Command) error {
	mine, theirs := r.options(), r.stored.Options
	return cli.PlanFile(r.flags.plan).Agree(cmd.Flags(), []cli.Option{
		{Flag: "pin", Mine: mine.Pin, Theirs: theirs.Pin},
		{Flag: "pins-from", Mine: mine.PinsFrom, Theirs: theirs.PinsFrom},
		{Flag: "compose", Mine: mine.Compose, Theirs: theirs.Compose},
		{Flag: "pin-running", Mine: mine.PinRunning, Theirs: theirs.PinRunning},
		{Flag: "keep", Mine: mine.Keep, Theirs: theirs.Keep},
		{Flag: "keep-previous", Mine: mine.KeepPrevious, Theirs: theirs.KeepPrevious},
		{Flag: "keep-newer", Mine: mine.KeepNewer, Theirs: theirs.KeepNewer},
		{Flag: "min-age", Mine: mine.MinAge, Theirs: theirs.MinAge},
		{Flag: "unused-for", Mine: mine.UnusedFor, Theirs: theirs.UnusedFor},
		{Flag: "require-healthy", Mine: mine.RequireHealthy, Theirs: theirs.RequireHealthy},
		{Flag: "quiet-for", Mine: mine.QuietFor, Theirs: theirs.QuietFor},
		{Flag: "max-deletes", Mine: mine.MaxDeletes, Theirs: theirs.MaxDeletes},
		{Flag: "max-delete-share", Mine: mine.MaxDeleteShare, Theirs: theirs.MaxDeleteShare},
	})
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
