package engines

import (
	"bytes"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// Registry serves images on loopback, where every engine pulls without TLS.
type Registry struct {
	Address string // host:port, the first part of every name in it

	held atomic.Pointer[Hold]
}

// Hold is a download that waits.
type Hold struct {
	Reached <-chan struct{} // closed when an engine asks for it
	Release func()          // lets it go on; may be called again

	reached, released chan struct{}
	reach             func()
}

// NewRegistry serves an empty registry until the test ends.
func NewRegistry(t testing.TB) *Registry {
	t.Helper()
	r := &Registry{}
	images := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		if hold := r.held.Load(); hold != nil && request.Method == http.MethodGet && strings.Contains(request.URL.Path, "/blobs/") {
			hold.wait(request.Context())
		}
		images.ServeHTTP(w, request)
	}))
	r.Address = strings.TrimPrefix(server.URL, "http://")
	t.Cleanup(server.Close)
	return r
}

// Push puts an image into the registry as repository:tag and returns its whole
// name, with the registry's address.
func (r *Registry) Push(t testing.TB, as string, img v1.Image) string {
	t.Helper()
	ref, err := name.ParseReference(r.Address + "/" + as)
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Write(ref, img, remote.WithContext(t.Context())); err != nil {
		t.Fatalf("push %s: %v", ref, err)
	}
	return ref.Name()
}

// Image makes an image for this machine with one file of this content. Other
// content is another image.
func Image(t testing.TB, content string) v1.Image {
	t.Helper()
	data := pack(t, map[string]string{"content": content})
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil })
	if err != nil {
		t.Fatal(err)
	}
	img, err := mutate.ConfigFile(empty.Image, &v1.ConfigFile{OS: "linux", Architecture: runtime.GOARCH})
	if err == nil {
		img, err = mutate.AppendLayers(img, layer)
	}
	if err != nil {
		t.Fatal(err)
	}
	return img
}
