package registry

import (
	"github.com/spf13/cobra"

	"github.com/ebb-io/ebb/internal/cli"
	"github.com/ebb-io/ebb/internal/report"
)

func explainCommand(a *cli.App) *cobra.Command {
	var flags planFlags
	cmd := &cobra.Command{
		Use:   "explain IMAGE",
		Short: "Show why an image is kept or would be deleted; nothing is written",
		Example: `  ebb registry explain apps/web --storage /var/lib/registry
  ebb registry explain apps/web:v3 --storage /var/lib/registry \
      --owners owners.yaml
  ebb registry explain sha256:1be94b7f --storage /var/lib/registry`,
		Long: `IMAGE is a repository, repository:tag, repository@digest, or the digest of an
image, a config or a layer. Eight digits of a digest are enough when no other
begins with them.`,
		Args: oneImage,
		RunE: func(cmd *cobra.Command, args []string) error {
			j, err := newJob(a, cmd, &flags)
			if err != nil {
				return err
			}
			return j.explain(cmd, args[0])
		},
	}
	flags.add(cmd.Flags())
	return cmd
}

func oneImage(cmd *cobra.Command, args []string) error {
	if len(args) == 1 && args[0] != "" {
		return nil
	}
	return cli.Usagef("want one image, such as apps/web:v3 (see %s --help)", cmd.CommandPath())
}

func (j *job) explain(cmd *cobra.Command, query string) error {
	p, err := j.plan(cmd.Context())
	if err != nil {
		return err
	}
	found, err := (&finder{Plan: p, names: aliases(p), storage: j.storage.name}).find(query)
	if err != nil {
		return err
	}
	e := report.NewExplanation(p, query, found, j.options(), j.storage.Store)
	text := func() []byte { return e.Text(j.View(j.Out)) }
	return j.Print(func() any { return e }, text, e.Names)
}
