package engines

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/moby/moby/client"

	"github.com/ebb-io/ebb/internal/reason"
	"github.com/ebb-io/ebb/internal/testkit/engines"
)

// The exit codes of docs/host.md.
const (
	done       = 0
	incomplete = 10
	busy       = 11
	stale      = 12
)

// soon is how long a test waits for what must come, on a machine that is busy.
const soon = time.Minute

// built is the folder with the real program, static as it is released. TestMain
// removes it.
var built = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "ebb-host")
	if err != nil {
		return "", err
	}
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", dir, "github.com/ebb-io/ebb/cmd/ebb-host")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=")
	if out, err := cmd.CombinedOutput(); err != nil {
		return dir, fmt.Errorf("build ebb-host: %w: %s", err, out)
	}
	return dir, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if dir, _ := built(); dir != "" {
		_ = os.RemoveAll(dir)
	}
	os.Exit(code)
}

// ebb is the real program on an engine, with a memory of its own.
type ebb struct {
	engine *engines.Engine
	host   string
	state  string
}

func newEbb(t testing.TB, e *engines.Engine) ebb {
	t.Helper()
	lock := lockPath(t, e)
	t.Cleanup(func() { _ = os.Remove(lock) }) // of an engine that will never run again
	return ebb{engine: e, host: e.Host(), state: t.TempDir()}
}

// lockPath is the file of the lock as docs/host.md tells it.
func lockPath(t testing.TB, e *engines.Engine) string {
	t.Helper()
	info, err := e.Client.Info(t.Context(), client.InfoOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return "/run/lock/ebb-" + strings.ReplaceAll(info.Info.ID, ":", "-") + ".lock"
}

// command is a call of the program.
func (b ebb) command(ctx context.Context, t testing.TB, args ...string) *exec.Cmd {
	t.Helper()
	dir, err := built()
	if err != nil {
		t.Fatal(err)
	}
	own := []string{args[0], "--host", b.host, "--state", b.state}
	cmd := exec.CommandContext(ctx, filepath.Join(dir, "ebb-host"), append(own, args[1:]...)...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + b.state}
	return cmd
}

// do runs the program to its end, which must be this one, and reads the
// document that it writes; none is the zero one.
func (b ebb) do(t *testing.T, code int, args ...string) document {
	t.Helper()
	return b.begin(t, args...).end(t, code)
}

// check and run are what a user does, with the pins and options of a case. A
// check changes nothing.
func (b ebb) check(t *testing.T, args ...string) document {
	t.Helper()
	d := b.do(t, done, append([]string{"check"}, args...)...)
	d.untouched(t, b.engine)
	return d
}

func (b ebb) run(t *testing.T, args ...string) document {
	t.Helper()
	return b.do(t, done, append([]string{"run", "--yes"}, args...)...)
}

// running is a program that has not ended.
type running struct {
	cmd            *exec.Cmd
	stdout, stderr bytes.Buffer
	before         census
}

func (b ebb) begin(t *testing.T, args ...string) *running {
	t.Helper()
	r := &running{cmd: b.command(t.Context(), t, append(args, "-o", "json")...), before: count(t, b.engine)}
	r.cmd.Stdout, r.cmd.Stderr = &r.stdout, &r.stderr
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *running) end(t *testing.T, code int) document {
	t.Helper()
	if got := exitCode(t, r.cmd.Wait()); got != code {
		t.Fatalf("%s ended with %d and not %d: %s%s", r.cmd, got, code, r.stderr.String(), r.stdout.String())
	}
	d := document{before: r.before}
	if r.stdout.Len() > 0 {
		if err := json.Unmarshal(r.stdout.Bytes(), &d); err != nil {
			t.Fatalf("%s: %v: %s", r.cmd, err, r.stdout.String())
		}
	}
	d.text, d.said = r.stdout.Bytes(), r.stderr.String()
	return d
}

// amid begins the program and does something else when the call that at picks
// comes to the engine, which then fails or goes on. No later call is picked.
func (b ebb) amid(t *testing.T, at func(*http.Request) bool, meanwhile func(*running) (fails bool), args ...string) *running {
	t.Helper()
	reached, fails := make(chan struct{}), make(chan bool)
	var picked atomic.Bool
	through := b
	through.host = "unix://" + b.engine.Proxy(t, func(r *http.Request) bool {
		if !at(r) || picked.Swap(true) {
			return false
		}
		close(reached)
		return <-fails
	})
	r := through.begin(t, args...)
	select {
	case <-reached:
	case <-time.After(soon):
		t.Fatalf("%s does not make the call", r.cmd)
	}
	fails <- meanwhile(r)
	return r
}

// deletion picks the nth deletion that is asked for.
func deletion(n int32) func(*http.Request) bool {
	var asked atomic.Int32
	return func(r *http.Request) bool { return r.Method == http.MethodDelete && asked.Add(1) == n }
}

func exitCode(t testing.TB, err error) int {
	t.Helper()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return done
	case errors.As(err, &exit):
		return exit.ExitCode()
	}
	t.Fatal(err)
	return -1
}

