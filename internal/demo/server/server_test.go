package server_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/sirupsen/logrus"

	"github.com/ebb-io/ebb/internal/demo/server"
	"github.com/ebb-io/ebb/internal/demo/server/client"
)

func start(t testing.TB, dir string, options server.Options) *server.Server {
	t.Helper()
	s, err := server.Start(t.Context(), dir, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func push(t *testing.T, s *server.Server, repo, tag string) string {
	t.Helper()
	image, err := random.Image(512, 2)
	if err != nil {
		t.Fatal(err)
	}
	digest, err := client.Client{Host: s.Addr()}.PushImage(t.Context(), repo, tag, image)
	if err != nil {
		t.Fatal(err)
	}
	return digest
}

func status(t *testing.T, method, url string) int {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Close = true // a connection to an earlier registry on this port is of no use
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	return response.StatusCode
}

func TestModes(t *testing.T) {
	dir := t.TempDir()
	writable := start(t, dir, server.Options{})
	digest := push(t, writable, "a/b", "v1")
	manifest := "/v2/a/b/manifests/" + digest
	if got := status(t, http.MethodDelete, writable.URL()+manifest); got != http.StatusMethodNotAllowed {
		t.Errorf("delete without Delete: status %d, want 405", got)
	}
	if got := status(t, http.MethodPost, writable.URL()+"/v2/a/b/blobs/uploads/"); got != http.StatusAccepted {
		t.Errorf("upload: status %d, want 202", got)
	}
	addr := writable.Addr()
	if err := writable.Close(); err != nil {
		t.Fatal(err)
	}

	readOnly := start(t, dir, server.Options{ReadOnly: true, Addr: addr})
	if readOnly.Addr() != addr {
		t.Errorf("address is %s, want %s", readOnly.Addr(), addr)
	}
	if got := status(t, http.MethodPost, readOnly.URL()+"/v2/a/b/blobs/uploads/"); got != http.StatusMethodNotAllowed {
		t.Errorf("upload to a read-only registry: status %d, want 405", got)
	}
	if err := (client.Client{Host: addr}).PullWhole(t.Context(), "a/b", "v1"); err != nil {
		t.Errorf("pull from a read-only registry: %v", err)
	}

	deleting := start(t, dir, server.Options{Delete: true})
	if got := status(t, http.MethodDelete, deleting.URL()+manifest); got != http.StatusAccepted {
		t.Errorf("delete: status %d, want 202", got)
	}
}

func TestManyAtOnceAndQuiet(t *testing.T) {
	said := logged(t, func() {
		for range 5 {
			s := start(t, t.TempDir(), server.Options{})
			digest := push(t, s, "apps/web", "v1")
			if err := (client.Client{Host: s.Addr()}).PullWhole(t.Context(), "apps/web", digest); err != nil {
				t.Error(err)
			}
			status(t, http.MethodGet, s.URL()+"/v2/apps/web/manifests/absent")
		}
	})
	if said != "" {
		t.Errorf("the registry logged:\n%s", said)
	}
}

// logged is what f makes the library log.
func logged(t *testing.T, f func()) string {
	t.Helper()
	file, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	// The library's own logger was given the real standard error at its start.
	logger := logrus.StandardLogger()
	before := logger.Out
	logger.SetOutput(file)
	defer logger.SetOutput(before)
	f()
	raw, err := os.ReadFile(file.Name())
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func TestClose(t *testing.T) {
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	time.Sleep(20 * time.Millisecond) // for what earlier tests leave to end
	before := runtime.NumGoroutine()
	s := start(t, t.TempDir(), server.Options{})
	push(t, s, "a", "v1")
	handler, url := s.Handler(), s.URL()
	for range 2 {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if answers(url) {
		t.Error("it answers after Close")
	}
	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/v2/", http.NoBody))
	if answer.Code != http.StatusServiceUnavailable {
		t.Errorf("handler after Close: status %d, want 503", answer.Code)
	}
	// The library's event broadcaster is never stopped: one goroutine a server.
	if after := settled(before + 1); after > before+1 {
		t.Errorf("%d goroutines are left behind, want at most 1\n%s", after-before, stacks())
	}
}

func TestContextEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s, err := server.Start(ctx, t.TempDir(), server.Options{})
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	for range 1000 {
		if !answers(s.URL()) {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Error("it answers although its context ended")
}

func answers(url string) bool {
	response, err := http.Get(url + "/v2/")
	if err != nil {
		return false
	}
	_ = response.Body.Close()
	return true
}

func TestHandler(t *testing.T) {
	s := start(t, t.TempDir(), server.Options{})
	answer := httptest.NewRecorder()
	s.Handler().ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/v2/", http.NoBody))
	if answer.Code != http.StatusOK || answer.Header().Get("Docker-Distribution-API-Version") != "registry/2.0" {
		t.Errorf("answer is %d %v, want a registry's", answer.Code, answer.Header())
	}
}

func TestStartFails(t *testing.T) {
	if _, err := server.Start(t.Context(), t.TempDir(), server.Options{Addr: "nowhere"}); err == nil {
		t.Error("an address that can't be listened on is no error")
	}
}

func BenchmarkStartClose(b *testing.B) {
	dir := b.TempDir()
	for b.Loop() {
		s, err := server.Start(b.Context(), dir, server.Options{})
		if err != nil {
			b.Fatal(err)
		}
		_ = s.Close()
	}
}

// settled waits a second at most until no more than want goroutines run.
func settled(want int) int {
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	for range 100 {
		if runtime.NumGoroutine() <= want {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	return runtime.NumGoroutine()
}

func stacks() string {
	buffer := make([]byte, 1<<20)
	return strings.TrimSpace(string(buffer[:runtime.Stack(buffer, true)]))
}
