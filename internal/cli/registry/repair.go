package registry

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	app "github.com/ebb-io/ebb/internal/app/registry"
	"github.com/ebb-io/ebb/internal/cli"
	"github.com/ebb-io/ebb/internal/execute/guard"
	"github.com/ebb-io/ebb/internal/inventory"
	"github.com/ebb-io/ebb/internal/policy"
	"github.com/ebb-io/ebb/internal/repair"
	"github.com/ebb-io/ebb/internal/report"
	"github.com/ebb-io/ebb/internal/store/registry"
)

// repairFlags are those of a repair.
type repairFlags struct {
	writeFlags
	storageFlags
	repository  cli.List
	exclude     cli.List
	leftoverAge time.Duration
	share       policy.Share
	exitCode    bool
}

func repairCommand(a *cli.App) *cobra.Command {
	var flags repairFlags
	cmd := &cobra.Command{
		Use:   "repair",
		Short: "Show what of the damage can be mended, and with --yes mend it",
		Example: `  ebb registry repair --storage /var/lib/registry
  ebb registry repair --storage /var/lib/registry --yes \
      --registry https://registry.example.org
  ebb registry repair --storage /var/lib/registry --offline --yes`,
		Long: `Names and links that lead nowhere go, links that a crash left empty are written
anew from their paths, and temporary files and empty folders are tidied up. What
would be lost is shown first. Nothing that can be pulled is lost, no content is
invented, and what could not be read is not touched. What takes a person is
listed with what to do. Without --yes nothing is written.`,
		Args: cli.NoArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			r, err := newRepair(a, cmd, &flags)
			if err != nil {
				return err
			}
			if flags.yes {
				return r.mend(cmd.Context())
			}
			return r.show(cmd)
		},
	}
	flags.add(cmd.Flags())
	return cmd
}

func (f *repairFlags) add(flags *pflag.FlagSet) {
	f.repository = cli.List{Parse: cli.CheckGlob, Commas: true, Kind: "PATTERN"}
	f.exclude = f.repository
	f.leftoverAge, f.share = 24*time.Hour, policy.Default().MaxDeleteShare
	f.storageFlags.add(flags)
	flags.Var(&f.repository, "repository", "mend only these repositories: * stands for anything within a part of a name, ** for anything")
	flags.Var(&f.exclude, "exclude", "do not mend these repositories")
	flags.Var(cli.Age{Value: &f.leftoverAge}, "leftover-age", "keep temporary files and empty folders that were touched more recently")
	flags.Var(cli.Share{Value: &f.share}, "max-delete-share", "refuse to remove more of all images, of all tags, or of all layer links")
	f.writeFlags.add(flags, "mend what is shown")
	flags.BoolVar(&f.exitCode, "exit-code", false, "exit with 4 when nothing is damaged and something can be tidied up")
}

// mending is a job that mends.
type mending struct {
	*job
	flags     *repairFlags
	damages   app.Damages
	guards    []*guard.Guard
	confirmed bool
}

// newRepair finds every mistake before the storage is touched.
func newRepair(a *cli.App, cmd *cobra.Command, f *repairFlags) (*mending, error) {
	if _, err := configure(a, cmd); err != nil {
		return nil, err
	}
	s, err := f.storage(a)
	if err != nil {
		return nil, err
	}
	r := &mending{job: &job{App: a, storage: s}, flags: f}
	r.damages = app.Damages{LeftoverAge: f.leftoverAge, MaxDeleteShare: f.share, Now: a.Now()}
	if r.damages.Scope, err = scope(f.repository.Items, f.exclude.Items); err != nil {
		return nil, &cli.UsageError{Err: err}
	}
	if r.confirmed, err = r.job.confirmed(f.confirm); err != nil || !f.yes {
		return r, err
	}
	r.guards, err = r.chooseGuards(&f.writeFlags, "mending")
	return r, err
}

// show plans with a driver that can not write.
func (r *mending) show(cmd *cobra.Command) error {
	driver, err := r.storage.open(cmd.Context())
	if err != nil {
		return err
	}
	started := r.Now()
	done := r.use(cmd.Context(), driver)
	p, err := app.PlanRepair(cmd.Context(), registry.New(driver, &r.progress.Progress), r.damages)
	done()
	if err := r.empty(err); err != nil {
		return err
	}
	r.warnOf(p)
	if err := r.print(p, r.next(cmd), report.Repaired{StartedAt: started, FinishedAt: r.Now()}); err != nil {
		return err
	}
	switch {
	case inventory.Damaged(p.Problems()):
		return damaged(p.Problems(), "")
	case r.flags.exitCode && !p.Nothing():
		return cli.Silent(exitReclaimable)
	}
	return nil
}

