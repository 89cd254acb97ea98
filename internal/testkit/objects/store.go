package objects

import (
	"strings"
	"time"
)

// Store writes straight into the bucket, without a request, and with time
// stamps as told; zero is none at all. Everything lies below root, which is a
// folder or empty. It may be used as a world's store and as a fixture's, by
// many goroutines at once.
func (f *Fake) Store(root string) Shelf {
	if root != "" {
		root = strings.Trim(root, "/") + "/"
	}
	return Shelf{backend: f.backend, root: root}
}

// Shelf is where a fake keeps its objects.
type Shelf struct {
	backend *backend
	root    string
}

// Put writes an object. It makes no directories: S3 has none.
func (s Shelf) Put(path string, data []byte, modTime time.Time) error {
	if strings.HasSuffix(path, "/") {
		return nil
	}
	return s.backend.put(s.root+path, data, modTime, nil, func(object, bool) error { return nil })
}

// Remove removes an object, or all below a path with a slash at its end.
func (s Shelf) Remove(path string) error {
	key := s.root + path
	if !strings.HasSuffix(path, "/") {
		s.backend.shelf.remove(key)
		return nil
	}
	for o := range s.backend.shelf.From(key) {
		if !strings.HasPrefix(o.Key, key) {
			return nil
		}
		s.backend.shelf.remove(o.Key)
	}
	return nil
}
