package host

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	app "github.com/ebb-io/ebb/internal/app/host"
	"github.com/ebb-io/ebb/internal/cli"
	"github.com/ebb-io/ebb/internal/report"
)

// TestEngineIsAway: the pass is told like any other, and tried again.
func TestEngineIsAway(t *testing.T) {
	got := filepath.Join(t.TempDir(), "got")
	w, stdout, stderr := watching(watchFlags{notify: "cat > " + got})
	w.Env = func(string) (string, bool) { return "", false }
	w.Common.Output = cli.JSON
	w.where = engineFlags{host: "unix://" + filepath.Join(t.TempDir(), "none.sock"), state: t.TempDir()}
	w.schedule = app.Schedule{Every: time.Hour, RetryEvery: time.Minute, Retries: 1}
	if wait := w.pass(t.Context()); wait != time.Minute {
		t.Errorf("it is tried again in %s", wait)
	}
	if !strings.Contains(stderr.String(), "level=ERROR msg=pass outcome=failed images=0 deleted=0") || !strings.Contains(stderr.String(), "none.sock") {
		t.Errorf("told %q", stderr)
	}
	if next := "next=" + now.Add(time.Minute).Format(time.RFC3339); !strings.Contains(stderr.String(), next) {
		t.Errorf("told %q, want %s", stderr, next)
	}
	if strings.Count(stdout.String(), "\n") != 1 {
		t.Fatalf("want a result in one line, got %q", stdout)
	}
	var result report.HostResult
	if err := json.Unmarshal(stdout.Bytes(), &result); err != nil {
		t.Fatal(err)
	}
	if result.Kind.Kind != "Result" || !strings.Contains(result.Stopped, "none.sock") || result.Decisions == nil {
		t.Errorf("the result is %s", stdout)
	}
	if data := readFile(t, got); data+"\n" != stdout.String() {
		t.Errorf("the command got %q", data)
	}
}

// TestLastPass: a watch that ends knows of no next one.
func TestLastPass(t *testing.T) {
	w, _, stderr := watching(watchFlags{})
	w.where = engineFlags{host: "unix://" + filepath.Join(t.TempDir(), "none.sock"), state: t.TempDir()}
	w.Env = func(string) (string, bool) { return "", false }
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w.pass(ctx)
	if !strings.Contains(stderr.String(), "msg=pass") || strings.Contains(stderr.String(), "next=") {
		t.Errorf("told %q", stderr)
	}
}

func TestMetricsAreServed(t *testing.T) {
	w, _, stderr := watching(watchFlags{address: "127.0.0.1:0"})
	stop, err := w.serve()
	if err != nil {
		t.Fatal(err)
	}
	w.observe(done(), outcome(done(), nil), nil)
	_, address, _ := strings.Cut(strings.TrimSpace(stderr.String()), "address=")
	response, err := http.Get("http://" + address + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(response.Body)
	_ = response.Body.Close()
	if err != nil || response.StatusCode != http.StatusOK || !strings.Contains(string(text), "\nebb_host_deleted_images_total 1\n") {
		t.Errorf("%s, %v:\n%s", response.Status, err, text)
	}
	stop()
	if response, err := http.Get("http://" + address + "/metrics"); err == nil {
		_ = response.Body.Close()
		t.Error("it serves on")
	}
}
