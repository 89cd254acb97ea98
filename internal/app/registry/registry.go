// Package registry is what Ebb does to a registry's storage, as calls in their
// order: check, run, explain, verify, repair, unlock. Every shell uses it: the command
// line, a daemon, a controller.
//
// It holds no rule of its own and prints nothing.
package registry

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ebb-io/ebb/internal/inventory"
	"github.com/ebb-io/ebb/internal/plan"
	"github.com/ebb-io/ebb/internal/policy"
	"github.com/ebb-io/ebb/internal/refs"
	"github.com/ebb-io/ebb/internal/store/registry"
)

// The refusals, each with an exit code of its own.
var (
	// ErrIncomplete says that not all evidence could be seen.
	ErrIncomplete = errors.New("the view is incomplete")
	// ErrStale says that a stored plan no longer holds.
	ErrStale = errors.New("the plan is stale")
	// ErrLimit says that the plan is over a safety limit.
	ErrLimit = errors.New("the plan is over a safety limit")
)

// Owners reads who needs what. It is called after the storage was read, so that
// what appears meanwhile can only protect.
type Owners func(ctx context.Context) (refs.Set, error)

// Request is what a plan is made from, beside the storage.
type Request struct {
	Owners Owners
	Policy policy.Policy
	Now    time.Time // the clock of the plan
}

// Check reads the storage and the owners and plans. It writes nothing. An
// empty storage yields an empty plan and an error that wraps registry.ErrEmpty.
func Check(ctx context.Context, store *registry.Store, req Request) (*plan.Plan, error) {
	inv, empty, err := look(ctx, store)
	if err != nil {
		return nil, err
	}
	if err := plausible(inv); err != nil {
		return nil, err
	}
	set, err := req.Owners(ctx)
	if err != nil {
		return nil, err
	}
	return plan.Build(plan.Input{Inventory: inv, Refs: refs.NewIndex(set), Policy: req.Policy, Now: req.Now}), empty
}

// look reads the storage. Where it shows nothing at all, it tells a storage
// that is empty, by an error of its own, from what is no registry's.
func look(ctx context.Context, store *registry.Store) (inv *inventory.Inventory, empty, err error) {
	if inv, err = store.Snapshot(ctx); err != nil {
		return nil, nil, err
	}
	if inv.Contents.Blobs() == 0 && len(inv.Repositories) == 0 {
		err = store.Check(ctx)
	}
	if errors.Is(err, registry.ErrEmpty) {
		return inv, err, nil
	}
	return inv, nil, err
}

// plausible refuses a storage of which a whole half is not there. No word of a
// person lifts that: it is given for other reasons, and for longer than a mount
// lasts.
func plausible(inv *inventory.Inventory) error {
	blobs, images := inv.Contents.Blobs(), inv.Images()
	unseen := slices.IndexFunc(inv.Problems, func(p inventory.Problem) bool { return p.Code == inventory.NotListed })
	switch {
	case unseen >= 0 && (blobs == 0 || images == 0 || !slices.ContainsFunc(inv.Repositories, readable)):
		return fmt.Errorf("%w: %s: %s", ErrIncomplete, inv.Problems[unseen].Path, inv.Problems[unseen].Detail)
	case blobs > 0 && !slices.ContainsFunc(inv.Repositories, readable):
		return fmt.Errorf("%w: the storage holds %d blobs and not one readable repository: is a volume not mounted?", ErrIncomplete, blobs)
	case blobs == 0 && images > 0:
		return fmt.Errorf("%w: the storage holds %d images and not one blob: is a volume not mounted?", ErrIncomplete, images)
	}
	return nil
}

func readable(r inventory.Repository) bool { return !r.Unlisted }
