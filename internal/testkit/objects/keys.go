package objects

import (
	"crypto/md5"
	"iter"
	"slices"
	"sync"
	"time"
)

// Object is an object as a listing shows it.
type Object struct {
	Key      string
	Size     int64     // bytes
	Modified time.Time // left out of a listing if zero
	ETag     string    // without quotes
}

// Keys are the objects of a bucket in the order of their keys' bytes.
type Keys interface {
	// From are the objects whose key is from or comes after it.
	From(from string) iter.Seq[Object]
}

// shelf keeps objects in memory.
type shelf struct {
	mutex   sync.RWMutex
	objects map[string]object
	sorted  []string // never changed in place; may hold keys that are gone
	added   []string // keys that sorted may lack
}

type object struct {
	Object
	data []byte
	hash [md5.Size]byte
	meta map[string]string // headers that the object was put with
}

func newShelf() *shelf { return &shelf{objects: map[string]object{}} }

func (s *shelf) get(key string) (object, bool) {
	s.mutex.RLock()
	defer s.mutex.RUnlock()
	o, ok := s.objects[key]
	return o, ok
}

// put asks may, under the lock, whether what is there may be replaced.
func (s *shelf) put(o object, may func(old object, exists bool) error) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	old, exists := s.objects[o.Key]
	if err := may(old, exists); err != nil {
		return err
	}
	s.objects[o.Key] = o
	if !exists {
		s.added = append(s.added, o.Key)
	}
	return nil
}

func (s *shelf) remove(keys ...string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for _, key := range keys {
		delete(s.objects, key)
	}
}

// From shows the objects that are there at the time when each is reached.
func (s *shelf) From(from string) iter.Seq[Object] {
	return func(yield func(Object) bool) {
		keys := s.keys()
		first, _ := slices.BinarySearch(keys, from)
		for _, key := range keys[first:] {
			if o, ok := s.get(key); ok && !yield(o.Object) {
				return
			}
		}
	}
}

func (s *shelf) keys() []string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if len(s.added) > 0 {
		merged := slices.Concat(s.sorted, s.added)
		slices.Sort(merged)
		s.sorted, s.added = slices.Compact(merged), nil
	}
	return s.sorted
}
