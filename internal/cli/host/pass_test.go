package host

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	app "github.com/ebb-io/ebb/internal/app/host"
	"github.com/ebb-io/ebb/internal/cli"
	"github.com/ebb-io/ebb/internal/engine"
	execute "github.com/ebb-io/ebb/internal/execute/host"
	"github.com/ebb-io/ebb/internal/image"
	"github.com/ebb-io/ebb/internal/journal"
	"github.com/ebb-io/ebb/internal/metrics"
	"github.com/ebb-io/ebb/internal/pin"
	"github.com/ebb-io/ebb/internal/policy"
	"github.com/ebb-io/ebb/internal/reason"
	"github.com/ebb-io/ebb/internal/retention"
	"github.com/ebb-io/ebb/internal/store/docker"
)

var now = time.Date(2026, 12, 1, 3, 30, 0, 0, time.UTC)

func digest(digit string) image.Digest {
	d, err := image.ParseDigest("sha256:" + strings.Repeat(digit, 64))
	if err != nil {
		panic(err)
	}
	return d
}

func named(text string) image.Name {
	n, err := image.ParseName(text)
	if err != nil {
		panic(err)
	}
	return n
}

const traefik, samba = "docker.io/library/traefik", "ghcr.io/example/samba"

// planned is a plan over two repositories, one of which is left alone.
func planned() *retention.Plan {
	old := &engine.Image{ID: digest("1"), Names: []image.Name{named("traefik:v3.0.4")}, Digests: []image.Name{named("traefik@" + digest("1").String())}, Size: 100}
	pinned := &engine.Image{ID: digest("2"), Names: []image.Name{named("traefik:v3.1.2")}, Size: 100}
	lost := &engine.Image{ID: digest("3"), Size: 50}
	return &retention.Plan{
		Now: now, Policy: policy.DefaultHost(), Engine: engine.Engine{ID: "E", Name: "box", Store: engine.GraphDriver},
		Decisions: []retention.Decision{
			{Image: old, Repository: traefik, Delete: true, Reasons: []reason.Reason{{Code: reason.OlderThanPrevious}}},
			{Image: pinned, Repository: traefik, Reasons: []reason.Reason{{Code: reason.Pinned}}},
			{Image: lost, Repository: samba, Reasons: []reason.Reason{{Code: reason.PinMissing}}},
		},
		Repositories: []retention.Repository{
			{Name: traefik, Pins: []pin.Pin{{Name: named("traefik:v3.1.2")}, {Name: named("traefik@" + digest("9").String())}}, Previous: []image.Name{named("traefik:v3.1.0")}, Images: 2, Candidates: 1, Delete: 1, Bytes: 100},
			{Name: samba, Images: 1, Skipped: &reason.Reason{Code: reason.PinMissing, Detail: "samba:1 is not present"}},
		},
		Totals: retention.Totals{Images: 3, Keep: 2, Delete: 1, Bytes: 250, ReclaimableBytes: 100},
	}
}

func done() *app.Result {
	return &app.Result{
		Pass: &app.Pass{Plan: planned(), Snapshot: &engine.Snapshot{}, Pins: pin.Set{Warnings: []pin.Warning{"a warning"}}}, Approved: true,
		Outcome:   execute.Outcome{Deleted: []execute.Deletion{{Step: retention.Step{ID: digest("1"), Repository: traefik, Names: []image.Name{named("traefik:v3.0.4")}, Bytes: 100}}}, FreedBytes: 100},
		StartedAt: now, FinishedAt: now.Add(1500 * time.Millisecond), MeasuredFreedBytes: 96, Measured: true,
	}
}

