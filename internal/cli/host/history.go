package host

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/ebb-io/ebb/internal/cli"
	"github.com/ebb-io/ebb/internal/report"
)

func historyCommand(a *cli.App) *cobra.Command {
	var where engineFlags
	var since time.Duration
	cmd := &cobra.Command{
		Use:   "history",
		Short: "Show what was deleted, when and why, and how to have it again",
		Example: a.Examples(group,
			"history",
			"history --since 7d -o json"),
		Args: cli.NoArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := configure(a, cmd); err != nil {
				return err
			}
			if err := where.check(a); err != nil {
				return err
			}
			return history(a, cmd, &where, since)
		},
	}
	where.add(cmd.Flags())
	cmd.Flags().Var(cli.Age{Value: &since}, "since", "only what was deleted within that time; 0s is all")
	return cmd
}

func history(a *cli.App, cmd *cobra.Command, where *engineFlags, since time.Duration) error {
	at, err := where.open(cmd.Context(), a)
	if err != nil {
		return err
	}
	defer at.close()
	e := at.engine.Engine()
	record, lost, err := at.dir.Load(e.Key())
	if err != nil {
		return err
	}
	if lost != nil {
		a.Note("warning: %s", lost)
	}
	deletions := record.Deletions
	if since > 0 {
		from := a.Now().Add(-since)
		for len(deletions) > 0 && deletions[0].At.Before(from) { // they are in order of time
			deletions = deletions[1:]
		}
	}
	h := report.NewHistory(e, deletions)
	return a.Print(func() any { return h }, func() []byte { return h.Text(since, a.View(a.Out)) }, h.Pullable)
}
