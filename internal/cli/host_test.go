package cli_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ebb-io/ebb/internal/cli"
	"github.com/ebb-io/ebb/internal/cli/host"
	"github.com/ebb-io/ebb/internal/cli/registry"
	"github.com/ebb-io/ebb/internal/engine"
	"github.com/ebb-io/ebb/internal/report"
	"github.com/ebb-io/ebb/internal/testkit/fakeengine"
)

// hostProgram runs a program with the host's commands in the process.
func hostProgram(t *testing.T, p cli.Program, environment map[string]string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, err bytes.Buffer
	groups := []cli.Group{host.Group()}
	if !p.Flat {
		groups = append(groups, registry.Group())
	}
	code = cli.Main(t.Context(), p, cli.Process{
		Args: args, In: cli.Input{Reader: strings.NewReader("")}, Out: cli.Output{Writer: &out}, Err: cli.Output{Writer: &err},
		Env: func(name string) (string, bool) { v, ok := environment[name]; return v, ok }, Now: time.Now,
	}, groups...)
	return code, out.String(), err.String()
}

// hostCommands are the names of the host's commands.
func hostCommands(t *testing.T) []string {
	t.Helper()
	var names []string
	for _, cmd := range host.Group().Command(&cli.App{Program: cli.EbbHost()}).Commands() {
		names = append(names, cmd.Name())
	}
	if len(names) != 6 {
		t.Fatalf("the host's commands are %v", names)
	}
	return names
}

// TestHostHelpInBothPrograms: each calls itself by its name, in lines that a
// terminal can show and examples that can be typed.
func TestHostHelpInBothPrograms(t *testing.T) {
	for _, test := range []struct {
		program cli.Program
		before  []string
		not     string
	}{{cli.Ebb(), []string{"host"}, "ebb-host"}, {cli.EbbHost(), nil, "ebb host"}} {
		typed := strings.Join(append([]string{test.program.Name}, test.before...), " ")
		for _, name := range append(hostCommands(t), "") {
			args := append([]string{}, test.before...)
			if name != "" {
				args = append(args, name)
			}
			code, out, err := hostProgram(t, test.program, nil, append(args, "--help")...)
			if code != 0 || err != "" || strings.Contains(out, test.not) {
				t.Errorf("%s %s: exit code %d, %q\n%s", typed, name, code, err, out)
			}
			if !strings.Contains(out, "Examples:\n  "+strings.TrimSpace(typed+" "+name)) && name != "" {
				t.Errorf("%s %s begins with no example:\n%s", typed, name, out)
			}
			for line := range strings.Lines(out) {
				if len([]rune(line)) > 81 {
					t.Errorf("%s %s: %d columns: %s", typed, name, len(line), line)
				}
			}
		}
	}
}

// TestHostMistakes are found before any engine is asked.
func TestHostMistakes(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	taken := listener.Addr().String()
	for _, test := range []struct {
		name string
		args []string
		code int
		want string
	}{
		{"no pins", []string{"run", "--yes"}, 10, "give --pin, --pins-from or --compose, or --pin-running for what runs now (ebb-host check shows what that would do)\n"},
		{"pins with a mistake to watch by", []string{"watch", "--pins-from", "host_test.go"}, 2, "host_test.go:1: image name"},
		{"no pins to watch by", []string{"watch"}, 10, "(ebb-host check shows"},
		{"nobody to ask", []string{"run", "--pin-running"}, 2, "there is no terminal on which to ask: say --yes"},
		{"a pin without a version", []string{"check", "--pin", "traefik"}, 2, `--pin: image name "traefik": which version is meant?`},
		{"a pin that is an ID", []string{"check", "--pin", report.ShellQuote("sha256:" + strings.Repeat("a", 64))}, 2, "it is an ID"},
		{"pins that can not be read again", []string{"check", "--pins-from", "-"}, 2, `--pins-from "-": want the path of a file`},
		{"a stack with a hole", []string{"check", "--compose", "a.yml:"}, 2, `--compose "a.yml:": want the path of a file`},
		{"a negative number", []string{"check", "--keep-previous", "-1"}, 2, `--keep-previous: "-1" is no number: want 3 (see ebb-host check --help)`},
		{"a word for a number", []string{"check", "--keep-newer", "some"}, 2, `--keep-newer: "some" is no number: want 3, or all`},
		{"weeks", []string{"check", "--unused-for", "2w"}, 2, "weeks are not known: write 14d"},
		{"no image", []string{"explain"}, 2, "want one image, such as traefik:v3.1.2 (see ebb-host explain --help)"},
		{"no command to hold for", []string{"hold"}, 2, "want a command behind --, such as ebb-host hold -- docker compose pull"},
		{"a command without the dashes", []string{"hold", "true"}, 2, "want a command behind --"},
		{"no time between passes", []string{"watch", "--pin-running", "--every", "0s"}, 2, "--every 0s: passes need some time between them"},
		{"no time between tries", []string{"watch", "--pin-running", "--retry-every", "0s"}, 2, "--retry-every 0s"},
		{"a form that no watch has", []string{"watch", "--pin-running", "-o", "yaml"}, 2, "-o yaml: a watch writes lines"},
		{"no address", []string{"watch", "--pin-running", "--metrics", "nowhere"}, 2, "--metrics nowhere: "},
		{"metrics in place of a device", []string{"watch", "--pin-running", "--textfile", os.DevNull}, 2, "--textfile " + os.DevNull + ": not a regular file"},
		{"an address that is taken", []string{"watch", "--pin-running", "--metrics", taken}, 1, "--metrics " + taken + ": "},
		{"a port that is none", []string{"watch", "--pin-running", "--metrics", "127.0.0.1:http9"}, 2, "--metrics 127.0.0.1:http9: "},
		{"a port that can be none", []string{"watch", "--pin-running", "--metrics", "127.0.0.1:65536"}, 2, "--metrics 127.0.0.1:65536: "},
		{"an address that is no machine's", []string{"watch", "--pin-running", "--metrics", "[::1:9723"}, 2, "--metrics [::1:9723: "},
		{"an address of another machine", []string{"watch", "--pin-running", "--metrics", "192.0.2.1:9723"}, 1, "--metrics 192.0.2.1:9723: "},
		{"a plan that is none", []string{"run", "--yes", "--plan", "main_test.go"}, 2, "plan main_test.go: it is neither JSON nor YAML: write it with ebb-host check -o json"},
		{"a plan that is not there", []string{"run", "--yes", "--plan", "none.json"}, 2, "plan: open none.json: no such file or directory"},
	} {
		t.Run(test.name, func(t *testing.T) {
			code, out, err := hostProgram(t, cli.EbbHost(), nil, test.args...)
			if code != test.code || !strings.Contains(err, test.want) || out != "" {
				t.Errorf("exit code %d, want %d; said %q, want %q; showed %q", code, test.code, err, test.want, out)
			}
		})
	}
}

