package registry

import (
	"slices"
	"sync"
	"sync/atomic"
)

// Progress counts what was seen so far. It may be read while a store works.
type Progress struct {
	Blobs        atomic.Int64
	Repositories atomic.Int64
	Manifests    atomic.Int64 // read so far
	Cached       atomic.Int64 // of those that were read, what the cache had
	ToRead       atomic.Int64 // manifests known to be read
	Bytes        atomic.Int64 // hashed by a deep verification
	Deleted      atomic.Int64 // items
}

// collector gathers what a walk's goroutines find.
type collector struct {
	mu    sync.Mutex
	names []string
}

func newCollector() *collector { return &collector{} }

func (c *collector) add(name string) { c.do(func() { c.names = append(c.names, name) }) }

func (c *collector) do(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f()
}

func (c *collector) sorted() []string {
	slices.Sort(c.names)
	return c.names
}
