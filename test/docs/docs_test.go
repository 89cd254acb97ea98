// Package docs runs what the documents tell people to type.
package docs

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ebb-io/ebb/internal/cli"
	clidemo "github.com/ebb-io/ebb/internal/cli/demo"
	"github.com/ebb-io/ebb/internal/cli/registry"
	"github.com/ebb-io/ebb/internal/demo"
	"github.com/ebb-io/ebb/internal/demo/server"
)

const top = "../.."

var documents = []string{"README.md", "CONTRIBUTING.md", "docs/registry.md", "docs/host.md", "docs/architecture.md", "docs/performance.md"}

// stage is a registry's storage, its owners, a configuration and a server that
// takes no writes: what the documents' commands find on a reader's machine.
type stage struct {
	dir     string
	storage string // as --storage takes it
	server  *server.Server
}

// newStage is one with its storage in a folder.
func newStage(t *testing.T) stage {
	t.Helper()
	s := stage{dir: t.TempDir()}
	s.storage = s.path("registry")
	fill, err := server.Start(t.Context(), s.path("registry"), server.Options{})
	if err != nil {
		t.Fatal(err)
	}
	world, err := demo.Populate(t.Context(), fill.Addr())
	if err != nil {
		t.Fatal(err)
	}
	if err := fill.Close(); err != nil {
		t.Fatal(err)
	}
	if err := demo.Backdate(s.path("registry"), time.Now().Add(-60*24*time.Hour)); err != nil {
		t.Fatal(err)
	}
	if s.server, err = server.Start(t.Context(), s.path("registry"), server.Options{ReadOnly: true}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.server.Close() })
	s.furnish(t, world, "filesystem", map[string]any{"rootdirectory": s.path("registry")})
	return s
}

// furnish writes the files that the commands name.
func (s stage) furnish(t *testing.T, world demo.World, driver string, parameters map[string]any) {
	t.Helper()
	s.write(t, "owners.yaml", world.After)
	s.write(t, "objects/owners.yaml", world.After)
	s.write(t, "ebb.yaml", []byte(s.here(fence(t, "docs/registry.md", "yaml"))))
	own, err := json.Marshal(map[string]any{"version": "0.1", "storage": map[string]any{driver: parameters}}) // which is YAML too
	if err != nil {
		t.Fatal(err)
	}
	s.write(t, "config.yml", own)
}

func (s stage) path(name string) string { return filepath.Join(s.dir, name) }

func (s stage) write(t *testing.T, name string, content []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(s.path(name)), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(s.path(name), content, 0o644); err != nil {
		t.Fatal(err)
	}
}

// here puts the stage in the place of the documents' examples.
func (s stage) here(text string) string {
	return strings.NewReplacer(
		"/var/lib/registry", s.storage,
		bucketInDocuments+"?region=eu-central-1", s.storage,
		bucketInDocuments, s.storage,
		"/etc/distribution/config.yml", s.path("config.yml"),
		"https://registry.example.org", s.server.URL(),
		"/etc/ebb/objects", s.path("objects"),
		"owners.yaml", s.path("owners.yaml"),
		"plan.json", s.path("plan.json"),
		"ebb.yaml", s.path("ebb.yaml"),
		"apps/web:v3", "apps/web:1.5",
	).Replace(text)
}

