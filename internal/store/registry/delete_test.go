package registry_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/ebb-io/ebb/internal/image"
	"github.com/ebb-io/ebb/internal/inventory"
	"github.com/ebb-io/ebb/internal/store/blob"
	"github.com/ebb-io/ebb/internal/store/blob/fault"
	"github.com/ebb-io/ebb/internal/store/blob/mem"
	"github.com/ebb-io/ebb/internal/store/registry"
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
