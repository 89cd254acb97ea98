// Package host is the command line of a Docker host: check, run, explain, watch,
// history and hold.
//
// It asks, shows and maps errors to exit codes. It refuses to decide what is
// deleted, and deletes in run and watch alone.
package host

import (
	"github.com/spf13/cobra"

	"github.com/ebb-io/ebb/internal/cli"
)

// group is what the host's commands stand below in a program with others.
const group = "host"

// Group is the host's part of the command line.
func Group() cli.Group { return cli.Group{Command: command, Code: code} }

func command(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   group,
		Short: "See and remove the images that a Docker host no longer needs",
		Example: a.Examples(group,
			"check --pin-running",
			"run --pin traefik:v3.1.2 --pins-from pins.txt",
			"explain traefik:v2.11.0 --pin-running"),
		Long: `Of each pinned repository stay the pins, what is newer, one step back and all
that a container uses. The rest goes by its exact name, never forced. Images of
a repository without a pin are left alone.`,
	}
	cli.Parent(cmd)
	cmd.AddCommand(checkCommand(a), runCommand(a), explainCommand(a), watchCommand(a), historyCommand(a), holdCommand(a))
	return cmd
}
