package registry

import (
	"bytes"

	"github.com/ebb-io/ebb/internal/image"
	"github.com/ebb-io/ebb/internal/inventory"
)

// ManifestCache keeps manifests from one snapshot to the next. It is called
// from many goroutines.
type ManifestCache interface {
	// Get appends the manifest of a digest, size bytes long, to the buffer, and
	// tells whether it has it. A store checks what it gets.
	Get(d image.Digest, size int64, buffer []byte) ([]byte, bool)
	// Put keeps a manifest that matches its digest. The content is the store's
	// again when it returns.
	Put(d image.Digest, content []byte)
}

// WithCache is the same store with a cache, which may be nil. Snapshots then
// read only manifests that the cache lacks; whether a manifest is there, and how
// large it is, the storage alone tells. A manifest that was damaged since it
// was cached, its length unchanged, is not noticed: a verification wants a store
// without a cache.
func (s *Store) WithCache(cache ManifestCache) *Store {
	with := *s
	with.cache = cache
	return &with
}

// WithCache is the same store with a cache; see Store.WithCache.
func (w *Writable) WithCache(cache ManifestCache) *Writable {
	return &Writable{Store: w.Store.WithCache(cache), deleter: w.deleter}
}

// cachedManifest takes a manifest from the cache, and tells whether it was
// there. It trusts the cache as little as the storage.
func (s *scan) cachedManifest(id inventory.ID, row inventory.Content) (found bool) {
	if s.cache == nil || row.Size > manifestLimit {
		return false
	}
	s.small.with(func(buffer *bytes.Buffer) {
		buffer.Grow(int(row.Size))
		content, ok := s.cache.Get(row.Digest, row.Size, buffer.AvailableBuffer())
		if found = ok && int64(len(content)) == row.Size && row.Digest.Matches(content); found {
			s.progress.cached.Add(1)
			s.parseManifest(id, row.Digest, content)
		}
	})
	return found
}

// cacheManifest keeps a manifest that matches its digest. One whose length is
// not what the listing shows would never be found again.
func (s *scan) cacheManifest(row inventory.Content, content []byte) {
	if s.cache != nil && int64(len(content)) == row.Size {
		s.cache.Put(row.Digest, content)
	}
}
