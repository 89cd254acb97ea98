package registry

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ebb-io/ebb/internal/execute"
	"github.com/ebb-io/ebb/internal/execute/guard"
	"github.com/ebb-io/ebb/internal/plan"
	"github.com/ebb-io/ebb/internal/store/blob"
	"github.com/ebb-io/ebb/internal/store/registry"
)

// RunRequest is what a run needs beside the storage.
type RunRequest struct {
	Request
	Access
	// Approve is shown the plan before anything is deleted; false ends the run
	// without an error. Nil approves.
	Approve func(*plan.Plan) (bool, error)
	// Planned is told the plan that is about to be carried out; nil: nobody is.
	Planned func(*plan.Plan)
	// Named is what a stored plan deletes; nil without one.
	Named plan.Named
	// Cache keeps manifests from one snapshot to the next; nil: none.
	Cache registry.ManifestCache
	// Clock tells when the run starts and ends.
	Clock func() time.Time
}

// Result is what a run did.
type Result struct {
	Plan     *plan.Plan
	Approved bool // false: the person said no, and nothing was touched
	Outcome  execute.Outcome
	// MeasuredFreedBytes is how much more room the file system has; zero where
	// that can not be measured.
	MeasuredFreedBytes    int64
	StartedAt, FinishedAt time.Time
	// Guarded says that a registry was up: it must be restarted, or its cache
	// flushed, before it takes writes again.
	Guarded bool
	// Unreleased is why the lock stays although all is done; nil: it does not.
	Unreleased error
}

// Run plans and deletes. A result comes with every error that left something
// behind to tell; the plan in it is then what would have been done.
func Run(ctx context.Context, driver Driver, progress *registry.Progress, req RunRequest) (*Result, error) {
	store := registry.NewWritable(driver, driver, progress).WithCache(req.Cache)
	r := &run{RunRequest: req, access: newAccess(driver, store.Store, req.Access), store: store}
	if err := r.store.Check(ctx); errors.Is(err, registry.ErrEmpty) {
		return r.emptyResult(ctx, err)
	} else if err != nil {
		return nil, err
	}
	var result *Result
	err := r.hold(ctx, func(ctx context.Context) (err error) {
		result, err = r.locked(ctx)
		return err
	})
	if result != nil {
		result.Unreleased = r.unreleased
	}
	return result, err
}

type run struct {
	RunRequest
	access
	store  *registry.Writable
	result *Result
}

// emptyResult is the success of a run on a storage that holds nothing yet.
func (r *run) emptyResult(ctx context.Context, empty error) (*Result, error) {
	now := r.Clock()
	p, err := Check(ctx, r.store.Store, r.Request)
	if err != nil && !errors.Is(err, registry.ErrEmpty) {
		return nil, err
	}
	return &Result{Plan: p, Approved: true, StartedAt: now, FinishedAt: now}, empty
}

func (r *run) locked(ctx context.Context) (*Result, error) {
	r.result = &Result{StartedAt: r.Clock(), Guarded: r.guarded()}
	known, found, err := r.proveFirst(ctx)
	if err != nil {
		return nil, err
	}
	r.result.Plan, err = r.plan(ctx, r.Named)
	if r.result.Plan == nil {
		return nil, err
	}
	if err == nil {
		err = r.admit(ctx, found)
	}
	if err == nil {
		err = r.approve(ctx, found)
	}
	if err != nil || !r.result.Approved {
		return r.finish(), err
	}
	return r.delete(ctx, known)
}

// admit refuses a plan that is over a limit, and one for a storage that the
// registry does not prove to serve.
func (r *run) admit(ctx context.Context, found bool) error {
	p := r.result.Plan
	switch {
	case len(p.Exceeded) > 0 && !r.Policy.Confirmed:
		return fmt.Errorf("%w: %s", ErrLimit, p.Exceeded[0].Text("deleted"))
	case !found && r.result.Guarded && !p.Nothing():
		return errUnrecognized()
	}
	return r.recognize(ctx, p)
}

// recognize proves that each registry serves this very storage.
func (r *run) recognize(ctx context.Context, p *plan.Plan) error {
	var known []guard.Known
	for _, d := range p.Samples(samples) {
		known = append(known, guard.Known{Repository: d.Repository, Digest: d.Digest.String()})
	}
	return r.serves(ctx, known)
}

// plan makes the plan, or as much of it as an earlier one names.
func (r *run) plan(ctx context.Context, named plan.Named) (*plan.Plan, error) {
	p, err := Check(ctx, r.store.Store, r.Request)
	if err != nil || named == nil {
		return p, err
	}
	if stale := p.Stale(named); len(stale) > 0 {
		more := ""
		if n := len(stale) - 1; n > 0 {
			more = fmt.Sprintf(" and %d more", n)
		}
		return p, fmt.Errorf("%w: what it would delete is kept by now, or has moved: %s%s; check again",
			ErrStale, registry.Path(stale[0]), more)
	}
	return p.Restrict(named), nil
}

// approve asks, and then looks again: a person thinks for minutes, in which
// owners come and go.
func (r *run) approve(ctx context.Context, found bool) (err error) {
	if r.Approve == nil {
		r.result.Approved = true
		return nil
	}
	if r.result.Approved, err = r.Approve(r.result.Plan); err != nil || !r.result.Approved {
		return err
	}
	again, err := r.plan(ctx, r.result.Plan.Names())
	if err != nil {
		return err
	}
	r.result.Plan = again
	return r.admit(ctx, found)
}

func (r *run) delete(ctx context.Context, known guard.Known) (*Result, error) {
	p := r.result.Plan
	if r.Planned != nil {
		r.Planned(p)
	}
	before := r.free(ctx)
	r.result.Outcome = execute.Run{
		Store: r.store, Batch: r.store.Batch, Proofs: r.proofs(r.guard(p, known)),
	}.Do(ctx, p)
	r.result.MeasuredFreedBytes = r.free(context.WithoutCancel(ctx)) - before
	return r.finish(), r.result.Outcome.Stopped
}

func (r *run) finish() *Result {
	r.result.FinishedAt = r.Clock()
	return r.result
}

// guard proves before every phase. An image that stays recognizes the registry
// each time; without one, that was done before the first deletion, and only
// the refusal of writes is proven again.
func (r *run) guard(p *plan.Plan, known guard.Known) func(context.Context) error {
	stays, ok := p.Survivor()
	if !ok {
		return r.proofOfReadOnly(known.Repository)
	}
	return r.proof(guard.Known{Repository: stays.Repository, Digest: stays.Digest.String()})
}

// Unlock removes a lock that a run left behind.
func Unlock(ctx context.Context, driver blob.Locker) error {
	return driver.Unlock(ctx, registry.LockFile)
}
