package registry

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	app "github.com/ebb-io/ebb/internal/app/registry"
	"github.com/ebb-io/ebb/internal/cli"
	"github.com/ebb-io/ebb/internal/descriptorcache"
	"github.com/ebb-io/ebb/internal/execute/guard"
	"github.com/ebb-io/ebb/internal/inventory"
	"github.com/ebb-io/ebb/internal/plan"
	"github.com/ebb-io/ebb/internal/report"
	"github.com/ebb-io/ebb/internal/store/registry"
)

// runFlags are those of a run alone.
type runFlags struct {
	planFlags
	registry cli.List
	offline  bool
	noLock   bool
	redis    string
	plan     string
	yes      bool
	confirm  string
}

func runCommand(a *cli.App) *cobra.Command {
	var flags runFlags
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Delete what check shows, and keep the rest whole",
		Example: `  ebb registry run --storage /var/lib/registry --owners owners.yaml --registry https://registry.example.org
  ebb registry run --storage /var/lib/registry --owners owners.yaml --offline --yes
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
	flags.add(cmd.Flags())
	flags.registry.Kind = "URL"
	cmd.Flags().Var(&flags.registry, "registry", "a registry on this storage, which must prove that it is read-only, one for each replica")
	cmd.Flags().BoolVar(&flags.offline, "offline", false, "no registry runs on this storage, or it is read-only")
	cmd.Flags().BoolVar(&flags.noLock, "no-lock", false, "take no lock: you say that nobody else cleans this storage")
	cmd.Flags().StringVar(&flags.redis, "flush-redis", "", "afterwards remove what the registry's cache remembers from the Redis at `URL`; nothing else in it is touched")
	cmd.Flags().StringVar(&flags.plan, "plan", "", "delete only what this `FILE` names, which check -o json wrote; - is standard input")
	cmd.Flags().BoolVar(&flags.yes, "yes", false, "do not ask")
	cmd.Flags().StringVar(&flags.confirm, "confirm", "", "go over a safety limit; the store's `NAME` is the last part of its path")
	cli.Personal(cmd.Flags(), "yes", "confirm")
	return cmd
}

// run is a job that deletes.
type run struct {
	*job
	flags  *runFlags
	guards []*guard.Guard
	stored *report.Stored // nil without a plan file
	shown  *cli.Progress
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
	if r.guards, err = r.chooseGuards(); err != nil {
		return nil, err
	}
	name := j.storage.Store.Name
	if flags.confirm != "" && flags.confirm != name {
		return nil, cli.Usagef("--confirm %s does not name this store: it is called %s", flags.confirm, name)
	}
	if flags.redis != "" {
		if err := descriptorcache.Check(flags.redis); err != nil {
			return nil, &cli.UsageError{Err: fmt.Errorf("--flush-redis: %w", err)}
		}
	}
	j.policy.Confirmed = flags.confirm != ""
	if !flags.yes && !(a.In.Terminal && a.Err.Terminal) {
		return nil, cli.Usagef("there is no terminal on which to ask: say --yes to delete without a question")
	}
	return r, nil
}

// chooseGuards wants to hear who writes to the storage. The command line wins
// over a configuration that says something else.
func (r *run) chooseGuards() ([]*guard.Guard, error) {
	urls, offline := r.flags.registry.Items, r.flags.offline
	if offline && len(urls) > 0 {
		switch {
		case r.Given("offline") && !r.Given("registry"):
			urls = nil
		case !r.Given("offline") && r.Given("registry"):
		default:
			return nil, cli.Usagef("--offline and --registry contradict each other: give one")
		}
	}
	if !offline && len(urls) == 0 {
		return nil, cli.Usagef("deleting needs a registry that takes no writes: give --registry URL to prove it, or say --offline when none runs on this storage")
	}
	var guards []*guard.Guard
	if offline && len(urls) == 0 && !r.Given("offline") {
		r.Note("%s is trusted: it says that no registry writes to this storage", r.From("offline"))
	}
	for _, address := range urls {
		g, err := guard.New(address)
		if err != nil {
			return nil, &cli.UsageError{Err: err}
		}
		guards = append(guards, g)
	}
	return guards, nil
}

func (r *run) run(ctx context.Context) error {
	driver, err := r.storage.openWritable(ctx)
	if err != nil {
		return err
	}
	r.versions(ctx, driver)
	cache, giveBack := r.openCache(driver)
	defer giveBack()
	request := app.RunRequest{
		Request: r.request(), Guards: r.guards, Clock: r.Now, Cache: cache,
		NoLock: r.flags.noLock, PullThrough: r.storage.own != nil && r.storage.own.Upstream != "",
	}
	if r.stored != nil {
		request.Now, request.Named = r.stored.PlannedAt, r.stored.Named
	}
	if !r.flags.yes {
		request.Approve = func(p *plan.Plan) (bool, error) { return r.ask(ctx, p) }
	}
	request.Planned = func(p *plan.Plan) { r.progress.Expect(items(p.Steps(nil))) }
	r.shown = r.progress.show(r.App)
	result, err := app.Run(ctx, driver, &r.progress.Progress, request)
	r.shown.Stop()
	r.spent(driver)
	if err = r.empty(err); errors.Is(err, app.ErrLimit) {
		err = fmt.Errorf("%w: run with --confirm %s if that is right", err, r.confirmation())
	}
	if result == nil || result.Plan == nil {
		return err
	}
	r.warn(result.Plan)
	memory, flushed := r.forget(ctx, result)
	return errors.Join(err, r.report(result, memory, err), r.judge(result, err), flushed)
}

// confirmation is what --confirm wants to hear.
func (r *run) confirmation() string { return report.ShellQuote(r.storage.Store.Name) }

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
		o.Failed = append(o.Failed, report.Failure{Path: registry.Path(f.Item), Error: f.Err.Error()})
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
