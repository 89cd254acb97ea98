package registry

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

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
			words = append(words, flagWords(f)...)
		}
	})
	lines := j.proof("Next, while no registry runs on this storage")
	lines = append(lines, wrap(append(words, "--offline"))...)
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

// flagWords writes a flag as it may be typed again.
func flagWords(f *pflag.Flag) []string {
	name := "--" + f.Name
	if f.Value.Type() == "bool" {
		if f.Value.String() == "true" {
			return []string{name}
		}
		return []string{name + "=false"}
	}
	values := []string{f.Value.String()}
	if l, ok := f.Value.(interface{ Values() []string }); ok {
		values = l.Values()
	}
	var words []string
	for _, value := range values {
		words = append(words, name+" "+report.ShellQuote(value))
	}
	return words
}

// wrap breaks a command into lines for a terminal, such that it can be copied.
func wrap(words []string) []string {
	const columns = 78
	var lines []string
	line := "  "
	for i, word := range words {
		if i > 0 && len(line)+len(word) > columns {
			lines = append(lines, line+`\`)
			line = "      "
		}
		line += word
		if i < len(words)-1 {
			line += " "
		}
	}
	return append(lines, line)
}
