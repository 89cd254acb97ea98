// Package execute carries a plan out: phase by phase, in batches, proving
// before each phase that the registry takes no writes and before each batch
// that the lock is still held.
//
// It refuses to decide. What a failure leaves standing it takes back to the
// plan, which says what must now stay as well.
package execute

import (
	"context"
	"fmt"
	"slices"

	"github.com/ebb-io/ebb/internal/inventory"
	"github.com/ebb-io/ebb/internal/plan"
)

// Store deletes items and answers with an error for each, in the same order.
type Store interface {
	Delete(ctx context.Context, items []inventory.Item) []error
}

// Run is what a plan needs to be carried out.
type Run struct {
	Store Store
	Proofs
}

// Proofs stand around each phase of writing. Every function may be nil.
type Proofs struct {
	// Guard proves that the registry takes no writes.
	Guard func(ctx context.Context) error
	// Beat proves that the lock is still held.
	Beat func(ctx context.Context) error
	// Batch is how many items are dealt with between two looks at the lock and
	// at the context, few enough to stop within a moment; zero: a whole phase.
	Batch int
	// Sync returns when what was done will stay done.
	Sync func(ctx context.Context) error
}

// Deleted counts what is gone.
type Deleted struct {
	Tags         int `json:"tags"`
	Manifests    int `json:"manifests"`
	LayerLinks   int `json:"layerLinks"`
	Blobs        int `json:"blobs"`
	Uploads      int `json:"uploads"`
	Repositories int `json:"repositories"`
}

// Failure is an item that could not be deleted.
type Failure struct {
	Item inventory.Item
	Err  error
}

// Outcome is what a run did.
type Outcome struct {
	Deleted    Deleted
	FreedBytes int64 // content of blobs and uploads
	Failed     []Failure
	// Stopped is why the run ended before the plan's end; nil when it did not.
	Stopped error
}

// Do carries the plan out. When ctx ends, the batch in hand is finished.
func (r Run) Do(ctx context.Context, p *plan.Plan) Outcome {
	var out Outcome
	failed := map[inventory.Item]bool{}
	remain := func(item inventory.Item) bool { return failed[item] }
	phases := p.Steps(remain)
	for i := 0; i < len(phases); i++ {
		before := len(out.Failed)
		if out.Stopped = r.phase(ctx, phases[i], &out); out.Stopped != nil {
			return out
		}
		if len(out.Failed) == before {
			continue
		}
		for _, f := range out.Failed[before:] {
			failed[f.Item] = true
		}
		phases = p.Steps(remain)
	}
	return out
}

func (r Run) phase(ctx context.Context, items []inventory.Item, out *Outcome) error {
	return Phase(ctx, r.Proofs, items, func(ctx context.Context, items []inventory.Item) {
		for i, err := range r.Store.Delete(ctx, items) {
			if err != nil {
				out.Failed = append(out.Failed, Failure{Item: items[i], Err: err})
				continue
			}
			out.count(items[i])
		}
	})
}

// Phase does something with all items, a batch at a time, under the proofs. When
// ctx ends, the batch in hand is finished.
func Phase[T any](ctx context.Context, p Proofs, items []T, do func(ctx context.Context, batch []T)) error {
	if len(items) == 0 {
		return nil
	}
	if err := call(ctx, p.Guard); err != nil {
		return err
	}
	size := p.Batch
	if size == 0 {
		size = len(items)
	}
	for batch := range slices.Chunk(items, size) {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := call(ctx, p.Beat); err != nil {
			return err
		}
		do(context.WithoutCancel(ctx), batch)
	}
	if err := call(context.WithoutCancel(ctx), p.Sync); err != nil {
		return fmt.Errorf("sync after writing: %w", err)
	}
	return nil
}

func (out *Outcome) count(item inventory.Item) {
	if item.Residue {
		return
	}
	out.FreedBytes += item.Size
	switch item.Kind {
	case inventory.TagLink:
		out.Deleted.Tags++
	case inventory.Revision:
		out.Deleted.Manifests++
	case inventory.LayerLink:
		out.Deleted.LayerLinks++
	case inventory.ManifestBlob, inventory.Blob:
		out.Deleted.Blobs++
	case inventory.UploadFolder, inventory.UnfinishedUpload:
		out.Deleted.Uploads++
	case inventory.RepositoryFolder:
		out.Deleted.Repositories++
	}
}

func call(ctx context.Context, f func(context.Context) error) error {
	if f == nil {
		return nil
	}
	return f(ctx)
}
