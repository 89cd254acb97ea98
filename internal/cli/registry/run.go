package registry

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	app "github.com/ebb-io/ebb/internal/app/registry"
	"github.com/ebb-io/ebb/internal/cli"
	"github.com/ebb-io/ebb/internal/execute"
	"github.com/ebb-io/ebb/internal/execute/guard"
	"github.com/ebb-io/ebb/internal/inventory"
	"github.com/ebb-io/ebb/internal/plan"
	"github.com/ebb-io/ebb/internal/report"
	"github.com/ebb-io/ebb/internal/store/registry"
)

// runFlags are those of a run alone.
type runFlags struct {
	planFlags
	writeFlags
	plan string
}

func runCommand(a *cli.App) *cobra.Command {
	var flags runFlags
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Delete what check shows, and keep the rest whole",
		Example: `  ebb registry run --storage /var/lib/registry --owners owners.yaml \
      --registry https://registry.example.org
  ebb registry run --storage s3://example-bucket/images --offline --yes
  ebb registry run --storage /var/lib/registry --plan plan.json --offline --yes`,
		Args: cli.NoArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			r, err := newRun(a, cmd, &flags)
			if err != nil {
				return err
			}
			return r.run(cmd.Context())
		},
	}
	flags.planFlags.add(cmd.Flags())
	flags.writeFlags.add(cmd.Flags(), "do not ask")
	cmd.Flags().StringVar(&flags.plan, "plan", "", "delete only what this `FILE` names, which check -o json wrote; - is standard input")
	return cmd
}

// run is a job that deletes.
type run struct {
	*job
	flags  *runFlags
	guards []*guard.Guard
	stored *report.Stored // nil without a plan file
}

// newRun finds every mistake before the storage is touched.
func newRun(a *cli.App, cmd *cobra.Command, flags *runFlags) (*run, error) {
	j, err := readJob(a, cmd, &flags.planFlags)
	if err != nil {
		return nil, err
	}
	r := &run{job: j, flags: flags}
	if flags.plan != "" {
		if err := r.readStored(cmd); err != nil {
			return nil, err
		}
	}
	if err := j.prepare(); err != nil {
		return nil, err
	}
	if r.guards, err = j.chooseGuards(&flags.writeFlags, "deleting"); err != nil {
		return nil, err
	}
	if j.policy.Confirmed, err = j.confirmed(flags.confirm); err != nil {
		return nil, err
	}
	if !flags.yes {
		if err := a.CanAsk(); err != nil {
			return nil, err
		}
	}
	return r, nil
}

func (r *run) run(ctx context.Context) error {
	driver, err := r.storage.openWritable(ctx)
	if err != nil {
		return err
	}
	cache, giveBack := r.openCache(driver)
	defer giveBack()
	request := app.RunRequest{
		Request: r.request(), Access: r.access(r.guards, &r.flags.writeFlags), Clock: r.Now, Cache: cache,
	}
	if r.stored != nil {
		request.Now, request.Named = r.stored.PlannedAt, r.stored.Named
	}
	if !r.flags.yes {
		request.Approve = func(p *plan.Plan) (bool, error) { return r.ask(ctx, p) }
	}
	request.Planned = func(p *plan.Plan) { r.progress.Expect(items(p.Steps(nil))) }
	done := r.use(ctx, driver)
	result, err := app.Run(ctx, driver, &r.progress.Progress, request)
	done()
	if err = r.empty(err); errors.Is(err, app.ErrLimit) {
		err = fmt.Errorf("%w: run with --confirm %s if that is right", err, r.confirmation())
	}
	if result == nil || result.Plan == nil {
		return err
	}
	r.warn(result.Plan)
	var memory report.Memory
	var flushed error
	if begun(result, err) {
		memory, flushed = r.forget(ctx, &r.flags.writeFlags, result.Guarded)
	}
	return errors.Join(err, r.report(result, memory, err), r.judge(result, err), flushed, unreleased(result.Unreleased))
}

// begun tells whether the run went as far as deleting.
func begun(result *app.Result, stopped error) bool {
	return result.Approved && stopped == nil || result.Outcome.Stopped != nil || result.Outcome.Deleted != execute.Deleted{}
}

// report writes the result to standard output. Where nothing was begun it
// shows what would have been done.
func (r *run) report(result *app.Result, memory report.Memory, stopped error) error {
	if stopped == nil && !result.Approved {
		return nil
	}
	o := outcome(result, stopped)
	o.Memory = memory
	text := func() []byte { return report.ResultText(result.Plan, r.storage.Store, o, r.View(r.Out)) }
	if errors.Is(stopped, app.ErrLimit) {
		text = func() []byte { return report.PlanText(result.Plan, r.storage.Store, nil, r.View(r.Out)) }
	}
	return r.Print(
		func() any {
			return report.NewResult(report.NewPlan(result.Plan, r.options(), r.storage.Store), o)
		},
		text,
		func() []byte { return r.names(result) },
	)
}

// names are the images that are gone; all that the plan deletes but for what
// failed.
func (r *run) names(result *app.Result) []byte {
	if result.Outcome.Deleted.Manifests == 0 {
		return nil
	}
	failed := map[inventory.Item]bool{}
	for _, f := range result.Outcome.Failed {
		failed[f.Item] = true
	}
	return report.Names(result.Plan, func(item inventory.Item) bool { return failed[item] })
}

func items(phases [][]inventory.Item) int64 {
	n := 0
	for _, phase := range phases {
		n += len(phase)
	}
	return int64(n)
}

func outcome(result *app.Result, stopped error) report.Outcome {
	o := report.Outcome{
		Deleted: result.Outcome.Deleted, FreedBytes: result.Outcome.FreedBytes, MeasuredFreedBytes: result.MeasuredFreedBytes,
		StartedAt: result.StartedAt, FinishedAt: result.FinishedAt,
	}
	if stopped != nil {
		o.Stopped = stopped.Error()
	}
	for _, f := range result.Outcome.Failed {
		o.Failed = append(o.Failed, report.Failure{Path: registry.Path(f.Item), Error: oneLine(f.Err)})
	}
	return o
}

// judge is the error of a run that came to its end, nil where all is well.
func (r *run) judge(result *app.Result, stopped error) error {
	p := result.Plan
	switch {
	case stopped != nil:
		return nil
	case !result.Approved:
		return errors.New("not approved: nothing was deleted")
	case len(p.Held) > 0:
		return fmt.Errorf("%w: repositories of a kind without a single object stay: run with --confirm %s if they may go", errHeld, r.confirmation())
	case len(result.Outcome.Failed) > 0:
		f := result.Outcome.Failed[0]
		return fmt.Errorf("%w: %s, the first is %s: %w", errFailed,
			report.Count(len(result.Outcome.Failed), "item"), registry.Path(f.Item), f.Err)
	case inventory.Damaged(p.Inventory().Problems):
		return damaged(p.Inventory().Problems, seeVerify)
	}
	return nil
}

// oneLine writes joined errors side by side.
func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }
