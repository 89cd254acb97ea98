package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ebb-io/ebb/internal/report"
)

// columns is how wide help is, on whatever terminal.
const columns = 80

// help begins with examples: they are what people look for.
func help(cmd *cobra.Command, _ []string) {
	h := helper{cmd.OutOrStdout()}
	h.text(cmd.Short)
	if cmd.Example != "" {
		h.line("\nExamples:\n%s", cmd.Example)
	}
	if cmd.Long != "" {
		h.line("\n%s", cmd.Long)
	}
	h.line("")
	h.usage(cmd)
}

func usage(cmd *cobra.Command) error {
	helper{cmd.OutOrStderr()}.usage(cmd)
	return nil
}

type helper struct{ to io.Writer }

func (h helper) line(format string, args ...any) {
	_, _ = fmt.Fprintf(h.to, format+"\n", args...) // the stream remembers its failures
}

func (h helper) text(text string) {
	for _, line := range report.Wrap(text, columns) {
		h.line("%s", line)
	}
}

func (h helper) usage(cmd *cobra.Command) {
	h.line("Usage:")
	if cmd.HasAvailableSubCommands() {
		h.line("  %s COMMAND\n\nCommands:", cmd.CommandPath())
		h.commands(cmd)
	} else {
		h.line("  %s", strings.Replace(cmd.UseLine(), "[flags]", "[FLAGS]", 1))
	}
	if cmd.HasAvailableLocalFlags() {
		h.line("\nFlags:")
		h.flags(cmd.LocalFlags())
	}
	if cmd.HasAvailableInheritedFlags() {
		h.line("\nCommon flags:")
		h.flags(cmd.InheritedFlags())
	}
}

func (h helper) commands(cmd *cobra.Command) {
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			h.entry(c.Name(), c.Short, 14)
		}
	}
}

func (h helper) flags(flags *pflag.FlagSet) {
	flags.VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			h.entry(flagName(f), flagText(f), 26)
		}
	})
}

func flagName(f *pflag.Flag) string {
	name := "    --" + f.Name
	if f.Shorthand != "" {
		name = "-" + f.Shorthand + ", --" + f.Name
	}
	kind, _ := pflag.UnquoteUsage(f)
	if f.Value.Type() == "bool" {
		return name
	}
	return name + " " + kind
}

func flagText(f *pflag.Flag) string {
	_, text := pflag.UnquoteUsage(f)
	if _, isList := f.Value.(list); isList {
		text += " (repeatable)"
	}
	if f.DefValue != "" && f.Value.Type() != "bool" {
		text += " (default " + f.DefValue + ")"
	}
	return text
}

// entry is a name and what it means, beside or, if the name is long, below it.
func (h helper) entry(name, text string, at int) {
	begin := "  " + name
	if len(begin) >= at {
		h.line("%s", begin)
		begin = ""
	}
	for _, line := range report.Wrap(text, columns-at-2) {
		h.line("%-*s  %s", at, begin, line)
		begin = ""
	}
}
