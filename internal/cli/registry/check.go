package registry

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	app "github.com/ebb-io/ebb/internal/app/registry"
	"github.com/ebb-io/ebb/internal/cli"
	"github.com/ebb-io/ebb/internal/execute/guard"
	"github.com/ebb-io/ebb/internal/inventory"
	"github.com/ebb-io/ebb/internal/plan"
	"github.com/ebb-io/ebb/internal/report"
	"github.com/ebb-io/ebb/internal/store/registry"
)

func checkCommand(a *cli.App) *cobra.Command {
	var flags planFlags
	var exitCode bool
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Show what could be reclaimed, and why; nothing is written",
		Example: `  ebb registry check --storage /var/lib/registry
  ebb registry check --storage /var/lib/registry --owners owners.yaml -o wide
  ebb registry check --storage s3://example-bucket/images
  ebb registry check --storage /var/lib/registry -o json > plan.json`,
		Args: cli.NoArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			j, err := newJob(a, cmd, &flags)
			if err != nil {
				return err
			}
			return j.check(cmd, exitCode)
		},
	}
	flags.add(cmd.Flags())
	cmd.Flags().BoolVar(&exitCode, "exit-code", false, "exit with 4 when something can be reclaimed")
	return cmd
}

func (j *job) check(cmd *cobra.Command, exitCode bool) error {
	p, err := j.plan(cmd.Context())
	if err != nil {
		return err
	}
	if err := j.show(p, j.next(cmd, p)); err != nil {
		return err
	}
	switch {
	case inventory.Damaged(p.Inventory().Problems):
		return damaged(p.Inventory().Problems, seeVerify)
	case exitCode && deletes(p):
		return cli.Silent(exitReclaimable)
	}
	return nil
}

// plan makes a plan with a driver that can not write.
func (j *job) plan(ctx context.Context) (*plan.Plan, error) {
	driver, err := j.storage.open(ctx)
	if err != nil {
		return nil, err
	}
	cache, giveBack := j.openCache(driver)
	defer giveBack()
	done := j.use(ctx, driver)
	p, err := app.Check(ctx, registry.New(driver, &j.progress.Progress).WithCache(cache), j.request())
	done()
	if err := j.empty(err); err != nil {
		return nil, err
	}
	j.warn(p)
	return p, nil
}

// empty makes a warning of a storage that holds nothing yet.
func (j *job) empty(err error) error {
	if errors.Is(err, registry.ErrEmpty) {
		j.saidEmpty = true
		j.Note("warning: storage %s is empty: there is nothing to do (%s)", j.storage.name, j.storage.doubt)
		return nil
	}
	return j.hint(j.storage.explain(err))
}

// hint says of a registry that takes writes what its configuration says of that.
func (j *job) hint(err error) error {
	if own := j.storage.own; own == nil || own.ReadOnly || !errors.Is(err, guard.ErrWritable) {
		return err
	}
	return fmt.Errorf("%w: its configuration %s does not set that", err, j.storage.Config)
}

// bare doubts a registry's storage in which nothing lies.
func (j *job) bare(repositories, blobs int, problems []inventory.Problem) {
	if repositories+blobs+len(problems) == 0 && !j.saidEmpty {
		j.Note("warning: storage %s holds no repositories and no blobs: nothing to do", j.storage.name)
	}
}

// show writes a plan to standard output.
func (j *job) show(p *plan.Plan, next []string) error {
	return j.Print(
		func() any { return report.NewPlan(p, j.options(), j.storage.Store) },
		func() []byte { return report.PlanText(p, j.storage.Store, next, j.View(j.Out)) },
		func() []byte { return report.Names(p, nil) },
	)
}

func deletes(p *plan.Plan) bool {
	for range p.Items() {
		return true
	}
	return false
}

// seeVerify says of damage where all of it is shown.
const seeVerify = " (ebb registry verify shows all)"

// damaged is the error for damage, which names the first.
func damaged(problems []inventory.Problem, see string) error {
	var found []inventory.Problem
	for _, p := range problems {
		if p.Damage() {
			found = append(found, p)
		}
	}
	return fmt.Errorf("%w: %s, the first is %s at %s%s",
		errDamaged, report.Count(len(found), "problem"), found[0].Code, found[0].Path, see)
}
