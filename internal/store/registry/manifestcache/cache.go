// Package manifestcache keeps manifests that were read before in a folder of
// this machine: a digest names its content for ever, so one that is kept need
// not be fetched again from a storage where each read is a request.
//
// It is safe to delete at any time, and safe with many processes at once. What
// it hands out matches its digest; all else (a damaged, foreign or unreadable
// file, a full disk) is a miss and never an error of the work at hand. It
// refuses to say what a storage holds: a manifest in it may be gone from every
// storage.
//
// Manifests lie in packs, files that never change once they have their name. A
// pack is written under a temporary name, found again by a small index at its
// end, and removed as a whole when others were used since and room is short.
package manifestcache

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ebb-io/ebb/internal/image"
)

// DefaultLimit is how much room a cache takes on the disk unless told
// otherwise, in bytes: about a million manifests.
const DefaultLimit = 512 << 20

const (
	// share is how many full packs a cache consists of at its limit. More of
	// them lose less when a process is killed; each costs an open file and a
	// look at its index.
	share = 32
	// mostFiles is how many files there may be whatever their size, as each is
	// kept open.
	mostFiles = 128
	// largest is the largest manifest that is kept, in bytes: the largest that
	// a registry takes.
	largest = 4 << 20
)

// DefaultDir is the folder for the caches of the person who runs Ebb.
func DefaultDir() (string, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("manifest cache: %w", err)
	}
	return filepath.Join(dir, "ebb", "manifests"), nil
}

// Cache is an open cache. It may be used from many goroutines. A nil cache
// holds nothing and keeps nothing.
type Cache struct {
	root  *os.Root
	limit int64 // bytes
	codec codec

	recent atomic.Int64 // where the pack stands that answered last

	mu      sync.RWMutex
	packs   []*pack
	writing *writer // nil until something is put
	failed  error   // what stopped the writing
	closed  bool
}

// Open opens the cache in a folder, which is made if it is not there. The
// limit is in bytes. An error means that there is no cache to be had, which is
// worth a warning and nothing more: the nil cache that comes with it works.
func Open(dir string, limit int64) (*Cache, error) {
	codec, err := newCodec()
	if err != nil {
		return nil, fmt.Errorf("manifest cache: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("manifest cache: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("manifest cache: %w", err)
	}
	c := &Cache{root: root, limit: limit, codec: codec}
	files, err := c.list()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("manifest cache %s: %w", dir, err), root.Close())
	}
	c.openPacks(files)
	return c, nil
}

// Get finds the manifest of a digest that is size bytes long and appends it to
// the buffer. What it returns matches the digest.
func (c *Cache) Get(d image.Digest, size int64, buffer []byte) ([]byte, bool) {
	if c == nil || size > largest {
		return nil, false
	}
	key := keyOf(d)
	c.mu.RLock()
	defer c.mu.RUnlock()
	if c.writing != nil {
		if s, ok := c.writing.rows[key]; ok {
			content, ok := c.load(c.writing.file, s, d, buffer)
			return content, ok && int64(len(content)) == size
		}
	}
	first := int(c.recent.Load())
	for i := range c.packs {
		at := (first + i) % len(c.packs)
		if content, ok := c.search(c.packs[at], key, d, buffer); ok {
			c.recent.Store(int64(at))
			return content, int64(len(content)) == size
		}
	}
	return nil, false
}

// search looks into one pack. A manifest that is not what its place promises
// condemns the pack: it goes when the cache is closed, and what it held is read
// anew by and by.
func (c *Cache) search(p *pack, key key, d image.Digest, buffer []byte) ([]byte, bool) {
	s, ok := p.find(key)
	if !ok {
		return nil, false
	}
	content, ok := c.load(p.file, s, d, buffer)
	if !ok {
		p.broken.Store(true)
		return nil, false
	}
	c.touch(p)
	return content, true
}

// touch gives a pack that is used the time of its use, once, so that it
// outlives those that are not. That it can not is no matter.
func (c *Cache) touch(p *pack) {
	if p.used.CompareAndSwap(false, true) {
		now := time.Now()
		_ = c.root.Chtimes(p.name, now, now)
	}
}

// Put keeps a manifest, whose content the caller has found to match its digest.
func (c *Cache) Put(d image.Digest, content []byte) {
	if c == nil || len(content) > largest {
		return
	}
	packed := c.codec.encode(content)
	defer c.codec.done(packed)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || c.failed != nil {
		return
	}
	err := c.append(keyOf(d), *packed)
	if err == nil && c.writing.size >= c.packSize() {
		if err = c.seal(); err == nil {
			c.evict()
		}
	}
	c.fail(err)
}

// fail ends the writing: on a full disk or in a folder that takes no files,
// each further try would cost time and end the same.
func (c *Cache) fail(err error) {
	if err == nil || c.failed != nil {
		return
	}
	c.failed = fmt.Errorf("manifest cache %s: %w", c.root.Name(), err)
	c.discard()
}

// Close writes down what is new and keeps the cache within its limit. An error
// says why not everything could be kept, for a warning; later calls of the
// cache find and keep nothing.
func (c *Cache) Close() error {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil
	}
	c.closed = true
	c.fail(c.seal())
	c.dropBroken()
	if c.failed == nil {
		c.fail(c.merge())
	}
	c.evict()
	for _, p := range c.packs {
		_ = p.file.Close() // it was only read
	}
	c.packs = nil
	c.codec.close()
	return errors.Join(c.failed, c.root.Close())
}
