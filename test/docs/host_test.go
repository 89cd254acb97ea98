package docs

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ebb-io/ebb/internal/cli"
	"github.com/ebb-io/ebb/internal/cli/host"
	"github.com/ebb-io/ebb/internal/engine"
	"github.com/ebb-io/ebb/internal/metrics"
	"github.com/ebb-io/ebb/internal/testkit/fakeengine"
)

// hostCommands are those that work on a Docker engine.
var hostCommands = []string{"check", "explain", "run", "watch", "history", "hold"}

// box is a Docker host with all that the documents' commands name on it.
type box struct {
	dir string
	env map[string]string
}

func newBox(t *testing.T) box {
	t.Helper()
	e := fakeengine.Start(t, fakeengine.Options{Store: engine.Containerd})
	for _, name := range []string{
		"traefik:v3.1.2", "traefik:v3.1.0", "traefik:v3.0.4", "traefik:v2.11.0", "cloudflare/cloudflared:2024.10.0", "cloudflare/cloudflared:2024.9.1",
	} {
		e.Pull(name, fakeengine.Made(name))
	}
	e.AddContainer(fakeengine.Container{Name: "edge", From: "traefik:v3.1.2"})
	b := box{dir: t.TempDir()}
	b.env = map[string]string{"DOCKER_HOST": e.Host(), "EBB_STATE": filepath.Join(b.dir, "state")}
	b.write(t, "pins.txt", "traefik:v3.1.2\n")
	b.write(t, "compose.yml", "services: {edge: {image: \"traefik:v3.1.2\"}}\n")
	b.write(t, "host.yaml", read(t, "packaging/host.yaml"))
	return b
}

func (b box) write(t *testing.T, name, content string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(b.dir, name), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// here puts the box in the place of the documents' examples.
func (b box) here(line string) string {
	return strings.NewReplacer(
		"/etc/ebb/pins.txt", b.dir+"/pins.txt", " pins.txt", " "+b.dir+"/pins.txt", "/srv/web/compose.yml", b.dir+"/compose.yml",
		"/etc/ebb/host.yaml", b.dir+"/host.yaml", " plan.json", " "+b.dir+"/plan.json", "docker compose pull", "true", "./update.sh --all", "true",
		"unix:///tmp/docker.sock", b.env["DOCKER_HOST"], "127.0.0.1:9723", "127.0.0.1:0",
	).Replace(line)
}

// run runs one line. A watch is ended, as systemd does it, when it has made its
// first pass.
func (b box) run(t *testing.T, line string) (code int, told string) {
	t.Helper()
	line, _, _ = strings.Cut(line, " #")
	command, file, toFile := strings.Cut(b.here(line), ">")
	program, args := cli.EbbHost(), strings.Fields(command)[1:]
	if strings.HasPrefix(command, "ebb host ") {
		program = cli.Ebb()
	}
	if slices.Contains(args, "run") && !slices.Contains(args, "--yes") {
		args = append(args, "--yes") // the reader answers the question
	}
	ctx, end := context.WithCancelCause(t.Context())
	var out, complaints bytes.Buffer
	code = cli.Main(ctx, program, cli.Process{
		Args: args, In: cli.Input{Reader: strings.NewReader("")}, Out: cli.Output{Writer: &out},
		Err: cli.Output{Writer: writer(func(p []byte) (int, error) {
			if bytes.Contains(p, []byte("msg=pass")) {
				end(cli.Interrupted{Signal: syscall.SIGTERM})
			}
			return complaints.Write(p)
		})},
		Env: func(name string) (string, bool) { value, ok := b.env[name]; return value, ok }, Now: time.Now,
	}, host.Group())
	if toFile {
		b.write(t, filepath.Base(strings.TrimSpace(file)), out.String())
	}
	return code, out.String() + complaints.String()
}

type writer func([]byte) (int, error)

func (w writer) Write(p []byte) (int, error) { return w(p) }

// Every command for a Docker host in a document works as it stands, in its
// order.
func TestHostCommandsInDocuments(t *testing.T) {
	for _, document := range []string{"README.md", "docs/host.md"} {
		b := newBox(t)
		matches := regexp.MustCompile("(?m)^(?:sudo |docker compose .* run --rm )?(ebb(?:-host| host) [a-z].*)$").FindAllStringSubmatch(read(t, document), -1)
		if len(matches) < 4 {
			t.Errorf("%s has only %d commands for a Docker host", document, len(matches))
		}
		for _, match := range matches {
			if code, told := b.run(t, match[1]); code != 0 {
				t.Errorf("%s: %s: exit code %d: %s", document, match[1], code, told)
			}
		}
	}
}

func hostHelp(t *testing.T, command string) string {
	t.Helper()
	_, told := newBox(t).run(t, "ebb-host "+command+" --help")
	return told
}

// Every example in a command's help works as it stands.
func TestHostExamplesInHelp(t *testing.T) {
	b := newBox(t)
	for _, command := range hostCommands {
		matches := regexp.MustCompile(`(?m)^  (ebb-host [a-z].*)$`).FindAllStringSubmatch(hostHelp(t, command), -1)
		ran := 0
		for _, match := range matches {
			if strings.Contains(match[1], "FLAGS") || strings.Contains(match[1], " sha256:") { // a digest of nobody
				continue
			}
			ran++
			if code, told := b.run(t, match[1]); code != 0 {
				t.Errorf("%s: exit code %d: %s", match[1], code, told)
			}
		}
		if ran == 0 {
			t.Errorf("no example in the help of %s", command)
		}
	}
}

// Every flag of every command for a Docker host is explained, and help fits a
// terminal.
func TestHostFlagsAreExplained(t *testing.T) {
	text := read(t, "docs/host.md")
	for _, command := range hostCommands {
		told := hostHelp(t, command)
		own, _, _ := strings.Cut(told, "\nCommon flags:")
		flags := regexp.MustCompile(`(?m)^  (?:-[a-zA-Z], |    )(--[a-z-]+)`).FindAllStringSubmatch(own, -1)
		if len(flags) < 3 {
			t.Errorf("ebb-host %s --help shows only %d flags", command, len(flags))
		}
		for _, flag := range flags {
			if !regexp.MustCompile("`(-[a-zA-Z], )?"+flag[1]+"[` ]").MatchString(text) && flag[1] != "--help" {
				t.Errorf("docs/host.md does not explain %s of ebb-host %s", flag[1], command)
			}
		}
		for line := range strings.Lines(told) {
			if len(strings.TrimSuffix(line, "\n")) > 80 {
				t.Errorf("longer than 80 columns: %s", line)
			}
		}
	}
}

// Every way in which a pass can end is explained.
func TestHostOutcomesAreExplained(t *testing.T) {
	text := read(t, "docs/host.md")
	for _, outcome := range []string{metrics.Done, metrics.Partial, metrics.Refused, metrics.Failed} {
		if !strings.Contains(text, "\n| `"+outcome+"` | ") {
			t.Errorf("docs/host.md does not explain %s", outcome)
		}
	}
}