// TestHostSignalAtTheQuestion: nothing has begun, so that nothing is to go on.
func TestHostSignalAtTheQuestion(t *testing.T) {
	e := fakeengine.Start(t, fakeengine.Options{Store: engine.GraphDriver})
	for _, name := range []string{"traefik:v3.1.2", "traefik:v3.1.0", "traefik:v3.0.4"} {
		e.Pull(name, fakeengine.Made(name))
	}
	ctx, end := context.WithCancelCause(t.Context())
	silent, answer := io.Pipe()
	defer func() { _ = answer.Close() }()
	var out, complaints bytes.Buffer
	code := cli.Main(ctx, cli.EbbHost(), cli.Process{
		Args: []string{"run", "--pin", "traefik:v3.1.2", "--min-age", "0s", "--state", t.TempDir(), "-H", e.Host()},
		In:   cli.Input{Reader: silent, Terminal: true}, Out: cli.Output{Writer: &out},
		Err: cli.Output{Terminal: true, Writer: writer(func(p []byte) (int, error) {
			if bytes.Contains(p, []byte("Type yes to delete: ")) {
				end(cli.Interrupted{Signal: syscall.SIGINT})
			}
			return complaints.Write(p)
		})},
		Env: func(string) (string, bool) { return "", false }, Now: time.Now,
	}, host.Group())
	if code != 130 || out.String() != "Nothing was deleted.\n" || !strings.HasSuffix(complaints.String(), "\nebb-host: stopped by signal: interrupt\n") {
		t.Errorf("exit code %d, showed %q, said %q", code, out.String(), complaints.String())
	}
	if len(e.Held()) != 3 {
		t.Error("something was deleted")
	}
}

type writer func([]byte) (int, error)

func (w writer) Write(p []byte) (int, error) { return w(p) }

// TestHostFlagTexts: each can be read alone, and says what there is.
func TestHostFlagTexts(t *testing.T) {
	for command, texts := range map[string][]string{
		"check": {
			"refuse to delete unless nothing was pulled or built for that long", "at once, the oldest versions first (default no limit)",
			"a file that lists images to pin, one a line", "more: what is kept, all rows of tables and all warnings",
		},
		"watch": {
			"how often a pass is tried again, before the next one is due (default 12)", "write metrics to FILE, for the textfile collector of",
		},
	} {
		_, out, _ := hostProgram(t, cli.EbbHost(), nil, command, "--help")
		for _, text := range texts {
			if !strings.Contains(strings.Join(strings.Fields(out), " "), text) {
				t.Errorf("the help of %s holds no %q:\n%s", command, text, out)
			}
		}
	}
}

// TestHostConfiguration: the same words in a file and in the environment, but
// for a person's word for one run.
func TestHostConfiguration(t *testing.T) {
	for _, test := range []struct {
		name string
		file string
		env  map[string]string
		want string
	}{
		{"a list", "pin:\n  - traefik:v3\n  - samba\n", nil, "host.yaml: line 2: pin: image name \"samba\": which version is meant?"},
		{"a number", "keep-newer: few\n", nil, "host.yaml: line 1: keep-newer: \"few\" is no number: want 3, or all"},
		{"a person's word", "yes: true\n", nil, "yes is a person's word for one run: give --yes on the command line"},
		{"a word for another group", "storage: /x\n", nil, "line 1: unknown key \"storage\""},
		{"a flag of a sibling is known", "every: 1h\nretries: 3\nnotify: true\nsince: 7d\nkeep-previous: x\n", nil, "line 5: keep-previous: \"x\" is no number: want 3"},
		{"the environment goes before", "max-deletes: 3\n", map[string]string{"EBB_MAX_DELETES": "many"}, "EBB_MAX_DELETES: \"many\" is no number: want 3, or none"},
		{"a list in the environment", "", map[string]string{"EBB_PIN": "traefik:v3,samba"}, "EBB_PIN: image name \"samba\""},
		{"a word in the environment", "", map[string]string{"EBB_CONFIRM": "box"}, "EBB_CONFIRM is a person's word for one run"},
	} {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "host.yaml")
			if err := os.WriteFile(path, []byte(test.file), 0o644); err != nil {
				t.Fatal(err)
			}
			code, _, err := hostProgram(t, cli.EbbHost(), test.env, "run", "--yes", "-c", path)
			if code != 2 || !strings.Contains(err, test.want) {
				t.Errorf("exit code %d, said %q, want %q", code, err, test.want)
			}
		})
	}
}
