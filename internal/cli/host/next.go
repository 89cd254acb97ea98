package host

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	app "github.com/ebb-io/ebb/internal/app/host"
	"github.com/ebb-io/ebb/internal/cli"
	"github.com/ebb-io/ebb/internal/report"
	"github.com/ebb-io/ebb/internal/retention"
)

// next is the command that does what a check has shown. Where a limit stands in
// its way it is told how to pass it, and not written so: that is a decision.
func (j *job) next(cmd *cobra.Command, pass *app.Pass) []string {
	if pass.Plan.Totals.Delete == 0 && !slices.ContainsFunc(pass.Plan.Decisions, func(d retention.Decision) bool { return d.Waits() }) {
		return nil
	}
	words := append(strings.Fields(j.Typed(group)), "run")
	if j.preview {
		words = append(words, "--pin-running")
	}
	if path := j.ConfigPath(); path != "" && !j.Given("config") {
		words = append(words, "--config "+report.ShellQuote(path))
	}
	cmd.Flags().SortFlags = false
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if (j.Given(f.Name) || j.FromEnvironment(f.Name)) && shapesRun(f.Name) {
			words = append(words, cli.FlagWords(f)...)
		}
	})
	lines := append([]string{"Next, to delete what is shown above:", ""}, cli.WrapCommand(words)...)
	if pass.Plan.Totals.Delete == 0 {
		lines[0] = "Nothing goes now. To delete what waits, when its time has come:"
	}
	if len(pass.Plan.Exceeded) > 0 {
		lines = append(lines, "", "As it stands that is refused, being over a limit. If the limit is what is wrong,", "add --confirm "+report.ShellQuote(pass.Plan.Engine.Name)+" to it.")
	}
	return lines
}

// shapesRun tells whether a flag means to a run what it means to a check.
func shapesRun(flag string) bool {
	return !slices.Contains([]string{"exit-code", "output", "no-headers", "quiet", "verbose", "color"}, flag)
}