// document is what is read of a Plan or a Result.
type document struct {
	Kind  string
	Store struct {
		Engine string
	}
	Totals struct {
		Delete           int
		ReclaimableBytes int64
	}
	Decisions    []decision
	Repositories []struct {
		Repository string
		Previous   []string
		Skipped    *reason.Reason
	}
	Warnings []string
	Deleted  struct {
		Images, Names int
	}
	FreedBytes               int64
	MeasuredFreedBytes       int64
	Measured                 bool
	Failed, Refused, Skipped []struct {
		ID    string
		Error string
	}
	Stopped string

	text   []byte // as it was written
	said   string // on standard error
	before census // of the engine
}

type decision struct {
	Repository string
	ID         string
	Names      []string
	Decision   string
	Reasons    []reason.Reason
	Until      *time.Time
}

// goes are the names that the document deletes, in order; an image without a
// name is its ID.
func (d document) goes() []string {
	names := []string{}
	for _, one := range d.Decisions {
		if one.Decision == "Delete" {
			names = append(names, one.called()...)
		}
	}
	slices.Sort(names)
	return names
}

func (d decision) called() []string {
	if len(d.Names) == 0 {
		return []string{d.ID}
	}
	return d.Names
}

// of is what is said of the image with a name or an ID.
func (d document) of(t *testing.T, name string) decision {
	t.Helper()
	for _, one := range d.Decisions {
		if one.ID == name || slices.Contains(one.Names, name) {
			return one
		}
	}
	t.Fatalf("the document says nothing of %s: %s", name, d.text)
	return decision{}
}

// why are the words for an image, the strongest first.
func (d document) why(t *testing.T, name string) []reason.Code {
	t.Helper()
	var codes []reason.Code
	for _, r := range d.of(t, name).Reasons {
		codes = append(codes, r.Code)
	}
	return codes
}

// stays wants an image kept for this reason, among others.
func (d document) stays(t *testing.T, name string, why reason.Code) {
	t.Helper()
	if one := d.of(t, name); one.Decision != "Keep" || !slices.Contains(d.why(t, name), why) {
		t.Errorf("%s: %s because of %v, and not kept as %s", name, one.Decision, one.Reasons, why)
	}
}

// deletes wants exactly these names to go.
func (d document) deletes(t *testing.T, names ...string) {
	t.Helper()
	slices.Sort(names)
	if diff := cmp.Diff(append([]string{}, names...), d.goes()); diff != "" {
		t.Errorf("goes (-want +got):\n%s%s", diff, d.text)
	}
}

// deleted wants a run to have done all of its plan, and the engine to have all
// else that it had.
func (d document) deleted(t *testing.T, e *engines.Engine, names ...string) {
	t.Helper()
	d.deletes(t, names...)
	if len(d.Failed)+len(d.Refused)+len(d.Skipped) > 0 || d.Stopped != "" || d.Deleted.Images != d.Totals.Delete {
		t.Errorf("not all is done: %s", d.text)
	}
	if diff := cmp.Diff(d.before.without(names...), count(t, e)); diff != "" {
		t.Errorf("what is there (-want +got):\n%s", diff)
	}
}

// untouched wants all that was there before.
func (d document) untouched(t *testing.T, e *engines.Engine) {
	t.Helper()
	if diff := cmp.Diff(d.before, count(t, e)); diff != "" {
		t.Errorf("what is there (-before +after):\n%s", diff)
	}
}

// whole wants images to be there with all that they consist of.
func whole(t *testing.T, e *engines.Engine, names ...string) {
	t.Helper()
	for _, name := range names {
		if !e.Exists(t, name) {
			t.Errorf("%s is gone", name)
			continue
		}
		e.Validate(t, name)
	}
}

// load gives an engine images of these names: each has content of its own upon
// a layer that all share.
func load(t *testing.T, e *engines.Engine, names ...string) {
	t.Helper()
	for _, name := range names {
		e.Load(t, engines.Image(t, "base", name), name)
	}
}

// wait looks again and again until something is so.
func wait(t *testing.T, what string, so func() bool) {
	t.Helper()
	for end := time.Now().Add(soon); !so(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: it did not come", what)
		}
	}
}
