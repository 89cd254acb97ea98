package registry_test

import (
	"bytes"
	"context"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	app "github.com/ebb-io/ebb/internal/app/registry"
	"github.com/ebb-io/ebb/internal/image"
	"github.com/ebb-io/ebb/internal/inventory"
	"github.com/ebb-io/ebb/internal/store/blob/fault"
	"github.com/ebb-io/ebb/internal/store/blob/mem"
	"github.com/ebb-io/ebb/internal/store/registry"
	"github.com/ebb-io/ebb/internal/store/registry/manifestcache"
	"github.com/ebb-io/ebb/internal/testkit/world"
)

func openCache(t *testing.T, dir string) *manifestcache.Cache {
	t.Helper()
	cache, err := manifestcache.Open(dir, manifestcache.DefaultLimit)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeCache(t, cache) })
	return cache
}

func closeCache(t *testing.T, cache *manifestcache.Cache) {
	t.Helper()
	if err := cache.Close(); err != nil {
		t.Error(err)
	}
}

// reads are the manifests that a snapshot reads from the storage and those that
// the cache has. Tags are read each time.
func reads(t *testing.T, store *mem.Store, cache registry.ManifestCache, tags int) (read, cached int) {
	t.Helper()
	counted, progress := fault.NewReader(store), &registry.Progress{}
	inv, err := registry.New(counted, progress).WithCache(cache).Snapshot(t.Context())
	if err != nil || len(inv.Problems) > 0 {
		t.Fatal(err, inv.Problems)
	}
	look := progress.Look()
	if look.Stage != registry.Manifests || look.Done != look.Total {
		t.Errorf("%d of %d manifests are counted, in stage %d", look.Done, look.Total, look.Stage)
	}
	return counted.Counts().Reads - tags, int(look.Cached)
}

// A snapshot of an unchanged storage reads not one manifest, and one new image
// is one manifest: in the same session and in a later one.
func TestCachedManifestsAreNotReadAgain(t *testing.T) {
	store, dir := mem.New(), t.TempDir()
	w := world.New(world.Mem(store))
	plain(w)
	images, tags := repositoryCount*imageCount+1, repositoryCount*(imageCount+1)
	steps := []struct {
		reason       string
		change       func()
		reopen       bool
		read, cached int
	}{
		{reason: "the first reads all", read: images},
		{reason: "the same session", cached: images},
		{reason: "a later session", reopen: true, cached: images},
		{
			reason: "one new image", reopen: true, read: 1, cached: images,
			change: func() { w.Image("team/new", world.ConfigText("new"), world.Tag("new")); tags++ },
		},
		{reason: "the new one is in a pack of its own", reopen: true, cached: images + 1},
		{reason: "a tag that moves", cached: images + 1, change: func() {
			w.Image("team/r1", world.Layers(w.Layer("shared")), world.ConfigText("config everywhere"), world.Tag("v3"))
		}},
	}
	cache := openCache(t, dir)
	for _, step := range steps {
		if step.reopen {
			closeCache(t, cache)
			cache = openCache(t, dir)
		}
		if step.change != nil {
			step.change()
		}
		if read, cached := reads(t, store, cache, tags); read != step.read || cached != step.cached {
			t.Errorf("%s: %d read and %d cached, want %d and %d", step.reason, read, cached, step.read, step.cached)
		}
	}
}

// What the cache holds says nothing of what the storage holds.
func TestTheStorageAloneTellsWhatIsThere(t *testing.T) {
	tests := []struct {
		reason string
		change func(w *world.World, digest string)
		code   inventory.ProblemCode
	}{
		{"an absent manifest is absent", func(w *world.World, d string) { w.RemoveBlob(d) }, inventory.ManifestMissing},
		{"one of another length is read", func(w *world.World, d string) { w.Rewrite(world.BlobPath(d), "{}") }, inventory.ManifestUnread},
		{"one of no length is read", func(w *world.World, d string) { w.Rewrite(world.BlobPath(d), "") }, inventory.ManifestUnread},
	}
	for _, test := range tests {
		store, cache := mem.New(), openCache(t, t.TempDir())
		w := world.New(world.Mem(store))
		web := w.Image("apps/web", world.Tag("v1"))
		reads(t, store, cache, 1)
		test.change(w, web.Digest)
		inv, err := registry.New(store, nil).WithCache(cache).Snapshot(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(inv.Problems) != 1 || inv.Problems[0].Code != test.code {
			t.Errorf("%s: got %v, want %s", test.reason, inv.Problems, test.code)
		}
	}
}

// A verification looks at what is there: damage that leaves the length as it
// was is found although a cache has the manifest.
func TestVerifyUsesNoCache(t *testing.T) {
	store, cache := mem.New(), openCache(t, t.TempDir())
	w := world.New(world.Mem(store))
	web := w.Image("apps/web", world.Tag("v1"))
	reads(t, store, cache, 1)
	w.CorruptBlob(web.Digest)
	if read, _ := reads(t, store, cache, 1); read != 0 {
		t.Errorf("a check read %d manifests", read)
	}
	verified, err := app.Verify(t.Context(), registry.New(store, nil).WithCache(cache), false)
	if err != nil {
		t.Fatal(err)
	}
	if len(verified.Problems) != 1 || verified.Problems[0].Code != inventory.ManifestUnread {
		t.Errorf("got %v", verified.Problems)
	}
}

// liar has something for every digest, and what is put into it is lost.
type liar struct {
	answer func(size int64) []byte
	mu     sync.Mutex
	put    map[image.Digest]bool
}

func (l *liar) Get(_ image.Digest, size int64, buffer []byte) ([]byte, bool) {
	return append(buffer, l.answer(size)...), true
}

func (l *liar) Put(d image.Digest, content []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.put[d] = d.Matches(content)
}

// A cache that lies changes nothing, and is given only what is sound: what is
// not understood too.
func TestACacheIsNotTrusted(t *testing.T) {
	store := mem.New()
	w := world.New(world.Mem(store))
	plain(w)
	damaged := w.Image("apps/web", world.ConfigText("damaged"), world.Tag("v1"))
	w.CorruptBlob(damaged.Digest)
	want, err := registry.New(store, nil).Snapshot(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	other := []byte(`{"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json","manifests":[]}`)
	for reason, answer := range map[string]func(int64) []byte{
		"another manifest":      func(int64) []byte { return other },
		"nothing":               func(int64) []byte { return nil },
		"of the length alright": func(size int64) []byte { return bytes.Repeat([]byte(" "), int(size)) },
	} {
		cache := &liar{answer: answer, put: map[image.Digest]bool{}}
		got, err := registry.New(store, nil).WithCache(cache).Snapshot(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want.Problems, got.Problems); diff != "" || len(got.Manifests) != len(want.Manifests) {
			t.Errorf("%s: %d manifests, want %d\n%s", reason, len(got.Manifests), len(want.Manifests), diff)
		}
		for d, sound := range cache.put {
			if !sound || d.String() == damaged.Digest {
				t.Errorf("%s: %s was put", reason, d)
			}
		}
		if len(cache.put) != len(want.Manifests) {
			t.Errorf("%s: %d were put, want %d", reason, len(cache.put), len(want.Manifests))
		}
	}
}
