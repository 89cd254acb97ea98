package registry

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ebb-io/ebb/internal/execute"
	"github.com/ebb-io/ebb/internal/execute/guard"
	"github.com/ebb-io/ebb/internal/inventory"
	"github.com/ebb-io/ebb/internal/policy"
	"github.com/ebb-io/ebb/internal/repair"
	"github.com/ebb-io/ebb/internal/store/blob"
	"github.com/ebb-io/ebb/internal/store/registry"
)

// Damages is what to mend, and how far to go.
type Damages struct {
	Scope          policy.Scope
	LeftoverAge    time.Duration
	MaxDeleteShare policy.Share
	Now            time.Time
}

// RepairRequest is what a repair needs beside the storage.
type RepairRequest struct {
	Damages
	Access
	// Confirmed lets a plan pass that is over a limit.
	Confirmed bool
	// Planned is told the plan that is about to be carried out; nil: nobody is.
	Planned func(*repair.Plan)
	// Clock tells when the repair starts and ends.
	Clock func() time.Time
}

// Repaired is what a repair did.
type Repaired struct {
	Plan *repair.Plan
	// Done tells of each action of the plan whether it was carried out.
	Done []bool
	// Failed are the errors of those that were not, by action.
	Failed                map[int]error
	StartedAt, FinishedAt time.Time
	// Guarded says that a registry was up: it must be restarted, or its cache
	// flushed, before it takes writes again.
	Guarded bool
	// Unreleased is why the lock stays although all is done; nil: it does not.
	Unreleased error
}

// MendingDriver is a blob driver that may be mended.
type MendingDriver interface {
	Driver
	blob.Writer
}

// PlanRepair reads the storage and decides what can be mended. It writes
// nothing. An empty storage yields an empty plan and an error that wraps
// registry.ErrEmpty.
func PlanRepair(ctx context.Context, store *registry.Store, d Damages) (*repair.Plan, error) {
	empty := store.Check(ctx)
	if empty != nil && !errors.Is(empty, registry.ErrEmpty) {
		return nil, empty
	}
	inv, err := store.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	if err := plausible(inv); err != nil {
		return nil, err
	}
	survey, err := store.Survey(ctx, inv)
	if err != nil {
		return nil, err
	}
	return repair.Build(repair.Input{
		Inventory: inv, Survey: survey, Path: registry.Path, Scope: d.Scope,
		LeftoverAge: d.LeftoverAge, MaxDeleteShare: d.MaxDeleteShare, Now: d.Now,
	}), empty
}

// Repair plans and mends. A result comes with every error that left something
// behind to tell; the plan in it is then what would have been done.
func Repair(ctx context.Context, driver MendingDriver, progress *registry.Progress, req RepairRequest) (*Repaired, error) {
	store := registry.NewMender(driver, driver, driver, progress)
	r := &mending{RepairRequest: req, access: newAccess(driver, store.Store, req.Access), store: store}
	r.result = &Repaired{StartedAt: req.Clock(), Guarded: r.guarded(), Failed: map[int]error{}}
	err := store.Check(ctx)
	if errors.Is(err, registry.ErrEmpty) {
		r.result.Plan, err = PlanRepair(ctx, store.Store, req.Damages)
	} else if err == nil {
		err = r.hold(ctx, r.locked)
	}
	r.result.FinishedAt, r.result.Unreleased = req.Clock(), r.unreleased
	return r.result, err
}

type mending struct {
	RepairRequest
	access
	store  *registry.Mender
	result *Repaired
}

func (r *mending) locked(ctx context.Context) error {
	known, found, err := r.proveFirst(ctx)
	if err != nil {
		return err
	}
	p, err := PlanRepair(ctx, r.store.Store, r.Damages)
	if err != nil {
		return err
	}
	r.result.Plan, r.result.Done = p, make([]bool, len(p.Actions))
	if err := r.admit(ctx, p, found); err != nil {
		return err
	}
	if r.Planned != nil {
		r.Planned(p)
	}
	return r.mend(ctx, p, known)
}

// admit refuses a plan that is over a limit, and one for a storage that the
// registry does not prove to serve.
func (r *mending) admit(ctx context.Context, p *repair.Plan, found bool) error {
	switch {
	case len(p.Exceeded) > 0 && !r.Confirmed:
		return fmt.Errorf("%w: %s", ErrLimit, p.Exceeded[0].Text("removed"))
	case !found && r.guarded() && !p.Nothing():
		return errUnrecognized()
	}
	var known []guard.Known
	for _, s := range p.Samples(samples) {
		known = append(known, guard.Known{Repository: s.Repository, Digest: s.Digest.String()})
	}
	return r.serves(ctx, known)
}

// mend takes the steps, phase by phase. The image by which the registry was
// recognized is whole, and no step touches it. What a failure leaves standing
// stands as it did before: no later step of its action is taken.
func (r *mending) mend(ctx context.Context, p *repair.Plan, known guard.Known) error {
	proofs := r.proofs(r.proof(known))
	ahead := make([]int, len(p.Actions)) // steps of each action that are still to be taken
	phases := p.Phases()
	for _, phase := range phases {
		for _, step := range phase {
			ahead[step.Action]++
		}
	}
	for _, phase := range phases {
		err := execute.Phase(ctx, proofs, r.store.MendBatch(), phase, func(ctx context.Context, steps []repair.Step) { r.take(ctx, steps, ahead) })
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *mending) take(ctx context.Context, steps []repair.Step, ahead []int) {
	var mends []inventory.Mend
	var actions []int
	for _, step := range steps {
		if r.result.Failed[step.Action] == nil {
			mends, actions = append(mends, step.Mend), append(actions, step.Action)
		}
	}
	for i, err := range r.store.Mend(ctx, mends) {
		switch {
		case err == nil:
			ahead[actions[i]]--
			r.result.Done[actions[i]] = ahead[actions[i]] == 0
		case !execute.Left(ctx, err):
			r.result.Failed[actions[i]] = err
		}
	}
}
