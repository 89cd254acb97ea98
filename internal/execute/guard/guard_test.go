package guard_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ebb-io/ebb/internal/demo/server"
	"github.com/ebb-io/ebb/internal/execute/guard"
	"github.com/ebb-io/ebb/internal/testkit/world"
)

// stored is a registry's folder with one image.
func stored(t *testing.T, content string) (dir string, known guard.Known) {
	t.Helper()
	dir = t.TempDir()
	w := world.New(world.Folder(dir))
	image := w.Image("apps/web", world.Layers(w.Layer(content)), world.Tag("v1"))
	return dir, guard.Known{Repository: "apps/web", Digest: image.Digest}
}

func serve(t *testing.T, dir string, options server.Options) string {
	t.Helper()
	s, err := server.Start(t.Context(), dir, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s.URL()
}

func prove(t *testing.T, url string, known guard.Known) error {
	t.Helper()
	g, err := guard.New(url)
	if err != nil {
		t.Fatal(err)
	}
	return g.Prove(t.Context(), known)
}

func TestReadOnlyRegistryIsProven(t *testing.T) {
	dir, known := stored(t, "layer")
	url := serve(t, dir, server.Options{ReadOnly: true})
	before := files(t, dir)
	if err := prove(t, url, known); err != nil {
		t.Error(err)
	}
	g, err := guard.New(url)
	if err != nil {
		t.Fatal(err)
	}
	if err := g.ProveReadOnly(t.Context(), "not/there"); err != nil {
		t.Error(err)
	}
	if after := files(t, dir); before != after {
		t.Errorf("the probe wrote:\n%s\n%s", before, after)
	}
}

func TestWritableRegistryIsRefused(t *testing.T) {
	dir, known := stored(t, "layer")
	before := files(t, dir)
	err := prove(t, serve(t, dir, server.Options{}), known)
	if !errors.Is(err, guard.ErrWritable) {
		t.Errorf("a registry that takes writes: %v", err)
	}
	if after := files(t, dir); before != after {
		t.Errorf("the probe wrote:\n%s\n%s", before, after)
	}
}

func TestAnotherStorageIsRefused(t *testing.T) {
	dir, _ := stored(t, "layer")
	_, elsewhere := stored(t, "another layer")
	err := prove(t, serve(t, dir, server.Options{ReadOnly: true}), elsewhere)
	if !errors.Is(err, guard.ErrUnproven) || !strings.Contains(err.Error(), "another registry") {
		t.Errorf("a registry of another storage: %v", err)
	}
}

func TestUnreachableRegistryIsRefused(t *testing.T) {
	s := httptest.NewServer(http.NotFoundHandler())
	s.Close()
	if err := prove(t, s.URL, guard.Known{Repository: "a", Digest: world.Digest("x")}); !errors.Is(err, guard.ErrUnproven) {
		t.Errorf("nobody answers: %v", err)
	}
}

// answers is a server that answers /v2/ and manifests as it is told.
func answers(t *testing.T, digest string, put int) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/v2/":
			w.WriteHeader(http.StatusOK)
		case r.Method == http.MethodHead:
			w.Header().Set("Docker-Content-Digest", digest)
		case r.Method == http.MethodPut:
			w.WriteHeader(put)
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func TestOnly405Proves(t *testing.T) {
	known := guard.Known{Repository: "apps/web", Digest: world.Digest("x")}
	for status, want := range map[int]error{
		http.StatusOK:                  guard.ErrWritable,
		http.StatusCreated:             guard.ErrWritable,
		http.StatusFound:               guard.ErrWritable,
		http.StatusBadRequest:          guard.ErrWritable,
		http.StatusUnauthorized:        guard.ErrUnproven,
		http.StatusForbidden:           guard.ErrUnproven,
		http.StatusNotFound:            guard.ErrUnproven,
		http.StatusMethodNotAllowed:    nil,
		http.StatusTooManyRequests:     guard.ErrUnproven,
		http.StatusInternalServerError: guard.ErrUnproven,
		http.StatusServiceUnavailable:  guard.ErrUnproven,
	} {
		err := prove(t, answers(t, known.Digest, status), known)
		if !errors.Is(err, want) || (want == nil) != (err == nil) {
			t.Errorf("a write is answered with %d: %v, want %v", status, err, want)
		}
	}
}

func TestNoRegistryIsRefused(t *testing.T) {
	s := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(s.Close)
	err := prove(t, s.URL, guard.Known{Repository: "a", Digest: world.Digest("x")})
	if !errors.Is(err, guard.ErrUnproven) {
		t.Errorf("a web server that is no registry: %v", err)
	}
}

func TestAddresses(t *testing.T) {
	for _, address := range []string{"https://user:secret@host", "https://host?x", "https://host#x", "", "registry.example.org", "ftp://host", "https://", "https://host/path", "http://a b"} {
		if _, err := guard.New(address); err == nil {
			t.Errorf("%q is taken for a registry's address", address)
		}
	}
	for _, address := range []string{"http://localhost:5000", "https://registry.example.org", "https://host/v2/", "https://[::1]:5000"} {
		if _, err := guard.New(address); err != nil {
			t.Error(err)
		}
	}
}

func TestEndedContext(t *testing.T) {
	dir, known := stored(t, "layer")
	g, err := guard.New(serve(t, dir, server.Options{ReadOnly: true}))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := g.Prove(ctx, known); !errors.Is(err, context.Canceled) {
		t.Errorf("a context that has ended: %v", err)
	}
}

// files lists all paths below dir.
func files(t *testing.T, dir string) string {
	t.Helper()
	var all []string
	err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		all = append(all, path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(all, "\n")
}

// An address that is refused is named without what may be a secret.
func TestAddressesAreNamedWithoutSecrets(t *testing.T) {
	for _, address := range []string{
		"ftp://user:hunter2@host", "https://user:hunter2@host", "https://user:hunter2@host:port", "user:hunter2@host",
		"https://host?token=hunter2", "https://host/path?token=hunter2", "https://host#hunter2", "https://u:p@hunter2@host/path",
	} {
		_, err := guard.New(address)
		if err == nil || strings.Contains(err.Error(), "hunter2") || !strings.Contains(err.Error(), "host") {
			t.Errorf("%s: %v", address, err)
		}
	}
}
