package cli

import (
	"github.com/spf13/pflag"

	"github.com/ebb-io/ebb/internal/report"
)

// FlagWords writes a flag as it may be typed again.
func FlagWords(f *pflag.Flag) []string {
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

// WrapCommand breaks a command into lines for a terminal, such that it can be copied.
func WrapCommand(words []string) []string {
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
