package engines

import (
	"context"
	"sync"
	"testing"
)

// Hold makes every download of a blob wait, so that a pull is under way until
// Release, or the end of the test.
func (r *Registry) Hold(t testing.TB) *Hold {
	t.Helper()
	h := &Hold{reached: make(chan struct{}), released: make(chan struct{})}
	h.Reached, h.Release = h.reached, sync.OnceFunc(func() { close(h.released) })
	h.reach = sync.OnceFunc(func() { close(h.reached) })
	r.held.Store(h)
	t.Cleanup(h.Release)
	return h
}

func (h *Hold) wait(ctx context.Context) {
	h.reach()
	select {
	case <-h.released:
	case <-ctx.Done():
	}
}
