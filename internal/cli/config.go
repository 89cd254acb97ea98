package cli

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// OpenConfig reads the configuration file that was asked for; nil: none was.
// Its keys are the flags of the command's whole group, so that one file serves
// all of it, and those that the group knows besides. Every error is a
// UsageError.
func (a *App) OpenConfig(cmd *cobra.Command, besides ...string) (*File, error) {
	path := a.ConfigPath()
	if path == "" {
		return nil, nil
	}
	file, err := ReadFile(path)
	if err != nil {
		return nil, err
	}
	known, onlyGiven := keys(cmd)
	return file, file.Check(append(known, besides...), onlyGiven)
}

// keys are the flags of all commands of a group, and those among them that no
// configuration may hold.
func keys(cmd *cobra.Command) (known, onlyGiven []string) {
	add := func(f *pflag.Flag) {
		if f.Name != "help" && f.Name != "config" {
			known = append(known, f.Name)
		}
		if IsPersonal(f) {
			onlyGiven = append(onlyGiven, f.Name)
		}
	}
	for _, sibling := range cmd.Parent().Commands() {
		sibling.Flags().VisitAll(add)
	}
	cmd.InheritedFlags().VisitAll(add)
	return known, onlyGiven
}
