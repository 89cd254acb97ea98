package engines

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/ebb-io/ebb/internal/testkit/engines"
)

// The lock keeps passes off, whoever holds it.
func TestALockKeepsARunOffARealEngine(t *testing.T) {
	engines.Each(t, func(t *testing.T, e *engines.Engine) {
		t.Run("hold, and its command when it is killed", func(t *testing.T) { held(t, e, newEbb(t, e)) })
		t.Run("hold ends as its command does", func(t *testing.T) { holdEnds(t, e, newEbb(t, e)) })
		t.Run("flock", func(t *testing.T) { flocked(t, e, newEbb(t, e)) })
	})
}

// sleeping is a command that writes its process number to a file, and lives.
const sleeping = `echo $$ >"$0.new" && mv "$0.new" "$0" && exec sleep 600`

func held(t *testing.T, e *engines.Engine, b ebb) {
	load(t, e, "example.org/held:1.0.0", "example.org/held:1.1.0", "example.org/held:1.2.0")
	args := []string{"run", "--yes", "--pin", "example.org/held:1.2.0", "--min-age", "0s"}
	file := filepath.Join(t.TempDir(), "pid")
	hold := b.command(t.Context(), t, "hold", "--", "sh", "-c", sleeping, file)
	if err := hold.Start(); err != nil {
		t.Fatal(err)
	}
	pid := started(t, file)
	t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGKILL) }) // it may have ended
	other := newEbb(t, e)                                        // a memory of its own is no other engine
	other.do(t, busy, args...).untouched(t, e)

	_ = hold.Process.Kill()
	_ = hold.Wait() // it was killed
	if err := syscall.Kill(pid, 0); err != nil {
		t.Fatalf("the command does not go on: %v", err)
	}
	b.do(t, busy, args...).untouched(t, e)
	whole(t, e, "example.org/held:1.0.0")
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	wait(t, "the lock", func() bool { return free(t, e) })
	b.do(t, done, args...).deleted(t, e, "example.org/held:1.0.0")
}

// started waits for a command's process number.
func started(t *testing.T, file string) (pid int) {
	t.Helper()
	wait(t, "the command", func() bool {
		data, err := os.ReadFile(file)
		if err != nil {
			return false
		}
		pid, err = strconv.Atoi(strings.TrimSpace(string(data)))
		return err == nil
	})
	return pid
}

// free tells whether nobody holds the lock, as util-linux knows it.
func free(t *testing.T, e *engines.Engine) bool {
	t.Helper()
	return exec.CommandContext(t.Context(), "flock", "--nonblock", lockPath(t, e), "true").Run() == nil
}

// holdEnds wants the exit code and the streams of the command, and that what it
// leaves behind does not keep the lock.
func holdEnds(t *testing.T, e *engines.Engine, b ebb) {
	var stdout bytes.Buffer
	file := filepath.Join(t.TempDir(), "pid")
	cmd := b.command(t.Context(), t, "hold", "--", "sh", "-c", `cat; sleep 600 >"$0.log" 2>&1 </dev/null & echo $! >"$0"; exit 7`, file)
	cmd.Stdin, cmd.Stdout = strings.NewReader("through"), &stdout
	if code := exitCode(t, cmd.Run()); code != 7 || stdout.String() != "through" {
		t.Errorf("it ended with %d and said %q", code, stdout.String())
	}
	left := started(t, file)
	t.Cleanup(func() { _ = syscall.Kill(left, syscall.SIGKILL) })
	if err := syscall.Kill(left, 0); err != nil {
		t.Errorf("what it left behind: %v", err)
	}
	if !free(t, e) {
		t.Error("the lock is held still")
	}
}

func flocked(t *testing.T, e *engines.Engine, b ebb) {
	if _, err := exec.LookPath("flock"); err != nil {
		t.Fatal("flock of util-linux is not installed")
	}
	load(t, e, "example.org/flock:1.0.0", "example.org/flock:1.1.0", "example.org/flock:1.2.0")
	args := []string{"run", "--yes", "--pin", "example.org/flock:1.2.0", "--min-age", "0s"}
	file := filepath.Join(t.TempDir(), "pid")
	lock := exec.CommandContext(t.Context(), "flock", "--no-fork", lockPath(t, e), "sh", "-c", sleeping, file)
	if err := lock.Start(); err != nil {
		t.Fatal(err)
	}
	started(t, file)
	b.do(t, busy, args...).untouched(t, e)
	whole(t, e, "example.org/flock:1.0.0")
	_ = lock.Process.Kill()
	_ = lock.Wait() // it was killed
	b.do(t, done, args...).deleted(t, e, "example.org/flock:1.0.0")
}
