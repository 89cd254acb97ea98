package host

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	app "github.com/ebb-io/ebb/internal/app/host"
	"github.com/ebb-io/ebb/internal/cli"
	"github.com/ebb-io/ebb/internal/engine"
	execute "github.com/ebb-io/ebb/internal/execute/host"
	"github.com/ebb-io/ebb/internal/image"
	"github.com/ebb-io/ebb/internal/report"
)

// runFlags are those of a run alone.
type runFlags struct {
	planFlags
	plan    string
	yes     bool
	confirm string
}

func runCommand(a *cli.App) *cobra.Command {
	var flags runFlags
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Delete what check shows, and nothing else",
		Example: a.Examples(group,
			"run --pin-running",
			"run --pins-from pins.txt --yes",
			"run --plan plan.json --yes"),
		Long: `Images go by their exact names, one after the other, never forced: whatever the
engine will not give up stays, and is not asked for again for a while.`,
		Args: cli.NoArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			r, err := newRun(a, cmd, &flags)
			if err != nil {
				return err
			}
			return r.run(cmd.Context())
		},
	}
	flags.planFlags.add(a, cmd)
	flags.add(cmd.Flags())
	return cmd
}

func (f *runFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.plan, "plan", "", "delete only what this `FILE` names, which check -o json wrote; - is standard input")
	flags.BoolVar(&f.yes, "yes", false, "do not ask")
	flags.StringVar(&f.confirm, "confirm", "", "go over a safety limit; the engine's `NAME` is its host's")
	cli.Personal(flags, "yes", "confirm")
}

// run is a job that deletes.
type run struct {
	*job
	flags  *runFlags
	stored *report.StoredHost // nil without a plan file
}

// newRun finds every mistake that can be found without the engine.
func newRun(a *cli.App, cmd *cobra.Command, flags *runFlags) (*run, error) {
	j, err := newJob(a, cmd, &flags.planFlags)
	if err != nil {
		return nil, err
	}
	r := &run{job: j, flags: flags}
	if flags.plan != "" {
		if err := r.readStored(cmd); err != nil {
			return nil, err
		}
	}
	if r.none() {
		return nil, j.errNoPins()
	}
	if !flags.yes {
		if err := a.CanAsk(); err != nil {
			return nil, err
		}
	}
	r.policy.Confirmed = flags.confirm != ""
	return r, nil
}

func (j *job) errNoPins() error {
	return fmt.Errorf("%w: give --pin, --pins-from or --compose, or --pin-running for what runs now (%s check shows what that would do)",
		app.ErrNoPins, j.Typed(group))
}

// rightEngine refuses an engine that a person has not named, or that the plan
// was not made for.
func (r *run) rightEngine(e engine.Engine) error {
	if name := r.flags.confirm; name != "" && name != e.Name {
		return cli.Usagef("--confirm %s does not name this engine: it is called %s", name, e.Name)
	}
	if r.stored != nil && r.stored.Store.Key() != e.Key() {
		return cli.Usagef("plan %s was made for engine %s (%s, %s) and not for %s (%s, %s)", r.flags.plan,
			r.stored.Store.Name, r.stored.Store.Engine, r.stored.Store.ImageStore, e.Name, e.ID, e.Store)
	}
	return nil
}

func (r *run) run(ctx context.Context) error {
	at, err := r.where.open(ctx, r.App)
	if err != nil {
		return err
	}
	defer at.close()
	if err := r.rightEngine(at.engine.Engine()); err != nil {
		return err
	}
	request := app.RunRequest{Request: r.request(), QuietFor: r.quietFor}
	if r.stored != nil {
		request.PlannedAt, request.Named = r.stored.PlannedAt, r.stored.Named
	}
	if !r.flags.yes {
		request.Approve = func(p *app.Pass) (bool, error) { return r.ask(ctx, p) }
	}
	result, err := app.Run(ctx, at.engine, at.dir, request)
	if result == nil || result.Pass == nil {
		return err
	}
	err = r.advise(result, err)
	if r.flags.yes {
		r.warn(result.Pass)
	}
	return errors.Join(err, r.show(result, err), judge(result, err))
}

// advise says of what stopped a run what to do about it.
func (r *run) advise(result *app.Result, stopped error) error {
	switch {
	case errors.Is(stopped, app.ErrNoPins):
		return r.errNoPins()
	case errors.Is(stopped, app.ErrLimit):
		return fmt.Errorf("%w: run with --confirm %s if that is right", stopped, report.ShellQuote(result.Plan.Engine.Name))
	case stopped != nil && len(result.Outcome.Failed) > 0:
		return fmt.Errorf("%w: %w", errFailed, stopped)
	}
	return stopped
}

// ask shows what will go and wants the whole word. Where nothing goes there is
// nothing to ask.
func (r *run) ask(ctx context.Context, p *app.Pass) (bool, error) {
	r.warn(p)
	if p.Plan.Totals.Delete == 0 {
		return true, nil
	}
	return r.Ask(ctx, fmt.Sprintf("%sEngine: %s (%s)\nType yes to delete: ",
		report.HostAskText(p.Plan, r.View(r.Err)), report.Escape(p.Plan.Engine.Name), report.Escape(p.Plan.Engine.Host)))
}

// show writes the result to standard output. Where nothing was begun it shows
// what would have been done.
func (r *run) show(result *app.Result, stopped error) error {
	if stopped == nil && !result.Approved {
		return nil
	}
	o := outcome(result, stopped)
	text := func() []byte {
		return report.HostResultText(result.Plan, o, r.afterwards(result, o, stopped), r.View(r.Out))
	}
	if errors.Is(stopped, app.ErrLimit) || errors.Is(stopped, app.ErrNoPins) {
		text = func() []byte { return report.HostPlanText(result.Plan, nil, r.View(r.Out)) }
	}
	return r.Print(
		func() any { return report.NewHostResult(report.NewHostPlan(r.document(result.Pass)), o) },
		text,
		func() []byte { return report.HostNames(result.Plan, gone(o)) },
	)
}

func gone(o report.HostOutcome) func(image.Digest) bool {
	ids := map[image.Digest]bool{}
	for _, id := range o.Gone {
		ids[id] = true
	}
	return func(id image.Digest) bool { return ids[id] }
}

// afterwards is what to do next, in one sentence; empty: nothing.
func (r *run) afterwards(result *app.Result, o report.HostOutcome, stopped error) string {
	switch {
	case errors.Is(stopped, app.ErrStale):
		return r.Typed(group) + " check -o json makes a new plan."
	case o.Stopped != "" && o.Begun():
		return "run it again, it goes on where this one stopped."
	case slices.ContainsFunc(result.Outcome.Deleted, func(d execute.Deletion) bool { return len(d.Digests) > 0 }):
		return r.Typed(group) + " history shows how to have them again."
	}
	return ""
}

// changed is how many images stay because they, or their repository, changed
// since they were judged.
func changed(result *app.Result) int {
	return len(result.Outcome.Moved) + len(result.Outcome.Skipped)
}

// judge is the error of a run that came to its end, nil where all is well. What
// the engine refused is no failure: somebody uses it.
func judge(result *app.Result, stopped error) error {
	switch {
	case stopped != nil:
		return nil
	case !result.Approved:
		return errors.New("not approved: nothing was deleted")
	case changed(result) > 0:
		return fmt.Errorf("%w: %s changed meanwhile and stay", app.ErrBusy, report.Count(changed(result), "image"))
	}
	return nil
}
