package engines

import (
	"fmt"
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
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// Registry serves images on loopback, where every engine pulls without TLS.
type Registry struct {
	Address string // host:port, the first part of every name in it

	held atomic.Pointer[Hold]
}

// NewRegistry serves an empty registry until the test ends.
func NewRegistry(t testing.TB) *Registry {
	t.Helper()
	r := &Registry{}
	images := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		if hold := r.held.Load(); hold != nil && hold.concerns(request) {
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

// Image makes an image for this machine with a layer for each content. Other
// contents are another image; a layer of the same content at the same place is
// the same.
func Image(t testing.TB, contents ...string) v1.Image {
	t.Helper()
	img, err := mutate.ConfigFile(empty.Image, &v1.ConfigFile{OS: "linux", Architecture: runtime.GOARCH, RootFS: v1.RootFS{Type: "layers"}})
	for n, content := range contents {
		if err == nil {
			data := pack(t, map[string]string{fmt.Sprintf("content%d", n): content})
			img, err = mutate.AppendLayers(img, static.NewLayer(data, types.DockerUncompressedLayer))
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return img
}