// watching is a watch whose streams are kept.
func watching(flags watchFlags) (w *watch, stdout, stderr *bytes.Buffer) {
	stdout, stderr = &bytes.Buffer{}, &bytes.Buffer{}
	a := &cli.App{Program: cli.EbbHost(), Process: cli.Process{
		Out: cli.Output{Writer: stdout}, Err: cli.Output{Writer: stderr}, Now: func() time.Time { return now },
	}}
	return &watch{job: &job{App: a}, flags: &flags, notifyFor: time.Minute, log: newLog(a), metrics: metrics.New("test")}, stdout, stderr
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestPassIsTold(t *testing.T) {
	for _, test := range []struct {
		name   string
		result *app.Result
		err    error
		next   time.Time
		want   string
	}{
		{
			"done", done(), nil, now.Add(6 * time.Hour),
			"time=2026-12-01T03:30:00.000Z level=WARN msg=\"a warning\"\n" +
				"time=2026-12-01T03:30:00.000Z level=INFO msg=repository repository=traefik images=2 pins=v3.1.2,sha256:999999999999 previous=v3.1.0 candidates=1 deleted=1 kept=1 bytes=100\n" +
				"time=2026-12-01T03:30:00.000Z level=INFO msg=repository repository=ghcr.io/example/samba images=1 pins=\"\" previous=\"\" candidates=0 deleted=0 kept=1 bytes=0 skipped=PinMissing why=\"samba:1 is not present\"\n" +
				"time=2026-12-01T03:30:00.000Z level=INFO msg=pass outcome=done images=3 deleted=1 failed=0 refused=0 changed=0 bytes=100 measured=96 took=1.5s next=2026-12-01T09:30:00Z\n",
		},
		{
			"not begun", &app.Result{Pass: &app.Pass{Plan: &retention.Plan{}}, StartedAt: now, FinishedAt: now}, app.ErrBusy,
			time.Time{},
			"time=2026-12-01T03:30:00.000Z level=ERROR msg=pass outcome=refused images=0 deleted=0 failed=0 refused=0 changed=0 bytes=0 measured=0 took=0s error=" + quoted(app.ErrBusy) + "\n",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			w, _, stderr := watching(watchFlags{})
			w.tell(test.result, outcome(test.result, test.err), test.err, test.next)
			if stderr.String() != test.want {
				t.Errorf("told\n%s\nwant\n%s", stderr, test.want)
			}
		})
	}
}

func quoted(err error) string {
	if strings.ContainsAny(err.Error(), " =\"") {
		return `"` + err.Error() + `"`
	}
	return err.Error()
}

func TestHowAPassEnded(t *testing.T) {
	broken := errors.New("broken")
	failed := done()
	failed.Outcome.Failed = []execute.Failure{{Why: broken}}
	first := done()
	first.Outcome = execute.Outcome{Failed: failed.Outcome.Failed}
	cut := done()
	cut.Plan.Decisions[1].Postponed = true
	moved := done()
	moved.Outcome.Moved = []execute.Failure{{Why: errors.New("moved")}}
	for _, test := range []struct {
		name   string
		result *app.Result
		err    error
		want   string
	}{
		{"all is well", done(), nil, metrics.Done},
		{"one failed after others went", failed, broken, metrics.Partial},
		{"the first one failed", first, broken, metrics.Failed},
		{"the engine shows too little for the first one", first, docker.ErrIncomplete, metrics.Failed},
		{"as many as it may delete", cut, nil, metrics.Partial},
		{"the view is not whole", done(), docker.ErrIncomplete, metrics.Refused},
		{"the engine is away", done(), docker.ErrAway, metrics.Failed},
		{"some changed meanwhile", moved, nil, metrics.Partial},
		{"busy", done(), app.ErrBusy, metrics.Refused},
		{"over a limit", done(), app.ErrLimit, metrics.Refused},
		{"anything else", done(), broken, metrics.Failed},
	} {
		if got := passed(test.result, test.err); got != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
}

func TestNotification(t *testing.T) {
	file := filepath.Join(t.TempDir(), "got")
	w, stdout, stderr := watching(watchFlags{notify: "cat > " + file + "; echo noise"})
	ended, cancel := context.WithCancel(t.Context())
	cancel() // a watch that is about to end still tells of its last pass
	w.notify(ended, []byte(`{"kind": "Result"}`))
	if got, err := os.ReadFile(file); err != nil || string(got) != `{"kind": "Result"}` {
		t.Errorf("it got %q, %v", got, err)
	}
	if stdout.Len() > 0 || stderr.String() != "noise\n" {
		t.Errorf("wrote %q and %q, want its noise on standard error alone", stdout, stderr)
	}
	w, _, stderr = watching(watchFlags{notify: "exit 3"})
	w.notify(t.Context(), nil)
	if want := "level=WARN msg=\"the notification failed\" command=\"exit 3\" error=\"exit status 3\"\n"; !strings.HasSuffix(stderr.String(), want) {
		t.Errorf("said %q, want %q", stderr, want)
	}
}

// TestNotificationThatHangs is ended with all that it started.
func TestNotificationThatHangs(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pid")
	w, _, stderr := watching(watchFlags{notify: "sleep 600 & echo $! > " + file + "; wait"})
	w.notifyFor = 500 * time.Millisecond
	w.notify(t.Context(), nil)
	if !strings.Contains(stderr.String(), "the notification failed") {
		t.Errorf("said %q", stderr)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(readFile(t, file)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGKILL) })
	for deadline := time.Now().Add(5 * time.Second); lives(pid); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("what it started lives on")
		}
	}
}