func (r *mending) mend(ctx context.Context) error {
	driver, err := r.storage.openWritable(ctx)
	if err != nil {
		return err
	}
	done := r.use(ctx, driver)
	result, err := app.Repair(ctx, driver, &r.progress.Progress, app.RepairRequest{
		Damages: r.damages, Access: r.access(r.guards, &r.flags.writeFlags), Confirmed: r.confirmed, Clock: r.Now,
		Planned: func(p *repair.Plan) { r.progress.Expect(steps(p)) },
	})
	done()
	if err = r.empty(err); errors.Is(err, app.ErrLimit) {
		err = fmt.Errorf("%w: repair with --confirm %s if that is right", err, r.confirmation())
	}
	if result.Plan == nil {
		return err
	}
	r.warnOf(result.Plan)
	o := report.Repaired{
		Applied: err == nil || slices.Contains(result.Done, true) || len(result.Failed) > 0, Done: result.Done, Failed: result.Failed,
		StartedAt: result.StartedAt, FinishedAt: result.FinishedAt,
	}
	if err != nil {
		o.Stopped = err.Error()
	}
	var flushed error
	if o.Applied {
		o.Memory, flushed = r.forget(ctx, &r.flags.writeFlags, result.Guarded)
	}
	return errors.Join(err, r.print(result.Plan, nil, o), judgeRepair(result, err), flushed, unreleased(result.Unreleased))
}

func steps(p *repair.Plan) int64 {
	n := 0
	for _, phase := range p.Phases() {
		n += len(phase)
	}
	return int64(n)
}

func (r *mending) print(p *repair.Plan, next []string, o report.Repaired) error {
	options := report.RepairChoices(r.damages.Scope, r.damages.LeftoverAge, r.damages.MaxDeleteShare)
	document := report.NewRepair(p, r.storage.Store, options, r.damages.Now, o)
	return r.Print(
		func() any { return document },
		func() []byte { return document.Text(next, r.View(r.Out)) },
		document.Paths,
	)
}

// warnOf doubts a storage that holds nothing, and a pattern that matches
// nothing.
func (r *mending) warnOf(p *repair.Plan) {
	inv := p.Inventory()
	r.bare(len(inv.Repositories), inv.Contents.Blobs(), inv.Problems)
	r.warnScope(inv, "--repository", r.damages.Scope.Include)
	r.warnScope(inv, "--exclude", r.damages.Scope.Exclude)
}

// next is the command that does what was shown. The address of Redis, which may
// hold a password, is not repeated.
func (r *mending) next(cmd *cobra.Command) []string {
	words := []string{"ebb", "registry", "repair"}
	cmd.Flags().SortFlags = false
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if r.Given(f.Name) && shapesRun(f.Name) && !slices.Contains([]string{"offline", "registry", "flush-redis"}, f.Name) {
			words = append(words, cli.FlagWords(f)...)
		}
	})
	lines := append([]string{"Nothing was written.", ""}, r.proof("To mend it, while no registry runs on this storage")...)
	return append(lines, cli.WrapCommand(append(words, "--offline", "--yes"))...)
}

// judgeRepair is the error of a repair that came to its end, nil where all is
// mended.
func judgeRepair(result *app.Repaired, stopped error) error {
	switch {
	case stopped != nil:
		return nil
	case len(result.Failed) > 0:
		for i := range result.Plan.Actions {
			if err := result.Failed[i]; err != nil {
				return fmt.Errorf("%w: %s, the first is %s %s: %w", errUnmended,
					report.Count(len(result.Failed), "step"), result.Plan.Actions[i].Kind, result.Plan.Actions[i].Path, err)
			}
		}
	case len(result.Plan.Remaining) > 0:
		first := result.Plan.Remaining[0]
		return fmt.Errorf("%w: %s, the first is %s at %s", errDamaged,
			report.Count(len(result.Plan.Remaining), "problem")+" could not be mended", first.Code, first.Path)
	}
	return nil
}
