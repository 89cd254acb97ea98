package registry

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Stage is what a store is doing.
type Stage int32

// The stages, in the order in which a command goes through them.
const (
	Listing   Stage = iota // objects
	Tags                   // reading what tags name
	Manifests              // reading manifests
	Links                  // verifying links
	Hashing                // verifying content: bytes
	Deleting               // items
)

// Progress is how far a store is. It may be read while the store works.
type Progress struct {
	stage       atomic.Int32
	began       atomic.Int64 // nanoseconds since 1970
	done, total atomic.Int64 // of the stage, in its unit

	repositories, bytes, cached atomic.Int64
}

// Look is a progress at one moment.
type Look struct {
	Stage        Stage
	Elapsed      time.Duration // in the stage
	Done         int64         // of the stage's unit
	Total        int64         // zero: not known
	Repositories int64         // found so far
	Bytes        int64         // of the blobs found so far
	Cached       int64         // of the manifests, those that no request was needed for
}

// Look tells how far the store is.
func (p *Progress) Look() Look {
	return Look{
		Stage: Stage(p.stage.Load()), Elapsed: time.Since(time.Unix(0, p.began.Load())), Done: p.done.Load(), Total: p.total.Load(),
		Repositories: p.repositories.Load(), Bytes: p.bytes.Load(), Cached: p.cached.Load(),
	}
}

// Restart forgets all: the same is about to be read again.
func (p *Progress) Restart() {
	p.begin(Listing, 0)
	p.repositories.Store(0)
	p.bytes.Store(0)
	p.cached.Store(0)
}

// Expect says how many items are about to be deleted.
func (p *Progress) Expect(items int64) { p.begin(Deleting, items) }

func (p *Progress) begin(stage Stage, total int64) {
	p.done.Store(0)
	p.total.Store(total)
	p.began.Store(time.Now().UnixNano())
	p.stage.Store(int32(stage))
}

// more says that the stage has grown by so much.
func (p *Progress) more(stage Stage, total int64) {
	if Stage(p.stage.Load()) != stage {
		p.begin(stage, 0)
	}
	p.total.Add(total)
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
