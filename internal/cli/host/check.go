package host

import (
	"context"

	"github.com/spf13/cobra"

	app "github.com/ebb-io/ebb/internal/app/host"
	"github.com/ebb-io/ebb/internal/cli"
	"github.com/ebb-io/ebb/internal/report"
)

func checkCommand(a *cli.App) *cobra.Command {
	var flags planFlags
	var exitCode bool
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Show what could be removed, and why; no image is touched",
		Example: a.Examples(group,
			"check",
			"check --pin traefik:v3.1.2 --pin cloudflare/cloudflared:2024.10.0",
			"check --compose /srv/web/compose.yml -o wide",
			"check --pins-from pins.txt -o json > plan.json"),
		Long: `Without a pin it shows what the running containers would pin. A run wants to
hear it: with --pin-running, or with pins of your own.`,
		Args: cli.NoArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			j, err := newJob(a, cmd, &flags)
			if err != nil {
				return err
			}
			return j.check(cmd, exitCode)
		},
	}
	flags.add(a, cmd)
	cmd.Flags().BoolVar(&exitCode, "exit-code", false, "exit with 4 when something can be removed")
	return cmd
}

func (j *job) check(cmd *cobra.Command, exitCode bool) error {
	j.preview = j.none()
	pass, err := j.plan(cmd.Context())
	if err != nil {
		return err
	}
	if j.preview {
		j.Note("no pins are given: this is what --pin-running would do")
	}
	if err := j.Print(
		func() any { return report.NewHostPlan(j.document(pass)) },
		func() []byte { return report.HostPlanText(pass.Plan, j.next(cmd, pass), j.View(j.Out)) },
		func() []byte { return report.HostNames(pass.Plan, nil) },
	); err != nil {
		return err
	}
	if exitCode && pass.Plan.Totals.Delete > 0 {
		return cli.Silent(exitReclaimable)
	}
	return nil
}

// plan looks at the engine and decides.
func (j *job) plan(ctx context.Context) (*app.Pass, error) {
	at, err := j.where.open(ctx, j.App)
	if err != nil {
		return nil, err
	}
	defer at.close()
	pass, err := app.Check(ctx, at.engine, at.dir, j.request())
	if err != nil {
		return nil, err
	}
	j.warn(pass)
	return pass, nil
}
