package engines

import (
	"bufio"
	"io"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/ebb-io/ebb/internal/testkit/engines"
)

// A watch makes a pass at its start, tells of each repository, outlives an
// engine that is away, and ends as a service manager asks.
func TestAWatchOverARealEngine(t *testing.T) {
	engines.Each(t, func(t *testing.T, e *engines.Engine) {
		b := newEbb(t, e)
		load(t, e, "example.org/a:1.0.0", "example.org/a:1.1.0", "example.org/a:1.2.0", "example.org/b:1.0.0")
		w := watchOver(t, b, "--pin", "example.org/a:1.2.0", "--pin", "example.org/b:1.0.0", "--min-age", "0s",
			"--every", "200ms", "--retry-every", "100ms", "--retries", "1000000")
		first := w.pass(t, `outcome=done`)
		a, other := line(t, first, "repository=example.org/a "), line(t, first, "repository=example.org/b ")
		if len(first) != 3 || !strings.Contains(a, " deleted=1 kept=2 ") || !strings.Contains(other, " deleted=0 kept=1 ") {
			t.Errorf("the first pass: %q", first)
		}
		if e.Exists(t, "example.org/a:1.0.0") {
			t.Error("the first pass is over and the oldest version is there")
		}

		e.Kill()
		w.pass(t, `level=ERROR`)
		e.Restart(t)
		w.pass(t, `outcome=done`)
		load(t, e, "example.org/a:1.0.0")
		w.pass(t, ` deleted=1 `)
		whole(t, e, "example.org/a:1.1.0", "example.org/a:1.2.0", "example.org/b:1.0.0")
		if err := w.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		for range w.lines { // to its end
		}
		if code := exitCode(t, w.cmd.Wait()); code != done {
			t.Errorf("it ended with %d", code)
		}
	})
}

// watching is a watch that runs.
type watching struct {
	cmd   *exec.Cmd
	lines chan string
}

func watchOver(t *testing.T, b ebb, args ...string) *watching {
	t.Helper()
	w := &watching{cmd: b.command(t.Context(), t, append([]string{"watch"}, args...)...), lines: make(chan string)}
	read, err := w.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := w.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var over sync.WaitGroup
	over.Go(func() { w.read(read) })
	t.Cleanup(func() {
		_ = w.cmd.Process.Kill() // it may have ended
		for range w.lines {
		}
		over.Wait()
	})
	return w
}

func (w *watching) read(from io.Reader) {
	defer close(w.lines)
	for lines := bufio.NewScanner(from); lines.Scan(); {
		w.lines <- lines.Text()
	}
}

// pass waits for a pass whose last line has this in it, and returns its lines.
func (w *watching) pass(t *testing.T, want string) []string {
	t.Helper()
	var lines, all []string
	for l := range w.lines {
		lines, all = append(lines, l), append(all, l)
		if !strings.Contains(l, " msg=pass ") {
			continue
		}
		if strings.Contains(l, want) {
			return lines
		}
		lines = nil
	}
	t.Fatalf("the watch ended before a pass with %q: %s", want, strings.Join(all, "\n"))
	return nil
}

func line(t *testing.T, lines []string, want string) string {
	t.Helper()
	for _, l := range lines {
		if strings.Contains(l, want) {
			return l
		}
	}
	t.Fatalf("no line with %q: %q", want, lines)
	return ""
}
