package registry

import (
	"github.com/spf13/cobra"

	app "github.com/ebb-io/ebb/internal/app/registry"
	"github.com/ebb-io/ebb/internal/cli"
	"github.com/ebb-io/ebb/internal/inventory"
	"github.com/ebb-io/ebb/internal/report"
	"github.com/ebb-io/ebb/internal/store/registry"
)

func verifyCommand(a *cli.App) *cobra.Command {
	var where storageFlags
	var deep bool
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Find what is damaged; nothing is written",
		Example: `  ebb registry verify --storage /var/lib/registry
  ebb registry verify --storage s3://example-bucket/images --deep`,
		Long: `Every tag must lead to a manifest, every manifest to its content, links must
hold their digest and sizes agree. It exits with 3 when something is damaged.`,
		Args: cli.NoArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if _, err := configure(a, cmd); err != nil {
				return err
			}
			s, err := where.storage(a)
			if err != nil {
				return err
			}
			j := &job{App: a, storage: s}
			return j.verify(cmd, deep)
		},
	}
	where.add(cmd.Flags())
	cmd.Flags().BoolVar(&deep, "deep", false, "also hash all content")
	return cmd
}

func (j *job) verify(cmd *cobra.Command, deep bool) error {
	driver, err := j.storage.open(cmd.Context())
	if err != nil {
		return err
	}
	started := j.Now()
	done := j.use(cmd.Context(), driver)
	v, err := app.Verify(cmd.Context(), registry.New(driver, &j.progress.Progress), deep)
	done()
	if err := j.empty(err); err != nil {
		return err
	}
	j.bare(v.Repositories, v.Blobs, v.Problems)
	totals := report.Verified{Repositories: v.Repositories, Tags: v.Tags, Images: v.Images, Blobs: v.Blobs, Bytes: v.Bytes}
	document := report.NewVerification(j.storage.Store, deep, totals, v.Problems, started, j.Now())
	text := func() []byte { return document.Text(j.View(j.Out)) }
	if err := j.Print(func() any { return document }, text, document.Paths); err != nil {
		return err
	}
	if inventory.Damaged(v.Problems) {
		return damaged(v.Problems, "")
	}
	return nil
}
