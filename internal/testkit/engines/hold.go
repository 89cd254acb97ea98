package engines

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// Hold is a download that waits.
type Hold struct {
	Reached <-chan struct{} // closed when an engine asks for it
	Release func()          // lets it go on; may be called again

	blobs             []v1.Hash
	reached, released chan struct{}
	reach             func()
}

// Hold makes downloads of these blobs wait, or of all if none is named, so that
// a pull is under way until Release, or the end of the test.
func (r *Registry) Hold(t testing.TB, blobs ...v1.Hash) *Hold {
	t.Helper()
	h := &Hold{blobs: blobs, reached: make(chan struct{}), released: make(chan struct{})}
	h.Reached, h.Release = h.reached, sync.OnceFunc(func() { close(h.released) })
	h.reach = sync.OnceFunc(func() { close(h.reached) })
	r.held.Store(h)
	t.Cleanup(h.Release)
	return h
}

func (h *Hold) concerns(r *http.Request) bool {
	_, blob, found := strings.Cut(r.URL.Path, "/blobs/")
	named := slices.ContainsFunc(h.blobs, func(b v1.Hash) bool { return b.String() == blob })
	return found && r.Method == http.MethodGet && (named || len(h.blobs) == 0)
}

func (h *Hold) wait(ctx context.Context) {
	h.reach()
	select {
	case <-h.released:
	case <-ctx.Done():
	}
}
