// Package registry is what Ebb does to a registry's storage, as calls in their
// order: check, run, explain, verify, unlock. Every shell uses it: the command
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
	empty := store.Check(ctx)
	if empty != nil && !errors.Is(empty, registry.ErrEmpty) {
		return nil, empty
	}
	inv, err := store.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	if inv.Contents.Blobs() > 0 && !slices.ContainsFunc(inv.Repositories, readable) && !emptied(inv, req) {
		return nil, fmt.Errorf("%w: the storage holds %d blobs and not one readable repository: is a volume not mounted? (confirm it if they really are gone)",
			ErrIncomplete, inv.Contents.Blobs())
	}
	set, err := req.Owners(ctx)
	if err != nil {
		return nil, err
	}
	return plan.Build(plan.Input{Inventory: inv, Refs: refs.NewIndex(set), Policy: req.Policy, Now: req.Now}), empty
}

// emptied tells whether a person has confirmed that there are no repositories
// any more, as after the last of them went.
func emptied(inv *inventory.Inventory, req Request) bool {
	return req.Policy.Confirmed && !inv.Unlisted && len(inv.Repositories) == 0
}

func readable(r inventory.Repository) bool { return !r.Unlisted }
