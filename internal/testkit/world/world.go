// Package world builds registry storages for tests: it writes distribution's
// layout on disk straight to a store, without a server, so that a test reads
// as a sentence and a thousand worlds take a second.
//
//	w := world.New(world.Folder(dir), world.At(now))
//	base := w.Layer("base")
//	web := w.Image("apps/web", world.Layers(base), world.Tag("v1"))
//	w.CosignTag("apps/web", web.Digest, ".sig")
//	w.TruncateBlob(base.Digest)
//
// Everything is a year old unless Age says otherwise. The same calls write the
// same bytes. A method panics where its store fails or a test names what it
// never wrote: a world that is not as told proves nothing.
//
// It reads nothing back, knows no other package of Ebb, and refuses to be used
// outside tests: it syncs nothing and locks nothing. It keeps what it wrote in
// memory, and one goroutine may use it at a time.
package world

import (
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// Store is where a world is written. Paths are relative to the storage's root,
// with forward slashes.
type Store interface {
	// Put writes a file, or makes a directory where the path ends in a slash.
	Put(path string, data []byte, modTime time.Time) error
	// Remove removes a file, or a directory, and all in it, where the path
	// ends in a slash. What is absent is no error.
	Remove(path string) error
}

// World is a registry's storage in the making.
type World struct {
	store     Store
	defaults  settings
	files     map[string]file
	manifests map[string]Image
}

type file struct {
	data []byte
	at   time.Time
}

// New begins an empty world. Its options are the defaults of everything in it.
func New(store Store, options ...Option) *World {
	defaults := settings{
		now:      time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC),
		age:      365 * 24 * time.Hour,
		platform: platform{OS: "linux", Architecture: "amd64"},
	}
	return &World{
		store:     store,
		defaults:  defaults.with(options),
		files:     map[string]file{},
		manifests: map[string]Image{},
	}
}

// Now is the world's clock, as At set it.
func (w *World) Now() time.Time { return w.defaults.now }

// Files lists every file of the world, sorted.
func (w *World) Files() []string { return slices.Sorted(maps.Keys(w.files)) }

// File writes any file, below the storage's root; Age holds.
func (w *World) File(path, content string, options ...Option) {
	s := w.defaults.with(options)
	w.put(path, []byte(content), s.blobTime())
}

// Remove removes one file that the world wrote.
func (w *World) Remove(path string) {
	w.mustFile(path)
	delete(w.files, path)
	w.must(w.store.Remove(path))
}

// RemoveDir removes a directory and every file in it.
func (w *World) RemoveDir(dir string) {
	prefix := strings.TrimSuffix(dir, "/") + "/"
	for _, path := range w.Files() {
		if strings.HasPrefix(path, prefix) {
			w.Remove(path)
		}
	}
	w.must(w.store.Remove(prefix))
}

// Random is n bytes that depend on the seed alone.
func Random(seed uint64, n int) string {
	var key [32]byte
	for i := range 8 {
		key[i] = byte(seed >> (8 * i))
	}
	data := make([]byte, n)
	if _, err := rand.NewChaCha8(key).Read(data); err != nil {
		panic(err)
	}
	return string(data)
}

// Digest is the sha256 digest of content, for what a world only speaks of.
func Digest(content string) string { return sum([]byte(content), false) }

func sum(data []byte, long bool) string {
	if long {
		h := sha512.Sum512(data)
		return "sha512:" + hex.EncodeToString(h[:])
	}
	h := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(h[:])
}

func (w *World) put(path string, data []byte, at time.Time) {
	w.files[path] = file{data: data, at: at}
	w.must(w.store.Put(path, data, at))
}

// putBlob leaves content that exists alone: a registry does not refresh a
// blob that is pushed again.
func (w *World) putBlob(digest string, data []byte, at time.Time) {
	if _, exists := w.files[BlobPath(digest)]; exists {
		return
	}
	w.put(BlobPath(digest), data, at)
}

func (w *World) putLink(path, digest string, at time.Time) {
	w.put(path, []byte(digest), at)
}

func (w *World) mustFile(path string) file {
	f, ok := w.files[path]
	if !ok {
		panic(fmt.Sprintf("world: %s was never written", path))
	}
	return f
}

func (w *World) must(err error) {
	if err != nil {
		panic(fmt.Errorf("world: %w", err))
	}
}
