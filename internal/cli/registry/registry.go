// Package registry is the command line of a registry's storage: check, run,
// explain, usage, verify, repair and unlock.
//
// It asks, shows and maps errors to exit codes. It refuses to decide what is
// deleted, and opens a storage for writing in run, repair and unlock alone.
package registry

import (
	"github.com/spf13/cobra"

	"github.com/ebb-io/ebb/internal/cli"
)

// Group is the registry's part of the command line.
func Group() cli.Group { return cli.Group{Command: command, Code: code} }

func command(app *cli.App) *cobra.Command {
	group := &cobra.Command{
		Use:   "registry",
		Short: "See and reclaim what a registry's storage no longer needs",
		Example: `  ebb registry check --storage /var/lib/registry --owners owners.yaml
  ebb registry check --storage s3://example-bucket/images
  ebb registry explain apps/web:v3 --storage /var/lib/registry`,
		Long: `A storage is the folder that holds docker/registry/v2, or s3://BUCKET/PREFIX, or
config:PATH for what the registry's own configuration file names. In S3 the
credentials come from where the tools of AWS take them; ?region=NAME names a
region, ?endpoint=URL another server.`,
	}
	cli.Parent(group)
	group.AddCommand(checkCommand(app), runCommand(app), explainCommand(app), usageCommand(app), verifyCommand(app), repairCommand(app), unlockCommand(app))
	return group
}
