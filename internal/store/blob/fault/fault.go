// Package fault wraps a blob driver and makes it fail where a test wants: the
// n-th read, one deletion, or everything from the n-th deletion on, as if the
// process were gone. It also counts what it is asked for.
//
// A test loops over n until a run passes without the fault:
//
//	for n := 1; ; n++ {
//		d := fault.New(world.Clone(), fault.FailRead(n))
//		…
//		if !d.Fired() {
//			break
//		}
//	}
//
// It never changes what the wrapped driver answers when it lets a call pass,
// and it has only the methods of what it wraps: a Reader cannot delete.
package fault

import (
	"errors"
	"slices"
	"sync"

	"github.com/ebb-io/ebb/internal/store/blob"
)

var (
	// ErrInjected is the failure of a single operation.
	ErrInjected = errors.New("injected failure")
	// ErrCrashed is what all operations yield after a crash.
	ErrCrashed = errors.New("crashed")
)

// Kind is what a read-side operation does.
type Kind string

// The kinds of operation that FailRead counts. A listing is a directory that a
// walk lists, its root included; a leaf is a file that blob.Only asks for.
const (
	Listing Kind = "list"
	Leaf    Kind = "leaf"
	Read    Kind = "read"
	Stat    Kind = "stat"
)

// Op is a read-side operation.
type Op struct {
	Kind Kind
	Path string // of a leaf, the file's
}

// Fault makes an operation fail.
type Fault func(*script)

// FailRead makes the n-th read-side operation fail, counted from 1 in the order
// of arrival. On mem that order is always the same; on a driver that walks in
// parallel, only how many there are is: FailReadWhere picks one by name.
func FailRead(n int) Fault { return func(s *script) { s.readAt = n } }

// FailReadWhere makes every read-side operation fail that match accepts.
func FailReadWhere(match func(Op) bool) Fault { return func(s *script) { s.readWhere = match } }

// FailDelete makes the deletion of the n-th path fail, counted from 1 in the
// contract's order within a batch. All else works. On a Mender a file that is
// put counts as well.
func FailDelete(n int) Fault { return func(s *script) { s.deleteAt = n } }

// FailDeleteWhere makes the deletion of every path fail that match accepts.
func FailDeleteWhere(match func(path string) bool) Fault {
	return func(s *script) { s.deleteWhere = match }
}

// CrashAtDelete lets n-1 paths be deleted. From then on nothing is done and
// everything yields ErrCrashed; locks stay behind without a holder. On a Mender
// a file that is put counts as well.
func CrashAtDelete(n int) Fault { return func(s *script) { s.crashAt = n } }

// Counts is how often a driver was asked.
type Counts struct {
	Walks, Listings, Leaves, Reads, Stats int
	DeleteCalls                           int
	DeletePaths                           int // in those calls, whatever came of them
	Puts                                  int
	Syncs, Beats                          int
}

// script is what shall go wrong, and what has happened so far.
type script struct {
	readAt, deleteAt, crashAt int // from 1; 0 is never
	readWhere                 func(Op) bool
	deleteWhere               func(string) bool

	mu      sync.Mutex
	fired   bool
	crashed bool
	writes  int // paths deleted one by one, and files put
	counts  Counts
	ops     []Op
	deleted []string
	locks   []blob.Lock
}

func newScript(faults []Fault) *script {
	s := &script{}
	for _, fault := range faults {
		fault(s)
	}
	return s
}

// read counts an operation and decides about it.
func (s *script) read(kind Kind, path string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.crashed {
		return ErrCrashed
	}
	op := Op{Kind: kind, Path: path}
	s.ops = append(s.ops, op)
	*s.counts.of(kind)++
	if len(s.ops) == s.readAt || s.readWhere != nil && s.readWhere(op) {
		s.fired = true
		return ErrInjected
	}
	return nil
}

func (c *Counts) of(kind Kind) *int {
	switch kind {
	case Listing:
		return &c.Listings
	case Leaf:
		return &c.Leaves
	case Read:
		return &c.Reads
	}
	return &c.Stats
}

// other counts an operation that no fault but a crash concerns.
func (s *script) other(count *int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.crashed {
		return ErrCrashed
	}
	*count++
	return nil
}

// Fired tells whether the fault has come about.
func (s *script) Fired() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fired
}

// Counts is what was asked so far. After a crash nothing is counted.
func (s *script) Counts() Counts {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counts
}

// Ops are the read-side operations so far, in the order of arrival.
func (s *script) Ops() []Op {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.ops)
}

// Deleted are the paths whose deletion succeeded, in order.
func (s *script) Deleted() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.deleted)
}
