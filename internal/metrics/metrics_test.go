package metrics

import (
	"bytes"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"golang.org/x/sys/unix"

	"github.com/ebb-io/ebb/internal/reason"
	"github.com/ebb-io/ebb/internal/retention"
)

var at = time.Date(2026, 3, 1, 12, 0, 0, 500e6, time.UTC)

func because(code reason.Code) retention.Decision {
	return retention.Decision{Reasons: []reason.Reason{{Code: code}, {Code: reason.TooYoung}}}
}

func somePlan(repositories ...string) *retention.Plan {
	p := &retention.Plan{
		Decisions: []retention.Decision{
			because(reason.Pinned), because(reason.Pinned), because(reason.InUse),
			{Delete: true, Reasons: []reason.Reason{{Code: reason.OlderThanPrevious}}},
		},
		Totals: retention.Totals{Images: 4, Keep: 3, Delete: 1, Bytes: 400, ReclaimableBytes: 100},
	}
	for _, name := range repositories {
		p.Repositories = append(p.Repositories, retention.Repository{Name: name, Candidates: 2})
	}
	return p
}

func exposition(t *testing.T, m *Metrics) string {
	t.Helper()
	answer := httptest.NewRecorder()
	m.Handler().ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	text := regexp.MustCompile(`(?m)^#.*\n`).ReplaceAllString(answer.Body.String(), "")
	return regexp.MustCompile(`goversion="[^"]*"`).ReplaceAllString(text, `goversion=""`)
}

func TestObserve(t *testing.T) {
	m := New("1.2.3")
	m.Observe(somePlan("docker.io/library/traefik", "gone"), 1, 100, -5, Partial, at.Add(-time.Hour), time.Second)
	m.Observe(somePlan("docker.io/library/traefik"), 2, 200, 150, Done, at, 1500*time.Millisecond)
	m.Observe(nil, 0, 0, 70, Failed, at.Add(time.Minute), 0)
	want := `ebb_build_info{goversion="",version="1.2.3"} 1
ebb_host_candidates{repository="docker.io/library/traefik"} 2
ebb_host_deleted_images_total 3
ebb_host_freed_bytes_total 300
ebb_host_images 4
ebb_host_images_bytes 400
ebb_host_images_kept{reason="InUse"} 1
ebb_host_images_kept{reason="Pinned"} 2
ebb_host_last_pass_deleted_images 0
ebb_host_last_pass_duration_seconds 0
ebb_host_last_pass_freed_bytes 0
ebb_host_last_pass_timestamp_seconds{outcome="done"} 1.7723664005e+09
ebb_host_last_pass_timestamp_seconds{outcome="failed"} 1.7723664605e+09
ebb_host_last_pass_timestamp_seconds{outcome="partial"} 1.7723628005e+09
ebb_host_last_success_timestamp_seconds 1.7723664005e+09
ebb_host_measured_freed_bytes_total 150
ebb_host_passes_total{outcome="done"} 1
ebb_host_passes_total{outcome="failed"} 1
ebb_host_passes_total{outcome="partial"} 1
ebb_host_passes_total{outcome="refused"} 0
ebb_host_reclaimable_bytes 100
`
	if diff := cmp.Diff(want, exposition(t, m)); diff != "" {
		t.Error(diff)
	}
}

// TestOnePass: what a program that makes one pass and ends has to say.
func TestOnePass(t *testing.T) {
	m := New("1")
	if strings.Contains(exposition(t, m), "last_success") {
		t.Error("there was no success in 1970")
	}
	m.Observe(somePlan(), 2, 200, 150, Refused, at, time.Second)
	text := exposition(t, m)
	if strings.Contains(text, "last_success") || !strings.Contains(text, "\nebb_host_last_pass_deleted_images 2\n") || !strings.Contains(text, "\nebb_host_last_pass_freed_bytes 200\n") {
		t.Error(text)
	}
}

// TestTwoDoNotMeet: no registry is shared.
func TestTwoDoNotMeet(t *testing.T) {
	a, b := New("1"), New("1")
	a.Observe(nil, 1, 1, 1, Done, at, 0)
	if strings.Contains(exposition(t, b), "deleted_images_total 1") {
		t.Error("one counts for the other")
	}
}

