package cli

import (
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const envPrefix = "EBB_"

// EnvName is the variable that sets a flag.
func EnvName(flag string) string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// ofService are the variables that Kubernetes puts into a container for every
// service whose name begins with ebb.
var ofService = regexp.MustCompile(`^EBB_(.+_)?(SERVICE_(HOST|PORT(_.+)?)|PORT(_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?)$`)

// doubtEnvironment warns of variables that look like a flag's and are none: a
// slip in one would leave a choice at its default in silence.
func (a *App) doubtEnvironment(root *cobra.Command) {
	if a.Environ == nil {
		return
	}
	known := variables(root)
	environment := a.Environ()
	slices.Sort(environment)
	for _, entry := range environment {
		name, _, _ := strings.Cut(entry, "=")
		if !strings.HasPrefix(name, envPrefix) || slices.Contains(known, name) || ofService.MatchString(name) {
			continue
		}
		if value, _ := a.Env(name); value != "" {
			a.Note("warning: %s is ignored: no flag goes by that name%s", name, didYouMean(nearest(name, known)))
		}
	}
}

// nearest is the variable that is meant, if any.
func nearest(name string, known []string) []string {
	near := Nearest(name, known, slips(name))
	return near[:min(len(near), 1)]
}

// slips is in how many letters a name may differ from the one that is meant.
func slips(name string) int { return min(2, (len(name)-len(envPrefix))/3) }

// variables are those of every flag of every command: one environment serves
// all of them.
func variables(cmd *cobra.Command) []string {
	var names []string
	add := func(f *pflag.Flag) {
		if f.Name == "config" || !notConfigurable(f.Name) {
			names = append(names, EnvName(f.Name))
		}
	}
	cmd.LocalFlags().VisitAll(add)
	for _, child := range cmd.Commands() {
		names = append(names, variables(child)...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}
