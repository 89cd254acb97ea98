// Package packaging_test proves that the examples are what they claim to be.
package packaging_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/ebb-io/ebb/internal/source/pins"
)

// units are copies of the units that start a program which is here.
func units(t *testing.T) string {
	t.Helper()
	paths, err := filepath.Glob("systemd/*")
	if err != nil || len(paths) != 3 {
		t.Fatalf("units %v, %v", paths, err)
	}
	dir := t.TempDir()
	for _, path := range paths {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		content = bytes.ReplaceAll(content, []byte("/usr/local/bin/ebb-host"), []byte("/bin/true"))
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(path)), content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func analyze(t *testing.T, args ...string) string {
	t.Helper()
	program, err := exec.LookPath("systemd-analyze")
	switch {
	case err == nil:
	case os.Getenv("CI") != "":
		t.Fatal("continuous integration needs systemd-analyze (Debian: apt-get install systemd)")
	default:
		t.Skip("NOT TESTED: systemd-analyze is not installed (Debian: apt-get install systemd)")
	}
	output, err := exec.Command(program, args...).CombinedOutput()
	if err != nil {
		t.Errorf("systemd-analyze %s: %v\n%s", strings.Join(args, " "), err, output)
	}
	return string(output)
}

func TestUnits(t *testing.T) {
	dir := units(t)
	for _, name := range []string{"ebb-host.service", "ebb-host-run.service", "ebb-host-run.timer"} {
		output := analyze(t, "verify", "--man=no", "--recursive-errors=no", filepath.Join(dir, name))
		if strings.Contains(output, dir) || strings.Contains(output, "Unknown") {
			t.Errorf("%s: %s", name, output)
		}
	}
}

// TestUnitsAreHardened: systemd's own score of exposure, of which 0 is none.
func TestUnitsAreHardened(t *testing.T) {
	dir := units(t)
	for _, name := range []string{"ebb-host.service", "ebb-host-run.service"} {
		analyze(t, "security", "--offline=yes", "--no-pager", "--threshold=25", filepath.Join(dir, name))
	}
}

// TestServicesAreHardenedAlike: the two services differ in what they start,
// and in nothing that holds them.
func TestServicesAreHardenedAlike(t *testing.T) {
	var held []string
	for _, name := range []string{"ebb-host.service", "ebb-host-run.service"} {
		content, err := os.ReadFile("systemd/" + name)
		if err != nil {
			t.Fatal(err)
		}
		_, after, ok := strings.Cut(string(content), "StateDirectory=ebb\n")
		if !ok {
			t.Fatalf("%s has no state", name)
		}
		after, _, _ = strings.Cut(after, "\n[Install]")
		held = append(held, strings.TrimSpace(after))
	}
	if held[0] != held[1] {
		t.Error("the services are not held alike")
	}
}

func TestComposeFile(t *testing.T) {
	set, err := pins.Compose(pins.Stack{Files: []string{"docker/compose.yaml"}})
	if err != nil || len(set.Pins) != 1 || set.Pins[0].Familiar() != "ebb-host:dev" || len(set.Skipped) > 0 {
		t.Errorf("%+v, %v", set, err)
	}
}

func TestPinsFile(t *testing.T) {
	set, err := pins.File("pins.txt")
	if err != nil || len(set.Pins) != 3 {
		t.Errorf("%+v, %v", set, err)
	}
}

func TestConfiguration(t *testing.T) {
	content, err := os.ReadFile("host.yaml")
	if err != nil {
		t.Fatal(err)
	}
	whole := strings.NewReplacer("\n# pin", "\npin", "\n# compose", "\ncompose", "\n# keep", "\nkeep", "\n# require", "\nrequire", "\n# max", "\nmax").Replace(string(content))
	for _, text := range []string{string(content), whole} {
		var keys map[string]any
		if err := yaml.Unmarshal([]byte(text), &keys); err != nil || len(keys) < 4 {
			t.Errorf("%v, %v", keys, err)
		}
	}
}

// TestWatchEndsForGood: what starting again would not mend is not started again.
// The commands' own tests hold when these codes are.
func TestWatchEndsForGood(t *testing.T) {
	unit, err := os.ReadFile("systemd/ebb-host.service")
	if err != nil || !strings.Contains(string(unit), "\nRestart=on-failure\n") || !strings.Contains(string(unit), "\nRestartPreventExitStatus=2 10\n") {
		t.Errorf("%v\n%s", err, unit)
	}
}

// TestBinaryIsIgnored: what the Dockerfile wants beside it is built there, and
// is nobody's to commit.
func TestBinaryIsIgnored(t *testing.T) {
	dockerfile, err := os.ReadFile("docker/Dockerfile")
	if err != nil || !strings.Contains(string(dockerfile), "-o packaging/docker/ebb-host ") {
		t.Fatalf("%v\n%s", err, dockerfile)
	}
	ignored, err := os.ReadFile("../.gitignore")
	if err != nil || !strings.Contains(string(ignored), "\n/packaging/docker/ebb-host\n") {
		t.Errorf("%v\n%s", err, ignored)
	}
}
