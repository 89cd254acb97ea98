package s3

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/ebb-io/ebb/internal/store/blob"
	"github.com/ebb-io/ebb/internal/store/blob/blobtest"
	"github.com/ebb-io/ebb/internal/store/blob/mem"
)

// keySpace is a bucket of keys alone, without a server.
type keySpace struct {
	keys []string // sorted
	size int      // of a page

	mu       sync.Mutex
	requests int
	active   int
	most     int // requests at once
}

func (k *keySpace) list(_ context.Context, l listing, p *page) error {
	k.mu.Lock()
	k.requests++
	k.active++
	k.most = max(k.most, k.active)
	k.mu.Unlock()
	defer func() { k.mu.Lock(); k.active--; k.mu.Unlock() }()
	if len(k.keys) > 10*pageSize {
		time.Sleep(time.Millisecond) // as long as others have to begin
	}
	after := l.after
	if l.token != "" {
		after = l.token
	}
	*p = page{items: p.items[:0]}
	at, _ := slices.BinarySearch(k.keys, after+"\x00")
	at = max(at, lowest(k.keys, l.prefix))
	for ; at < len(k.keys) && strings.HasPrefix(k.keys[at], l.prefix); at++ {
		if len(p.items)+len(p.dirs) == min(k.size, l.limit) {
			p.truncated, p.next = true, k.keys[at-1]
			return nil
		}
		key := k.keys[at]
		name, _, nested := strings.Cut(key[len(l.prefix):], "/")
		if l.delimiter == "" || !nested {
			p.items = append(p.items, item{path: key, size: int64(len(key))})
			continue
		}
		dir := l.prefix + name
		if dir+"/" > after || !strings.HasPrefix(after, dir+"/") {
			p.dirs = append(p.dirs, dir)
		}
		at = lowest(k.keys, dir+"0") - 1
	}
	return nil
}

func lowest(keys []string, from string) int {
	at, _ := slices.BinarySearch(keys, from)
	return at
}

// keyReader walks a key space as a driver does.
type keyReader struct {
	blob.Reader
	space       *keySpace
	first, last string
}

func (r keyReader) Walk(ctx context.Context, dir string, v blob.Visitor) error {
	v.First, v.Last = r.first, r.last
	w := newWalk(ctx, r.space.list, dir, v)
	w.run()
	if dir != "" && !w.exists() {
		return fmt.Errorf("%s is absent", dir)
	}
	return ctx.Err()
}

// Any keys and any guide: the walk shows what the one over a sorted list in
// memory does, whatever the pages and however it is split.
func TestWalksLikeMemory(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		store := mem.New()
		for _, key := range drawKeys(rt) {
			store.Put(key, []byte(key), time.Time{})
		}
		guide := drawGuide(rt)
		dir := rapid.SampledFrom([]string{"", "", "a", "a/b", "0f"}).Draw(rt, "dir")
		space := &keySpace{keys: store.Paths(), size: rapid.IntRange(1, 3).Draw(rt, "page")}
		want, wantErr := blobtest.Walk(t.Context(), store, dir, guide)
		got, gotErr := blobtest.Walk(t.Context(), keyReader{space: space}, dir, guide)
		if (wantErr == nil) != (gotErr == nil) {
			rt.Fatalf("it says %v, mem says %v", gotErr, wantErr)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			rt.Fatalf("(-mem +it):\n%s", diff)
		}
	})
}

// Bounds hide nothing that lies within, and show nothing twice.
func TestBoundsHideNothingWithin(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		store := mem.New()
		for _, key := range drawKeys(rt) {
			store.Put(key, []byte(key), time.Time{})
		}
		name := rapid.SampledFrom([]string{"", "0", "0f", "1", "a", "a!", "a-b", "b", "ü", "\x01"})
		dir := rapid.SampledFrom([]string{"", "a"}).Draw(rt, "dir")
		r := keyReader{
			space: &keySpace{keys: store.Paths(), size: rapid.IntRange(1, 3).Draw(rt, "page")},
			first: name.Draw(rt, "first"), last: name.Draw(rt, "last"),
		}
		all, wantErr := blobtest.Walk(t.Context(), store, dir, nil)
		got, err := blobtest.Walk(t.Context(), r, dir, nil)
		if (wantErr == nil) != (err == nil) || len(got.Failed) > 0 {
			rt.Fatalf("it says %v and %q, mem says %v", err, got.Failed, wantErr)
		}
		if twice := slices.Compact(slices.Clone(got.Files)); len(twice) != len(got.Files) {
			rt.Fatalf("shown twice: %q", got.Files)
		}
		for _, path := range all.Files {
			rest, _ := inside(dir, path)
			top, _, _ := strings.Cut(rest, "/")
			within := top >= r.first && (r.last == "" || top <= r.last)
			if _, shown := got.Entries[path]; within && !shown {
				rt.Errorf("%q was not shown between %q and %q", path, r.first, r.last)
			}
		}
	})
}

// drawKeys mixes what a walk is split by: hexadecimal names of one length,
// names that sort around a slash, and crowded directories.
func drawKeys(rt *rapid.T) []string {
	name := rapid.OneOf(
		rapid.SampledFrom([]string{"a", "a!", "a-b", "a.b", "a0", "b", "data", "ü", "a\x01"}),
		rapid.StringMatching(`[0-9a-f]{2}`),
		rapid.StringMatching(`[0-9a-f]{16}`),
		rapid.StringMatching(`x[a-z]{2}`),
	)
	tops := rapid.SliceOfN(rapid.Map(rapid.SliceOfN(name, 0, 3), func(n []string) string { return strings.Join(n, "/") }), 1, 6).Draw(rt, "tops")
	var keys []string
	for _, top := range tops {
		least := rapid.SampledFrom([]int{0, 0, 40, 120}).Draw(rt, "least") // crowds are split
		for _, rest := range rapid.SliceOfN(rapid.SliceOfN(name, 1, 2), least, least+40).Draw(rt, "below") {
			keys = append(keys, strings.TrimPrefix(top+"/"+strings.Join(rest, "/"), "/"))
		}
	}
	return keys
}

func drawGuide(rt *rapid.T) func(string) blob.Step {
	steps := []blob.Step{blob.List(), blob.List(), blob.List(), blob.List(), blob.Skip(), blob.Only("data"), blob.Only("a")}
	seed := rapid.IntRange(0, 1<<20).Draw(rt, "guide")
	if seed%3 == 0 {
		return nil
	}
	return func(dir string) blob.Step {
		sum := seed
		for _, c := range []byte(dir) {
			sum = sum*31 + int(c)
		}
		return steps[(sum>>3&0xffff)%len(steps)]
	}
}
