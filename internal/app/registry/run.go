package registry

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ebb-io/ebb/internal/execute"
	"github.com/ebb-io/ebb/internal/execute/guard"
	"github.com/ebb-io/ebb/internal/inventory"
	"github.com/ebb-io/ebb/internal/plan"
	"github.com/ebb-io/ebb/internal/store/blob"
	"github.com/ebb-io/ebb/internal/store/registry"
)

// RunRequest is what a run needs beside the storage.
type RunRequest struct {
	Request
	// Guards prove that the registry takes no writes, one for each replica.
	// None: a person has said that no registry writes here.
	Guards []*guard.Guard
	// Approve is shown the plan before anything is deleted; false ends the run
	// without an error. Nil approves.
	Approve func(*plan.Plan) (bool, error)
	// Planned is told the plan that is about to be carried out; nil: nobody is.
	Planned func(*plan.Plan)
	// Named is what a stored plan deletes; nil without one.
	Named plan.Named
	// NoLock says that a person keeps other runs away.
	NoLock bool
	// PullThrough says that the registry is known to be a pull-through cache.
	PullThrough bool
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
}

// Driver is a blob driver that may delete.
type Driver interface {
	blob.Reader
	blob.Deleter
	blob.Locker
}

// Run plans and deletes. A result comes with every error that left something
// behind to tell; the plan in it is then what would have been done.
func Run(ctx context.Context, driver Driver, progress *registry.Progress, req RunRequest) (*Result, error) {
	r := &run{RunRequest: req, driver: driver, store: registry.NewWritable(driver, driver, progress).WithCache(req.Cache)}
	if err := r.store.Check(ctx); errors.Is(err, registry.ErrEmpty) {
		return r.emptyResult(ctx, err)
	} else if err != nil {
		return nil, err
	}
	lock, err := r.takeLock(ctx)
	if err != nil {
		return nil, err
	}
	ctx, stop := keepBeating(ctx, lock)
	defer stop()
	r.lock = lock
	result, err := r.locked(ctx)
	return result, errors.Join(why(ctx, err), lock.Release(context.WithoutCancel(ctx)))
}

func (r *run) takeLock(ctx context.Context) (blob.Lock, error) {
	if r.NoLock {
		return noLock{}, nil
	}
	return r.driver.Lock(ctx, registry.LockFile)
}

// noLock is the word of a person who keeps other runs away.
type noLock struct{}

func (noLock) Beat(context.Context) error    { return nil }
func (noLock) Release(context.Context) error { return nil }

// why says what ended the context, where an error only says that it ended.
func why(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil && errors.Is(err, context.Canceled) {
		return cause
	}
	return err
}

type run struct {
	RunRequest
	driver Driver
	store  *registry.Writable
	lock   blob.Lock
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
	r.result = &Result{StartedAt: r.Clock(), Guarded: len(r.Guards) > 0}
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
		return fmt.Errorf("%w: %s", ErrLimit, p.Exceeded[0])
	case !found && r.result.Guarded && !p.Nothing():
		return fmt.Errorf("%w: the storage holds no image by which the registry could be recognized: stop it and say --offline",
			guard.ErrUnproven)
	}
	return r.recognize(ctx, p)
}

func (r *run) pullThrough(ctx context.Context) (bool, error) {
	if r.PullThrough {
		return true, nil
	}
	return r.store.PullThrough(ctx)
}

// errCache refuses a pull-through cache, which fetches what is asked of it and
// writes it down although it is read-only.
func errCache(cache bool) error {
	if !cache {
		return nil
	}
	return fmt.Errorf("%w: the storage is a pull-through cache's, which writes although it is read-only: stop it and say --offline",
		guard.ErrWritable)
}

// samples is how many images a registry must answer for before the first
// deletion: enough to notice an older copy of the storage.
const samples = 32

// recognize proves that each registry serves this very storage.
func (r *run) recognize(ctx context.Context, p *plan.Plan) error {
	var known []guard.Known
	for _, d := range p.Samples(samples) {
		known = append(known, guard.Known{Repository: d.Repository, Digest: d.Digest.String()})
	}
	for _, g := range r.Guards {
		if err := g.Serves(ctx, known); err != nil {
			return err
		}
	}
	return nil
}

// plan makes the plan, or as much of it as an earlier one names.
func (r *run) plan(ctx context.Context, named plan.Named) (*plan.Plan, error) {
	p, err := Check(ctx, r.store.Store, r.Request)
	if err != nil || named == nil {
		return p, err
	}
	if stale := p.Stale(named); len(stale) > 0 {
		return p, fmt.Errorf("%w: %s and %d more that it would delete are kept by now, or have moved: check again",
			ErrStale, registry.Path(stale[0]), len(stale)-1)
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

// proveFirst proves the registry read-only before the storage is read.
func (r *run) proveFirst(ctx context.Context) (guard.Known, bool, error) {
	if !r.result.Guarded {
		return guard.Known{}, false, nil
	}
	if cache, err := r.pullThrough(ctx); err != nil || cache {
		return guard.Known{}, false, errors.Join(err, errCache(cache))
	}
	repository, digest, found, err := r.store.AnyImage(ctx)
	if err != nil || !found {
		return guard.Known{}, false, err
	}
	known := guard.Known{Repository: repository, Digest: digest.String()}
	for _, g := range r.Guards {
		if err := g.Prove(ctx, known); err != nil {
			return known, true, err
		}
	}
	return known, true, nil
}

func (r *run) delete(ctx context.Context, known guard.Known) (*Result, error) {
	p := r.result.Plan
	if r.Planned != nil {
		r.Planned(p)
	}
	before := r.free(ctx)
	r.result.Outcome = execute.Run{
		Store: r.store, Batch: r.store.Batch(), Guard: r.guard(p, known), Beat: r.lock.Beat, Sync: r.sync(),
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
	if !r.result.Guarded {
		return nil
	}
	stays, ok := p.Survivor()
	return func(ctx context.Context) error {
		for _, g := range r.Guards {
			var err error
			if ok {
				err = g.Prove(ctx, guard.Known{Repository: stays.Repository, Digest: stays.Digest.String()})
			} else {
				err = g.ProveReadOnly(ctx, known.Repository)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
}

func (r *run) sync() func(context.Context) error {
	if volume, ok := r.driver.(blob.Volume); ok {
		return volume.Sync
	}
	return nil
}

// free is the room on the volume, zero where there is none to ask.
func (r *run) free(ctx context.Context) int64 {
	volume, ok := r.driver.(blob.Volume)
	if !ok {
		return 0
	}
	free, err := volume.Free(ctx)
	if err != nil {
		return 0 // a figure for people; nothing is decided by it
	}
	return free
}

// heartbeat is how often a lock's holder shows that it lives; others wait ten
// minutes before they doubt it.
const heartbeat = time.Minute

// keepBeating beats while long steps run, and ends the context when the lock
// is lost.
func keepBeating(ctx context.Context, lock blob.Lock) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	ticker := time.NewTicker(heartbeat)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				if err := lock.Beat(ctx); errors.Is(err, blob.ErrLockLost) {
					cancel(err)
				}
			}
		}
	}()
	return ctx, func() {
		ticker.Stop()
		cancel(nil)
		<-done
	}
}

// Unlock removes a lock that a run left behind.
func Unlock(ctx context.Context, driver blob.Locker) error {
	return driver.Unlock(ctx, registry.LockFile)
}

// Damaged tells whether the plan saw damage, or the run had failures.
func (r *Result) Damaged() bool {
	return len(r.Outcome.Failed) > 0 || inventory.Damaged(r.Plan.Inventory().Problems)
}