// lives tells whether a process runs, and is not only waited for.
func lives(pid int) bool {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.Contains(string(status), ") Z ")
}

func TestMetricsFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ebb.prom")
	w, _, stderr := watching(watchFlags{textfile: file})
	w.observe(done(), outcome(done(), nil), nil)
	text, err := os.ReadFile(file)
	if err != nil || !strings.Contains(string(text), "ebb_") || stderr.Len() > 0 {
		t.Errorf("%v, said %q:\n%s", err, stderr, text)
	}
	w, _, stderr = watching(watchFlags{textfile: filepath.Join(file, "below.prom")})
	w.observe(done(), outcome(done(), nil), nil)
	if !strings.Contains(stderr.String(), "metrics are not written") {
		t.Errorf("said %q", stderr)
	}
}

// TestWatchEnds: a service manager's word is no failure, a person's interrupt is
// told as everywhere.
func TestWatchEnds(t *testing.T) {
	broken := errors.New("broken")
	for _, test := range []struct {
		name  string
		cause error
		want  error
	}{
		{"SIGTERM", cli.Interrupted{Signal: syscall.SIGTERM}, nil},
		{"SIGINT", cli.Interrupted{Signal: syscall.SIGINT}, cli.Interrupted{Signal: syscall.SIGINT}},
		{"another end", broken, broken},
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(test.cause)
		if got := asked(ctx); !errors.Is(got, test.want) {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
}

func TestFind(t *testing.T) {
	p := planned()
	for _, test := range []struct {
		name, query string
		want        string // the digits of the images
	}{
		{"a tag", "traefik:v3.0.4", "1"},
		{"a name in full", "docker.io/library/traefik:v3.0.4", "1"},
		{"a digest", "traefik@" + digest("1").String(), "1"},
		{"a tag that is not there", "traefik:v9", ""},
		{"a repository", "traefik", "12"},
		{"a repository whose image has no name", "ghcr.io/example/samba", "3"},
		{"an ID", digest("2").String(), "2"},
		{"the beginning of an ID", "sha256:22222222", "2"},
		{"without its algorithm", "22222222", "2"},
		{"too little of an ID", "2222222", ""},
		{"nothing that is a name", "<none>", ""},
	} {
		got := ""
		for _, d := range find(p, test.query) {
			got += d.Image.ID.Hex()[:1]
		}
		if got != test.want {
			t.Errorf("%s: found %q, want %q", test.name, got, test.want)
		}
	}
	if err := errNoImage(&app.Pass{Plan: p}, "traefic:v3.1.2"); err.Error() != `engine box holds no image "traefic:v3.1.2", did you mean traefik:v3.1.2 or traefik:v3.0.4?` {
		t.Error(err)
	}
}

// TestWhatEbbDeleted: an image that is gone is known by what it went by.
func TestWhatEbbDeleted(t *testing.T) {
	gone := func(digit, name string, at time.Time, digests ...string) journal.Deletion {
		return journal.Deletion{At: at, ID: digest(digit), Names: []string{name}, Digests: digests, Reasons: []string{"OlderThanPrevious"}}
	}
	pullable := traefik + "@" + digest("5").String()
	doubtful := gone("6", "docker.io/library/traefik:v2.9.0", now, traefik+"@"+digest("6").String())
	doubtful.InDoubt = true
	p := &app.Pass{Plan: planned(), Record: journal.Record{Deletions: []journal.Deletion{
		gone("4", "docker.io/library/traefik:v2.11.0", now.Add(-time.Hour)), gone("5", "docker.io/library/traefik:v2.11.0", now, pullable), doubtful,
	}}}
	const missing = "engine box holds no image "
	lately := ": Ebb deleted it 2026-12-01 03:30 UTC (OlderThanPrevious): docker pull traefik@" + digest("5").String()
	for _, test := range []struct{ name, query, want string }{
		{"the last one of a tag", "traefik:v2.11.0", lately},
		{"a digest", pullable, lately},
		{"the beginning of an ID", "44444444", ": Ebb deleted it 2026-12-01 02:30 UTC (OlderThanPrevious): no digest, it can't be pulled again"},
		{"too little of an ID", "4444444", ""},
		{"in doubt", "traefik:v2.9.0", ": Ebb deleted it 2026-12-01 03:30 UTC (OlderThanPrevious): docker pull traefik@" + digest("6").String() + ", but it may be in no registry"},
		{"another tag", "nginx:1", ""},
	} {
		want := missing + `"` + test.query + `"` + test.want
		if got := errNoImage(p, test.query).Error(); got != want {
			t.Errorf("%s: %s\nwant %s", test.name, got, want)
		}
	}
}
