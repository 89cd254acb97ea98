package engines

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

const packages = "apt-get install --no-install-recommends docker.io containerd runc podman gcc libc6-dev pkg-config"

// need skips the test, or fails it on continuous integration, where an engine
// can't be started.
func need(t testing.TB, programs ...string) {
	t.Helper()
	missing := ""
	for _, program := range programs {
		if _, err := exec.LookPath(program); err != nil {
			missing = program + " is not installed: " + packages
		}
	}
	switch {
	case runtime.GOOS != "linux":
		missing = "a Docker engine needs Linux"
	case os.Getuid() != 0:
		missing = "a Docker engine needs root"
	}
	switch {
	case missing == "":
		return
	case os.Getenv("CI") != "":
		t.Fatal("continuous integration needs a real Docker engine: " + missing)
	}
	t.Skip("NOT TESTED: this needs a real Docker engine: " + missing)
}

// build has the go command build a program of the folder tools/NAME, or find it
// where it lies built.
func build(t testing.TB, name string, env ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "tool", "-n", name)
	cmd.Dir = filepath.Join(top(t), "tools", name)
	cmd.Env = append(os.Environ(), env...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("build %s: %v: %s", name, err, stderr.String())
	}
	return strings.TrimSpace(string(out))
}

func top(t testing.TB) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		t.Fatalf("find the top of the repository: %v", err)
	}
	return strings.TrimSpace(string(out))
}
