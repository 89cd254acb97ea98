package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func newRoot(app *App, groups []Group) *cobra.Command {
	root := &cobra.Command{
		Use:               app.Program.Name,
		Short:             app.Program.Short,
		Example:           app.Program.Examples,
		SilenceUsage:      true,
		SilenceErrors:     true,
		DisableAutoGenTag: true,
	}
	Parent(root)
	app.Common.add(root.PersistentFlags())
	addVersion(root, app)
	root.SetIn(app.In)
	root.SetOut(app.Out)
	root.SetErr(app.Err)
	root.SetHelpFunc(help)
	root.SetUsageFunc(usage)
	root.SetFlagErrorFunc(flagError)
	for _, g := range groups {
		app.attach(root, g.Command(app))
	}
	root.AddCommand(versionCommand(app))
	addCompletion(root)
	completeChoices(root)
	return root
}

// completeChoices lets shells offer the few values that a flag can have.
func completeChoices(root *cobra.Command) {
	root.PersistentFlags().VisitAll(func(f *pflag.Flag) {
		if c, ok := f.Value.(*choice); ok {
			values := cobra.FixedCompletions(c.of, cobra.ShellCompDirectiveNoFileComp)
			_ = root.RegisterFlagCompletionFunc(f.Name, values) // fails only for a flag that is not there
		}
	})
}

// flagError says it of the flag as it is called, and what its value lacks.
func flagError(cmd *cobra.Command, err error) error {
	var invalid *pflag.InvalidValueError
	if errors.As(err, &invalid) {
		return Usagef("--%s: %w (see %s --help)", invalid.GetFlag().Name, invalid.Unwrap(), cmd.CommandPath())
	}
	return Usagef("%w (see %s --help)", err, cmd.CommandPath())
}

// addCompletion adds cobra's command, which takes any word in silence.
func addCompletion(root *cobra.Command) {
	root.InitDefaultCompletionCmd("completion")
	for _, cmd := range root.Commands() {
		if cmd.Name() != "completion" {
			continue
		}
		cmd.Short = "Write a script that completes commands in a shell"
		Parent(cmd)
		for _, shell := range cmd.Commands() {
			shell.Args = NoArgs()
		}
	}
}

// Parent makes a command that only holds others: alone it shows its help, and
// a word that it does not know is a mistake.
func Parent(cmd *cobra.Command) {
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		return Usagef("unknown command %q for %q%s (see %s --help)",
			args[0], cmd.CommandPath(), didYouMean(suggestions(cmd, args[0])), cmd.CommandPath())
	}
	cmd.SuggestionsMinimumDistance = 2
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
}

// suggestions are commands that are called like a word, here or one level down:
// a person forgets the group, or does not know it yet.
func suggestions(cmd *cobra.Command, word string) []string {
	found := cmd.SuggestionsFor(word)
	if len(found) > 0 {
		return found
	}
	for _, child := range cmd.Commands() {
		for _, name := range child.SuggestionsFor(word) {
			found = append(found, child.Name()+" "+name)
		}
	}
	return found
}

// didYouMean asks of the likeliest, or of two: a word may be meant in two
// groups.
func didYouMean(suggestions []string) string {
	switch len(suggestions) {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf(", did you mean %q?", suggestions[0])
	}
	return fmt.Sprintf(", did you mean %q or %q?", suggestions[0], suggestions[1])
}
