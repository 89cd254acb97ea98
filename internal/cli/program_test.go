package cli_test

import (
	"bytes"
	"debug/elf"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/ebb-io/ebb/internal/cli"
)

// toolbox is a group with one command, which notes and fails.
func toolbox() cli.Group {
	return cli.Group{
		Command: func(a *cli.App) *cobra.Command {
			group := &cobra.Command{Use: "toolbox", Short: "Tools", Long: "All tools.", Example: a.Examples("toolbox", "fix --hard", "fix \\\n      --hard")}
			cli.Parent(group)
			fix := &cobra.Command{Use: "fix", Short: "Fix it", Example: a.Examples("toolbox", "fix"), Args: cli.NoArgs(), RunE: func(cmd *cobra.Command, _ []string) error {
				file, err := a.OpenConfig(cmd)
				if err != nil {
					return err
				}
				if err := a.Configure(cmd, file); err != nil {
					return err
				}
				a.Note("100%% of it with %s", a.Typed("toolbox"))
				return errors.New("broken")
			}}
			fix.Flags().Bool("hard", false, "with force")
			group.AddCommand(fix)
			return group
		},
		Code: func(error) (int, bool) { return 9, true },
	}
}

// inProcess runs a program in the process.
func inProcess(t *testing.T, p cli.Program, environment map[string]string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, err bytes.Buffer
	code = cli.Main(t.Context(), p, cli.Process{
		Args: args, In: cli.Input{Reader: strings.NewReader("")}, Out: cli.Output{Writer: &out}, Err: cli.Output{Writer: &err},
		Env: func(name string) (string, bool) { v, ok := environment[name]; return v, ok },
		Now: time.Now,
	}, toolbox())
	return code, out.String(), err.String()
}

// TestProgram: one group in two programs, each of which calls itself by its
// name wherever it speaks of itself.
func TestProgram(t *testing.T) {
	config := filepath.Join(t.TempDir(), "ebb.yaml")
	if err := os.WriteFile(config, []byte("hard: true\nsoft: true\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	whole := cli.Program{Name: "ebb", Short: "All.", Examples: "  ebb toolbox fix"}
	flat := cli.Program{Name: "ebb-tool", Short: "Tools alone.", Flat: true}
	for _, test := range []struct {
		name    string
		program cli.Program
		args    []string
		code    int
		out     string // the beginning of it
		err     string
	}{
		{"a note and an error", whole, []string{"toolbox", "fix"}, 9, "", "ebb: 100% of it with ebb toolbox\nebb: broken\n"},
		{"the same, flat", flat, []string{"fix"}, 9, "", "ebb-tool: 100% of it with ebb-tool\nebb-tool: broken\n"},
		{"a group that is not there", flat, []string{"toolbox"}, 2, "", "ebb-tool: unknown command \"toolbox\" for \"ebb-tool\" (see ebb-tool --help)\n"},
		{"a flag that is not there", flat, []string{"fix", "--x"}, 2, "", "ebb-tool: unknown flag: --x (see ebb-tool fix --help)\n"},
		{"the program's help", whole, nil, 0, "All.\n\nExamples:\n  ebb toolbox fix\n\nUsage:\n  ebb COMMAND\n", ""},
		{"the group's help", whole, []string{"toolbox"}, 0, "Tools\n\nExamples:\n  ebb toolbox fix --hard\n  ebb toolbox fix \\\n      --hard\n\nAll tools.\n", ""},
		{"both in one", flat, nil, 0, "Tools alone.\n\nExamples:\n  ebb-tool fix --hard\n  ebb-tool fix \\\n      --hard\n\nAll tools.\n\nUsage:\n  ebb-tool COMMAND\n", ""},
		{"version", flat, []string{"version"}, 0, "ebb-tool ", ""},
		{"version's help", flat, []string{"version", "--help"}, 0, "Show the program's version\n\nExamples:\n  ebb-tool version\n", ""},
		{"a configuration of the group", flat, []string{"fix", "-c", config}, 2, "", "ebb-tool: configuration " + config + ": line 2: unknown key \"soft\": keys are the names of flags, such as min-age\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			code, out, err := inProcess(t, test.program, nil, test.args...)
			if code != test.code || err != test.err || !strings.HasPrefix(out, test.out) || test.out == "" && out != "" {
				t.Errorf("exit code %d, want %d; said %q, want %q; showed\n%s\nwant\n%s", code, test.code, err, test.err, out, test.out)
			}
		})
	}
}

// heavy are modules that a small program for a host must not carry.
var heavy = []string{
	"k8s.io/", "sigs.k8s.io/controller-runtime", "github.com/aws/", "github.com/distribution/distribution/v3",
	"github.com/google/cel-go", "cel.dev/", "google.golang.org/grpc", "github.com/redis/", "github.com/containerd/containerd",
}

// TestHostProgramIsSmall: the linker drops what is not called, but what is not
// imported needs no linker.
func TestHostProgramIsSmall(t *testing.T) {
	list := exec.CommandContext(t.Context(), "go", "list", "-deps", "github.com/ebb-io/ebb/cmd/ebb-host")
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	packages := strings.Fields(string(out))
	if len(packages) < 100 {
		t.Fatalf("go list names only %d packages", len(packages))
	}
	for _, name := range packages {
		for _, module := range heavy {
			if strings.HasPrefix(name, module) {
				t.Errorf("ebb-host depends on %s", name)
			}
		}
	}
}

// TestHostProgramFits: as it is shipped, static and without symbols.
func TestHostProgramFits(t *testing.T) {
	const most = 15_000_000 // bytes
	path := filepath.Join(t.TempDir(), "ebb-host")
	build := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false", "-trimpath", "-ldflags", "-s -w", "-o", path, "github.com/ebb-io/ebb/cmd/ebb-host")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	program, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = program.Close() })
	if libraries, err := program.ImportedLibraries(); err == nil && len(libraries) > 0 {
		t.Errorf("it is not static: it wants %v", libraries)
	}
	if info, err := os.Stat(path); err != nil || info.Size() >= most {
		t.Errorf("%v, %v: want less than %d bytes", info, err, most)
	}
}
