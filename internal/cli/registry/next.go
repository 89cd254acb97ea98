package registry

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ebb-io/ebb/internal/cli"
	"github.com/ebb-io/ebb/internal/plan"
	"github.com/ebb-io/ebb/internal/report"
)

// next is the command that does what a check has shown. Where a limit stands in
// its way it is told how to pass it, and not written so: that is a decision.
func (j *job) next(cmd *cobra.Command, p *plan.Plan) []string {
	words := []string{"ebb", "registry", "run"}
	cmd.Flags().SortFlags = false
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if j.Given(f.Name) && shapesRun(f.Name) {
			words = append(words, cli.FlagWords(f)...)
		}
	})
	lines := j.proof("Next, while no registry runs on this storage")
	lines = append(lines, cli.WrapCommand(append(words, "--offline"))...)
	if len(p.Exceeded) > 0 && !p.Policy.Confirmed {
		lines = append(lines, "", "As it stands that is refused, being over a limit. If the limit is what is wrong,", "add --confirm "+report.ShellQuote(j.storage.Store.Name)+" to it.")
	}
	return lines
}

// proof says when a storage may be written to. A pull-through cache can not be
// proven to take no writes.
func (j *job) proof(when string) []string {
	if j.storage.own != nil && j.storage.own.Upstream != "" {
		return []string{when + ",", "which as a pull-through cache writes although it is read-only:", ""}
	}
	return []string{when + ", or with --registry URL in place", "of --offline to prove that a running one is read-only:", ""}
}

// shapesRun tells whether a flag means to a run what it means to a check.
func shapesRun(flag string) bool {
	switch flag {
	case "exit-code", "output", "no-headers", "quiet", "verbose", "color":
		return false
	}
	return true
}
