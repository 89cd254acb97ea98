package report

import (
	"strconv"
	"strings"
)

// ShellQuote writes an argument such that a shell reads it as one word.
func ShellQuote(s string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:@%+=,"
	switch {
	case s != "" && strings.Trim(s, plain) == "":
		return s
	case printable(s):
		return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	}
	quoted := strconv.Quote(s)
	return "$'" + strings.NewReplacer(`\"`, `"`, "'", `\'`).Replace(quoted[1:len(quoted)-1]) + "'"
}
