package cli

import (
	"strings"

	"github.com/spf13/cobra"
)

// Ebb is the program with all groups.
func Ebb() Program {
	return Program{
		Name:  "ebb",
		Short: "Ebb brings container-image storage down to what is still in use, and proves that it kept the rest.",
		Examples: `  ebb registry check --storage /var/lib/registry --owners owners.yaml
  ebb registry run --storage /var/lib/registry --owners owners.yaml \
      --registry https://registry.example.org
  ebb registry explain apps/web:v3 --storage /var/lib/registry
  ebb host check --pin-running`,
	}
}

// EbbHost is the small program with the host's commands alone.
func EbbHost() Program {
	return Program{
		Name:  "ebb-host",
		Short: "Ebb brings a Docker host's images down to what is still in use: each pin, what is newer, one step back and all that is used stay.",
		Flat:  true,
	}
}

// attach hangs a group's command below the program's, or, in a flat program,
// its commands in its place.
func (a *App) attach(root, group *cobra.Command) {
	if !a.Program.Flat {
		root.AddCommand(group)
		return
	}
	root.Long = group.Long
	if root.Example == "" {
		root.Example = group.Example
	}
	commands := group.Commands()
	group.RemoveCommand(commands...)
	root.AddCommand(commands...)
}

// Typed is what a person types to reach a group's commands; without a group,
// the program's own.
func (a *App) Typed(group string) string {
	if group == "" || a.Program.Flat {
		return a.Program.Name
	}
	return a.Program.Name + " " + group
}

// Examples are commands of a group as help shows them, each as it is typed in
// this program. A further line of one is written as it shall stand.
func (a *App) Examples(group string, commands ...string) string {
	lines := make([]string, len(commands))
	for i, command := range commands {
		lines[i] = "  " + a.Typed(group) + " " + command
	}
	return strings.Join(lines, "\n")
}
