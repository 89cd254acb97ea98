package host

import (
	"context"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/ebb-io/ebb/internal/cli"
)

// patience is how long a person who presses a key waits for names.
const patience = time.Second

// completeImages lets shells offer the names that the engine has. Whatever goes
// wrong offers none.
func completeImages(a *cli.App, where *engineFlags) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		const only = cobra.ShellCompDirectiveNoFileComp
		if len(args) > 0 || configure(a, cmd) != nil {
			return nil, only
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), patience)
		defer cancel()
		e, err := where.engine(ctx, a)
		if err != nil {
			return nil, only
		}
		defer func() { _ = e.Close() }() // there is nothing to lose
		names, err := e.Names(ctx)
		if err != nil {
			return nil, only
		}
		completions := make([]cobra.Completion, len(names))
		for i, n := range names {
			completions[i] = n.Familiar()
		}
		slices.Sort(completions)
		return completions, only
	}
}
