package docs

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/ebb-io/ebb/internal/cli"
	"github.com/ebb-io/ebb/internal/cli/registry"
)

// storageCommands are those that work on a registry's storage.
var storageCommands = []string{"check", "explain", "usage", "run", "verify", "repair", "unlock"}

func help(t *testing.T, words ...string) string {
	t.Helper()
	var out bytes.Buffer
	code := cli.Main(t.Context(), cli.Ebb(), cli.Process{
		Args: append(words, "--help"), In: cli.Input{Reader: strings.NewReader("")},
		Out: cli.Output{Writer: &out}, Err: cli.Output{Writer: &out},
		Env: func(string) (string, bool) { return "", false }, Now: time.Now,
	}, registry.Group())
	if code != 0 {
		t.Fatalf("%v: exit code %d", words, code)
	}
	return out.String()
}

// Every flag of every command that works on a registry is explained.
func TestFlagsAreExplained(t *testing.T) {
	text := read(t, "docs/registry.md")
	for _, command := range storageCommands {
		flags := regexp.MustCompile(`(?m)^  (?:-[a-z], |    )(--[a-z-]+)`).FindAllStringSubmatch(help(t, "registry", command), -1)
		if len(flags) < 8 {
			t.Errorf("ebb registry %s --help shows only %d flags", command, len(flags))
		}
		for _, flag := range flags {
			if !regexp.MustCompile("`(-[a-z], )?"+flag[1]+"[` =]").MatchString(text) && flag[1] != "--help" {
				t.Errorf("docs/registry.md does not explain %s of ebb registry %s", flag[1], command)
			}
		}
	}
}

// Help fits a terminal.
func TestHelpFitsATerminal(t *testing.T) {
	for _, text := range helpTexts(t) {
		for line := range strings.Lines(text) {
			if len(strings.TrimSuffix(line, "\n")) > 80 {
				t.Errorf("longer than 80 columns: %s", line)
			}
		}
	}
}

// Every example in a command's help works as it stands.
func TestExamplesInHelp(t *testing.T) {
	example := regexp.MustCompile(`(?m)^  (ebb registry [a-z]+ .*--storage.*)$`)
	var lines []string
	for _, text := range helpTexts(t) {
		before := len(lines)
		for _, match := range example.FindAllStringSubmatch(strings.ReplaceAll(text, " \\\n     ", ""), -1) {
			if !strings.Contains(match[1], " sha256:") { // a digest of nobody
				lines = append(lines, match[1])
			}
		}
		if len(lines) == before {
			t.Errorf("no example in\n%s", text)
		}
	}
	runAll(t, lines)
}

// helpTexts begin with what only reads, which leaves a plan for what deletes.
func helpTexts(t *testing.T) []string {
	t.Helper()
	var texts []string
	for _, command := range storageCommands {
		texts = append(texts, help(t, "registry", command))
	}
	return append(texts, help(t, "registry"), help(t))
}
