package engines

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
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
	host  string
	state string
}

func newEbb(t testing.TB, e *engines.Engine) ebb {
	t.Helper()
	lock := lockPath(t, e)
	t.Cleanup(func() { _ = os.Remove(lock) }) // of an engine that will never run again
	return ebb{host: e.Host(), state: t.TempDir()}
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
	var stdout, stderr bytes.Buffer
	cmd := b.command(t.Context(), t, append(args, "-o", "json")...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if got := exitCode(t, cmd.Run()); got != code {
		t.Fatalf("ebb-host %s ended with %d and not %d: %s%s", strings.Join(args, " "), got, code, stderr.String(), stdout.String())
	}
	var d document
	if stdout.Len() > 0 {
		if err := json.Unmarshal(stdout.Bytes(), &d); err != nil {
			t.Fatalf("ebb-host %s: %v: %s", strings.Join(args, " "), err, stdout.String())
		}
	}
	d.text, d.said = stdout.Bytes(), stderr.String()
	return d
}

// check and run are what a user does, with the pins and options of a case.
func (b ebb) check(t *testing.T, args ...string) document {
	t.Helper()
	return b.do(t, done, append([]string{"check"}, args...)...)
}

func (b ebb) run(t *testing.T, args ...string) document {
	t.Helper()
	return b.do(t, done, append([]string{"run", "--yes"}, args...)...)
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

	text []byte // as it was written
	said string // on standard error
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

// deleted wants a run to have done all of its plan, and the engine to agree.
func (d document) deleted(t *testing.T, e *engines.Engine, names ...string) {
	t.Helper()
	d.deletes(t, names...)
	if len(d.Failed)+len(d.Refused)+len(d.Skipped) > 0 || d.Stopped != "" || d.Deleted.Images != d.Totals.Delete {
		t.Errorf("not all is done: %s", d.text)
	}
	for _, name := range names {
		if e.Exists(t, name) {
			t.Errorf("%s is still there", name)
		}
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
