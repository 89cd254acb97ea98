package registry_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ebb-io/ebb/internal/image"
	"github.com/ebb-io/ebb/internal/inventory"
	"github.com/ebb-io/ebb/internal/store/blob"
	"github.com/ebb-io/ebb/internal/store/blob/fault"
	"github.com/ebb-io/ebb/internal/store/blob/mem"
	"github.com/ebb-io/ebb/internal/store/registry"
	"github.com/ebb-io/ebb/internal/testkit/world"
)

// gone are items of blobs that are not there.
func gone(count int) []inventory.Item {
	items := make([]inventory.Item, count)
	for i := range items {
		items[i] = inventory.Item{Kind: inventory.Blob, Digest: image.SHA256(fmt.Append(nil, i))}
	}
	return items
}

// ending ends a context once it is asked to delete something.
type ending struct {
	blob.Deleter
	end   func(error)
	calls int
	most  int // paths in one call
}

func (e *ending) Delete(ctx context.Context, paths []string) []error {
	e.calls, e.most = e.calls+1, max(e.most, len(paths))
	e.end(errLost)
	return e.Deleter.Delete(context.WithoutCancel(ctx), paths)
}

var errLost = errors.New("lost")

// A driver finishes what it was given: it is given little, and nothing more when
// the context has ended.
func TestDeleteStopsInTheMiddle(t *testing.T) {
	store := mem.New()
	for name, c := range map[string]struct {
		reader blob.Reader
		piece  int
	}{"near": {store, 2000}, "far": {fault.NewRemote(store, 8), 2000}} {
		ctx, end := context.WithCancelCause(t.Context())
		deleter := &ending{Deleter: store, end: end}
		w := registry.NewWritable(c.reader, deleter, nil)
		left := 0
		for _, err := range w.Delete(ctx, gone(5000)) {
			if errors.Is(err, errLost) {
				left++
			}
		}
		if deleter.calls != 1 || deleter.most != c.piece || left < 5000-c.piece {
			t.Errorf("%s: %d calls of at most %d paths, %d of 5000 items are left", name, deleter.calls, deleter.most, left)
		}
	}
}

// A batch takes as many requests as go in a moment, whatever is in it.
func TestBatchesByRequests(t *testing.T) {
	store := mem.New()
	far := registry.NewWritable(fault.NewRemote(store, 64), store, nil)
	near := registry.NewWritable(store, store, nil)
	for kind, want := range map[inventory.ItemKind]int{
		inventory.Blob: 64 * 1000, inventory.TagLink: 64 * 1000,
		inventory.UnfinishedUpload: 4 * 64, inventory.RepositoryFolder: 4 * 64,
	} {
		if got := far.Batch(kind); got != want || near.Batch(kind) != 2000 {
			t.Errorf("kind %d: %d far and %d near, want %d and 2000", kind, got, near.Batch(kind), want)
		}
	}
}

// What lies beside a link or a blob's data in a bucket goes after it, and stays
// while that stands.
func TestWhatLiesBesideGoesAfterwards(t *testing.T) {
	for _, c := range []struct {
		reason string
		fails  bool
	}{{"all goes", false}, {"the files themselves can not be deleted", true}} {
		store := mem.New()
		w := world.New(world.Mem(store))
		img := w.Image("team/r0", world.Layers(w.Layer("a")))
		d, err := image.ParseDigest(img.Digest)
		if err != nil {
			t.Fatal(err)
		}
		own := []string{world.RevisionLink("team/r0", img.Digest), world.LayerLink("team/r0", img.Digest), world.BlobPath(img.Digest)}
		w.File(own[1], img.Digest)
		beside := []string{
			strings.TrimSuffix(own[0], "link") + "signatures/sha256/" + d.Hex() + "/link",
			own[1] + ".01234567-89ab-4cde-8f01-23456789abcd.tmp",
			strings.TrimSuffix(own[2], "data") + "index/link",
			strings.TrimSuffix(own[0], "link") + "current/link",
		}
		for _, path := range beside {
			w.File(path, "beside")
		}
		driver := bucket(store, fault.FailDeleteWhere(func(path string) bool { return c.fails && slices.Contains(own, path) }))
		writable := registry.NewWritable(driver, driver, nil)
		inv, err := writable.Snapshot(t.Context())
		if err != nil || len(inv.Problems) > 0 {
			t.Fatalf("%v, %v", inv.Problems, err)
		}
		errs := writable.Delete(t.Context(), []inventory.Item{
			{Kind: inventory.Revision, Repository: "team/r0", Digest: d},
			{Kind: inventory.LayerLink, Repository: "team/r0", Digest: d},
			{Kind: inventory.ManifestBlob, Digest: d},
		})
		if failed := errors.Join(errs...) != nil; failed != c.fails {
			t.Errorf("%s: %v", c.reason, errs)
		}
		for _, path := range append(own, beside...) {
			if there := slices.Contains(store.Paths(), path); there != c.fails {
				t.Errorf("%s: %s is there: %v", c.reason, path, there)
			}
		}
		if counts := driver.Counts(); counts.DeleteCalls > 2 || counts.Walks > 2 {
			t.Errorf("%s: %+v", c.reason, counts)
		}
	}
}

// Where only such files are left in a digest's folder, they are what an earlier
// deletion left.
func TestWhatLiesBesideNothingIsResidue(t *testing.T) {
	store := mem.New()
	w := world.New(world.Mem(store))
	hex := strings.Repeat("ab", 32)
	digest := "sha256:" + hex
	w.File(strings.TrimSuffix(world.RevisionLink("team/r0", digest), "link")+"signatures/sha256/"+hex+"/link", "")
	w.File(strings.TrimSuffix(world.LayerLink("team/r0", digest), "link")+"x", "")
	w.File(strings.TrimSuffix(world.BlobPath(digest), "data")+"x", "")
	driver := bucket(store)
	writable := registry.NewWritable(driver, driver, nil)
	inv, err := writable.Snapshot(t.Context())
	if err != nil || len(inv.Repositories) != 1 || len(inv.Residue) != 1 || len(inv.Repositories[0].Residue) != 2 {
		t.Fatalf("%+v, %v", inv, err)
	}
	var items []inventory.Item
	for _, r := range append(inv.Residue, inv.Repositories[0].Residue...) {
		items = append(items, inventory.Item{Kind: r.Kind, Repository: "team/r0", Digest: r.Digest, Residue: true})
	}
	items = append(items, inventory.Item{Kind: inventory.RepositoryFolder, Repository: "team/r0"})
	errs := append(writable.Delete(t.Context(), items[:3]), writable.Delete(t.Context(), items[3:])...)
	if left := store.Paths(); errors.Join(errs...) != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, errs)
	}
}
