// Package mem keeps blobs in memory, as an object store does: there are only
// keys, and directories are what their slashes suggest. It stands in for every
// other driver in tests and in the demo.
//
// It has no real directories, so it never reports an empty one, and it refuses
// to keep anything beyond the life of the process.
package mem

import (
	"bytes"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ebb-io/ebb/internal/store/blob"
)

// Capacity is the room of an empty store, in bytes.
const Capacity = 1 << 40

// Store is a storage in memory. It is safe for concurrent use.
type Store struct {
	now func() time.Time

	mu      sync.Mutex
	objects map[string]*object // by key
	keys    []string           // of files, sorted, never changed in place; nil when out of date
	used    int64              // bytes
	holders map[string]*lock   // by the lock file's key
}

// object never changes: clones share it.
type object struct {
	data    []byte
	modTime time.Time
}

var (
	_ blob.Reader  = (*Store)(nil)
	_ blob.Deleter = (*Store)(nil)
	_ blob.Volume  = (*Store)(nil)
	_ blob.Locker  = (*Store)(nil)
)

// New returns an empty store. Its clock, which only locks are stamped with,
// is the system's.
func New() *Store { return NewWithClock(time.Now) }

// NewWithClock returns an empty store whose locks are stamped by now.
func NewWithClock(now func() time.Time) *Store {
	return &Store{now: now, objects: map[string]*object{}, keys: []string{}, holders: map[string]*lock{}}
}

// Put makes or replaces an object. A key that ends in a slash is a marker as
// some tools leave: it is no file and no walk shows it. The data is copied.
func (s *Store) Put(path string, data []byte, modTime time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.put(path, &object{data: bytes.Clone(data), modTime: modTime.UTC()})
}

func (s *Store) put(path string, o *object) {
	old, replaced := s.objects[path]
	if replaced {
		s.used -= int64(len(old.data))
	} else if !marker(path) {
		s.keys = nil
	}
	s.used += int64(len(o.data))
	s.objects[path] = o
}

// Clone returns a store with the same content, which from then on goes its own
// way. Nobody holds the clone's locks: their files are left, as after a crash.
func (s *Store) Clone() *Store {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &Store{
		now:     s.now,
		objects: maps.Clone(s.objects),
		keys:    s.sorted(),
		used:    s.used,
		holders: map[string]*lock{},
	}
}

// Paths are all keys, sorted, markers included.
func (s *Store) Paths() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.objects))
}

func marker(path string) bool { return path == "" || strings.HasSuffix(path, "/") }

// sorted are the keys that are files. The caller holds the lock.
func (s *Store) sorted() []string {
	if s.keys != nil {
		return s.keys
	}
	keys := make([]string, 0, len(s.objects))
	for key := range s.objects {
		if !marker(key) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	s.keys = keys
	return keys
}

// ReadOnly is a view of a store that cannot change it.
type ReadOnly struct{ reader }

// reader hides the store's other methods from whoever holds a view.
type reader interface{ blob.Reader }

// ReadOnly returns a view that only reads. It shows later changes too.
func (s *Store) ReadOnly() ReadOnly { return ReadOnly{s} }