// run runs one line, with its output in a file where the line says so.
func (s stage) run(t *testing.T, line string) int {
	t.Helper()
	line, _, _ = strings.Cut(line, "#")
	command, file, toFile := strings.Cut(s.here(line), ">")
	args := strings.Fields(strings.ReplaceAll(command, "'", ""))[1:]
	if args[1] == "run" && !slices.Contains(args, "--yes") {
		args = append(args, "--yes") // the reader answers the question
	}
	var out, complaints bytes.Buffer
	code := cli.Main(t.Context(), cli.Ebb(), cli.Process{
		Args: args, In: cli.Input{Reader: strings.NewReader("")},
		Out: cli.Output{Writer: &out}, Err: cli.Output{Writer: &complaints},
		Env: func(string) (string, bool) { return "", false }, Now: time.Now,
	}, registry.Group(), clidemo.Group(registry.Group()))
	if toFile {
		if err := os.WriteFile(strings.TrimSpace(file), out.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if code != 0 {
		t.Logf("%s%s", out.String(), complaints.String())
	}
	return code
}

// Every command of ebb in a document works as it stands, in its order.
func TestCommandsInDocuments(t *testing.T) {
	for _, document := range documents {
		t.Run(document, func(t *testing.T) {
			lines := commands(t, document)
			if len(lines) == 0 {
				return
			}
			runAll(t, lines)
		})
	}
}

// runAll runs lines in their order, each on the kind of storage that it names.
func runAll(t *testing.T, lines []string) {
	t.Helper()
	inFolder, inBucket := newStage(t), newBucketStage(t)
	for _, line := range lines {
		s := inFolder
		if strings.Contains(line, bucketInDocuments) {
			s = inBucket
		}
		if code := s.run(t, line); code != 0 {
			t.Errorf("%s: exit code %d", line, code)
		}
	}
}

// commands are all whole commands of a document: those that name a storage.
func commands(t *testing.T, document string) []string {
	t.Helper()
	var found []string
	for _, match := range regexp.MustCompile("(?m)(?:^|`)(ebb registry[^`\n]*(?:--storage|-c )[^`\n]*)").FindAllStringSubmatch(read(t, document), -1) {
		found = append(found, match[1])
	}
	return found
}

// fence is the first code block of a language.
func fence(t *testing.T, document, language string) string {
	t.Helper()
	_, rest, ok := strings.Cut(read(t, document), "```"+language+"\n")
	block, _, closed := strings.Cut(rest, "```")
	if !ok || !closed {
		t.Fatalf("%s has no block of %s", document, language)
	}
	return block
}

func read(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(top, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// Every target of make that a document names is there.
func TestTargetsInDocuments(t *testing.T) {
	makefile := read(t, "Makefile")
	for _, document := range documents {
		for _, match := range regexp.MustCompile("(?m)(?:^|`)make ([a-z-]+)").FindAllStringSubmatch(read(t, document), -1) {
			if !strings.Contains(makefile, "\n"+match[1]+":") {
				t.Errorf("%s names make %s, which the Makefile does not have", document, match[1])
			}
		}
	}
}

// Every link to a file of the repository leads to one.
func TestLinksInDocuments(t *testing.T) {
	for _, document := range documents {
		for _, match := range regexp.MustCompile(`\]\(([^)#]+)\)`).FindAllStringSubmatch(read(t, document), -1) {
			if strings.Contains(match[1], "://") {
				continue
			}
			if _, err := os.Stat(filepath.Join(top, filepath.Dir(document), match[1])); err != nil {
				t.Errorf("%s: %v", document, err)
			}
		}
	}
}

// Every link to a heading leads to one of the same document.
func TestHeadingsInDocuments(t *testing.T) {
	for _, document := range documents {
		text := read(t, document)
		headings := map[string]bool{}
		for _, match := range regexp.MustCompile(`(?m)^#+ (.+)$`).FindAllStringSubmatch(text, -1) {
			plain := regexp.MustCompile(`[^a-z0-9 -]`).ReplaceAllString(strings.ToLower(match[1]), "")
			headings[strings.ReplaceAll(plain, " ", "-")] = true
		}
		for _, match := range regexp.MustCompile(`\]\(#([^)]+)\)`).FindAllStringSubmatch(text, -1) {
			if !headings[match[1]] {
				t.Errorf("%s has no heading #%s", document, match[1])
			}
		}
	}
}

// Every reason, problem and exit code that the code has is explained.
func TestWordsAreExplained(t *testing.T) {
	text := read(t, "docs/registry.md")
	for _, file := range []string{"internal/inventory/problem.go"} {
		for _, match := range regexp.MustCompile(`ProblemCode = "([A-Za-z]+)"`).FindAllStringSubmatch(read(t, file), -1) {
			if !strings.Contains(text, "`"+match[1]+"`") {
				t.Errorf("docs/registry.md does not explain %s", match[1])
			}
		}
	}
	text += read(t, "docs/host.md")
	for _, match := range regexp.MustCompile(`Code = "([A-Za-z]+)"`).FindAllStringSubmatch(read(t, "internal/reason/reason.go"), -1) {
		if !strings.Contains(text, "`"+match[1]+"`") {
			t.Errorf("neither docs/registry.md nor docs/host.md explains %s", match[1])
		}
	}
}

func TestDemoLeavesNothingBehind(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	output := runDemo(t)
	for _, part := range []string{"ebb registry check", "ebb registry explain", "freed", "kept images were pulled"} {
		if !strings.Contains(output, part) {
			t.Errorf("the demo does not say %q", part)
		}
	}
	left, err := os.ReadDir(temp)
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestDemoKeepsItsFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "kept")
	runDemo(t, "--keep", dir)
	for _, name := range []string{"registry/docker/registry/v2", "cleaned/docker/registry/v2", "owners.yaml", "before.yaml", "plan.json"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
	if code, _ := demoWith(t.Context(), "--keep", dir); code != cli.Usage {
		t.Errorf("a demo in a folder that holds something ends with %d", code)
	}
}

func runDemo(t *testing.T, args ...string) string {
	t.Helper()
	code, output := demoWith(t.Context(), args...)
	if code != 0 {
		t.Fatalf("exit code %d:\n%s", code, output)
	}
	return output
}

func demoWith(ctx context.Context, args ...string) (int, string) {
	var out bytes.Buffer
	code := cli.Main(ctx, cli.Ebb(), cli.Process{
		Args: append([]string{"demo"}, args...), In: cli.Input{Reader: strings.NewReader("")},
		Out: cli.Output{Writer: &out}, Err: cli.Output{Writer: &out},
		Env: os.LookupEnv, Now: time.Now,
	}, registry.Group(), clidemo.Group(registry.Group()))
	return code, out.String()
}
