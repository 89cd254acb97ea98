// Package execute carries a plan out: phase by phase, in batches, proving
// before each phase that the registry takes no writes and before each batch
// that the lock is still held.
//
// It refuses to decide. What a failure leaves standing it takes back to the
// plan, which says what must now stay as well.
package execute

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/ebb-io/ebb/internal/inventory"
	"github.com/ebb-io/ebb/internal/plan"
)

// Store deletes items and answers with an error for each, in the same order.
type Store interface {
	// Delete stops in the middle when ctx ends.
	Delete(ctx context.Context, items []inventory.Item) []error
}

// Run is what a plan needs to be carried out.
type Run struct {
	Store Store
	// Batch is how many items of a kind are one batch; see Phase. Nil: a whole
	// phase.
	Batch func(kind inventory.ItemKind) int
	Proofs
}

// Proofs stand around each phase of writing. Every function may be nil.
type Proofs struct {
	// Guard proves that the registry takes no writes.
	Guard func(ctx context.Context) error
	// Beat proves that the lock is still held.
	Beat func(ctx context.Context) error
	// Held is the context of a batch in hand: it ends when the lock is lost and
	// not with a signal. Nil: no batch in hand is stopped.
	Held func() context.Context
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

// Do carries the plan out. When ctx ends, the batch in hand is finished; when the
// lock is lost, it is not.
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
	size := len(items)
	if r.Batch != nil && size > 0 {
		size = r.Batch(items[0].Kind) // a phase has one kind
	}
	return Phase(ctx, r.Proofs, size, items, func(ctx context.Context, items []inventory.Item) {
		for i, err := range r.Store.Delete(ctx, items) {
			switch {
			case err == nil:
				out.count(items[i])
			case !Left(ctx, err):
				out.Failed = append(out.Failed, Failure{Item: items[i], Err: err})
			}
		}
	})
}

// Left tells whether something was only left undone because the context ended.
func Left(ctx context.Context, err error) bool {
	return ctx.Err() != nil && (errors.Is(err, ctx.Err()) || errors.Is(err, context.Cause(ctx)))
}

// Phase does something with all items under the proofs, a batch at a time: so
// many items that they are dealt with in a moment. Between two batches it looks
// at the lock and at ctx. When ctx ends, the batch in hand is finished; when the
// lock is lost, what deals with it is told to stop.
func Phase[T any](ctx context.Context, p Proofs, size int, items []T, do func(ctx context.Context, batch []T)) error {
	if len(items) == 0 {
		return nil
	}
	if err := call(ctx, p.Guard); err != nil {
		return err
	}
	held := p.held(ctx)
	for batch := range slices.Chunk(items, size) {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := call(ctx, p.Beat); err != nil {
			return err
		}
		do(held, batch)
		if held.Err() != nil {
			return context.Cause(held)
		}
	}
	if err := call(context.WithoutCancel(ctx), p.Sync); err != nil {
		return fmt.Errorf("sync after writing: %w", err)
	}
	return nil
}

func (p Proofs) held(ctx context.Context) context.Context {
	if p.Held == nil {
		return context.WithoutCancel(ctx)
	}
	return p.Held()
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
