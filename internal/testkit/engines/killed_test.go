package engines_test

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ebb-io/ebb/internal/engine"
	"github.com/ebb-io/ebb/internal/testkit/engines"
)

// toBeKilled is set for the test binary that is to be killed: to what the
// engine is.
const toBeKilled = "EBB_ENGINES_TO_BE_KILLED"

func TestAnEngineEndsWithAKilledTestBinary(t *testing.T) {
	for _, kind := range []engine.StoreKind{engine.GraphDriver, engine.Containerd} {
		t.Run(string(kind), func(t *testing.T) { killed(t, kind) })
	}
}

func killed(t *testing.T, kind engine.StoreKind) {
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestToBeKilled$", "-test.v")
	child.Env = append(os.Environ(), toBeKilled+"="+string(kind))
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	dir := engineOf(t, bufio.NewScanner(out))
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if running(t, dir) < 3 { // the engine, containerd and a container's shim
		t.Error("too little runs that names the engine's folder: this test can't see whether it ends")
	}
	_ = child.Process.Kill()
	_ = child.Wait() // it was killed
	for range 500 {
		if running(t, dir) == 0 {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if n := running(t, dir); n > 0 {
		t.Errorf("%d processes of the engine run still", n)
	}
	mounts, err := os.ReadFile("/proc/mounts")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(mounts), dir) {
		t.Errorf("mounts of the engine are left:\n%s", mounts)
	}
}

// TestToBeKilled starts an engine with a container, says where, and waits for
// its end.
func TestToBeKilled(t *testing.T) {
	kind := os.Getenv(toBeKilled)
	if kind == "" {
		return // it is a test only as another one's child
	}
	e := engines.Start(t, engine.StoreKind(kind))
	e.ImportSleeper(t, "example.org/sleep:1", "one")
	e.Run(t, "sleeper", "example.org/sleep:1")
	t.Logf("engine in %s.", filepath.Dir(e.Socket))
	time.Sleep(time.Hour)
}

func engineOf(t *testing.T, lines *bufio.Scanner) string {
	t.Helper()
	var said []string
	for lines.Scan() {
		if _, dir, found := strings.Cut(lines.Text(), "engine in "); found {
			return strings.TrimSuffix(dir, ".")
		}
		if _, why, found := strings.Cut(lines.Text(), "NOT TESTED"); found {
			t.Skip("NOT TESTED" + why)
		}
		said = append(said, lines.Text())
	}
	t.Fatalf("the other test binary starts no engine: %s", strings.Join(said, "\n"))
	return ""
}

// running counts the processes that have a folder in their command line.
func running(t *testing.T, dir string) int {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, file := range files {
		line, err := os.ReadFile(file)
		if err == nil && strings.Contains(string(line), dir+"/") { // what has ended meanwhile does not run
			n++
		}
	}
	return n
}