// TestEscapes: a repository's name can't break the format, whatever is in it.
func TestEscapes(t *testing.T) {
	m := New("1")
	m.Observe(somePlan("a\"b\\c\nd\xff"), 0, 0, 0, Done, at, 0)
	want := `ebb_host_candidates{repository="a\"b\\c\nd�"} 2` + "\n"
	if text := exposition(t, m); !strings.Contains(text, want) {
		t.Errorf("%s: want %s", text, want)
	}
}

func TestNames(t *testing.T) {
	m := New("1")
	m.Observe(somePlan("r"), 1, 1, 1, Done, at, time.Second)
	problems, err := promlint.New(bytes.NewReader(m.text())).Lint()
	if err != nil || len(problems) > 0 {
		t.Errorf("%v, %v", problems, err)
	}
}

func TestWriteTextfile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "ebb.prom")
	m := New("1")
	for range 2 {
		m.Observe(somePlan("r"), 1, 1, 1, Done, at, time.Second)
		if err := m.WriteTextfile(path); err != nil {
			t.Fatal(err)
		}
	}
	content, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(content), "\nebb_host_deleted_images_total 2\n") {
		t.Errorf("%s, %v", content, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode() != 0o644 {
		t.Errorf("%v, %v: the node exporter must be able to read it", info, err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("%v, %v: something is left over", left, err)
	}
	if err := m.WriteTextfile(filepath.Join(dir, "none", "x.prom")); err == nil {
		t.Error("no folder is no error")
	}
}

// TestWriteTextfileReplacesAFileAlone: as root it could replace /dev/null.
func TestWriteTextfileReplacesAFileAlone(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, err := range []error{
		unix.Mkfifo(at("pipe"), 0o600), os.Mkdir(at("folder"), 0o700), os.Symlink("pipe", at("to a pipe")),
		os.Symlink("round", at("about")), os.Symlink("about", at("round")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"pipe", "folder", "to a pipe", "round"} {
		before, err := os.Lstat(at(name))
		if err != nil {
			t.Fatal(err)
		}
		for what, err := range map[string]error{"check": CheckTextfile(at(name)), "write": New("1").WriteTextfile(at(name))} {
			if !errors.Is(err, ErrNoFile) {
				t.Errorf("%s of %s: %v", what, name, err)
			}
		}
		if after, err := os.Lstat(at(name)); err != nil || !os.SameFile(before, after) {
			t.Errorf("%s was replaced: %v", name, err)
		}
	}
	if err := CheckTextfile(os.DevNull); !errors.Is(err, ErrNoFile) { // a write that fails to see it would break the machine
		t.Errorf("a device: %v", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 5 {
		t.Errorf("%v, %v: something is left over", left, err)
	}
	for what, path := range map[string]string{"what is not there": at("none"), "what can not be there": filepath.Join(at("none"), "x")} {
		if err := CheckTextfile(path); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestWriteTextfileBehindALink: the link stays, and leads to the metrics.
func TestWriteTextfileBehindALink(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	t.Chdir(dir)
	link, file := filepath.Join("folder", "ebb.prom"), filepath.Join(other, "deep", "target.prom")
	for _, err := range []error{
		os.MkdirAll(filepath.Join(other, "deep", "below"), 0o700), os.Symlink(filepath.Join(other, "deep", "below"), filepath.Join(dir, "folder")),
		os.Symlink("../target.prom", link), // from where the folder leads
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, what := range []string{"to nothing yet", "to a file"} {
		if err := New("1").WriteTextfile(link); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
			t.Errorf("%s: %v, %v", what, entries, err)
		}
		if got, err := target(link); err != nil || got != file {
			t.Errorf("%s: written beside %s, %v", what, got, err)
		}
		if info, err := os.Lstat(file); err != nil || !info.Mode().IsRegular() {
			t.Errorf("%s: %v, %v", what, info, err)
		}
		if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
			t.Errorf("%s: the link is gone: %v, %v", what, info, err)
		}
	}
}
