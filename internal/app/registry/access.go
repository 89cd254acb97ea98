package registry

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ebb-io/ebb/internal/execute"
	"github.com/ebb-io/ebb/internal/execute/guard"
	"github.com/ebb-io/ebb/internal/store/blob"
	"github.com/ebb-io/ebb/internal/store/registry"
)

// Driver is a blob driver that may delete.
type Driver interface {
	blob.Reader
	blob.Deleter
	blob.Locker
}

// Access says how a storage may be written to.
type Access struct {
	// Guards prove that the registry takes no writes, one for each replica.
	// None: a person has said that no registry writes here.
	Guards []*guard.Guard
	// NoLock says that a person keeps other runs away.
	NoLock bool
	// PullThrough says that the registry is known to be a pull-through cache.
	PullThrough bool
}

// access is what stands before everything that writes to a storage: the lock,
// and the proof that the registry takes no writes and serves this very storage.
type access struct {
	allowed Access
	driver  Driver
	reading *registry.Store
	lock    blob.Lock
	// held is the context of what is in hand: a lost lock ends it, and a signal
	// does not.
	held func() context.Context
	// unreleased is why the lock could not be given back when all was done.
	unreleased error
}

func newAccess(driver Driver, reading *registry.Store, allowed Access) access {
	return access{allowed: allowed, driver: driver, reading: reading}
}

func (a *access) takeLock(ctx context.Context) (blob.Lock, error) {
	if a.allowed.NoLock {
		return noLock{}, nil
	}
	return a.driver.Lock(ctx, registry.LockFile)
}

// noLock is the word of a person who keeps other runs away.
type noLock struct{}

func (noLock) Beat(context.Context) error    { return nil }
func (noLock) Release(context.Context) error { return nil }

// hold takes the lock, keeps it alive while something is done, and gives it back.
// That it can not be given back undoes nothing that was done.
func (a *access) hold(ctx context.Context, do func(ctx context.Context) error) error {
	lock, err := a.takeLock(ctx)
	if err != nil {
		return err
	}
	held, stop := keepBeating(context.WithoutCancel(ctx), lock)
	defer stop()
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	defer context.AfterFunc(held, func() { end(context.Cause(held)) })()
	a.lock, a.held = lock, func() context.Context { return held }
	err = why(ctx, do(ctx))
	released := lock.Release(context.WithoutCancel(ctx))
	if err == nil && !errors.Is(released, blob.ErrLockLost) {
		a.unreleased = released
		return nil
	}
	return errors.Join(err, released)
}

// why says what ended the context, where an error only says that it ended.
func why(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil && errors.Is(err, context.Canceled) {
		return cause
	}
	return err
}

// guarded tells whether there are registries to ask.
func (a *access) guarded() bool { return len(a.allowed.Guards) > 0 }

// proveFirst proves the registry read-only before the storage is read.
func (a *access) proveFirst(ctx context.Context) (guard.Known, bool, error) {
	if !a.guarded() {
		return guard.Known{}, false, nil
	}
	if cache, err := a.pullThrough(ctx); err != nil || cache {
		return guard.Known{}, false, errors.Join(err, errCache(cache))
	}
	repository, digest, found, err := a.reading.AnyImage(ctx)
	if err != nil || !found {
		return guard.Known{}, false, err
	}
	known := guard.Known{Repository: repository, Digest: digest.String()}
	return known, true, a.proof(known)(ctx)
}

func (a *access) pullThrough(ctx context.Context) (bool, error) {
	if a.allowed.PullThrough {
		return true, nil
	}
	return a.reading.PullThrough(ctx)
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

// errUnrecognized refuses a registry that nothing ties to the storage.
func errUnrecognized() error {
	return fmt.Errorf("%w: the storage holds no image by which the registry could be recognized: stop it and say --offline",
		guard.ErrUnproven)
}

// samples is how many images a registry must answer for before the first
// write: enough to notice an older copy of the storage.
const samples = 32

// serves proves that each registry answers for images of this storage.
func (a *access) serves(ctx context.Context, known []guard.Known) error {
	for _, g := range a.allowed.Guards {
		if err := g.Serves(ctx, known); err != nil {
			return err
		}
	}
	return nil
}

// proof is the proof that each registry serves an image and takes no writes.
func (a *access) proof(known guard.Known) func(context.Context) error {
	return a.ask(func(ctx context.Context, g *guard.Guard) error { return g.Prove(ctx, known) })
}

// proofOfReadOnly is the proof for registries that were recognized before.
func (a *access) proofOfReadOnly(repository string) func(context.Context) error {
	return a.ask(func(ctx context.Context, g *guard.Guard) error { return g.ProveReadOnly(ctx, repository) })
}

func (a *access) ask(prove func(context.Context, *guard.Guard) error) func(context.Context) error {
	return func(ctx context.Context) error {
		for _, g := range a.allowed.Guards {
			if err := prove(ctx, g); err != nil {
				return err
			}
		}
		return nil
	}
}

// proofs stand around all writing, with a guard that depends on what is done.
func (a *access) proofs(guard func(context.Context) error) execute.Proofs {
	return execute.Proofs{Guard: guard, Beat: a.lock.Beat, Held: a.held, Sync: a.sync()}
}

// sync is nil where a driver has nothing to wait for.
func (a *access) sync() func(context.Context) error {
	if volume, ok := a.driver.(blob.Volume); ok {
		return volume.Sync
	}
	return nil
}

// free is the room on the volume, zero where there is none to ask.
func (a *access) free(ctx context.Context) int64 {
	volume, ok := a.driver.(blob.Volume)
	if !ok {
		return 0
	}
	free, err := volume.Free(ctx)
	if err != nil {
		return 0 // a figure for people; nothing is decided by it
	}
	return free
}

// A lock's holder shows each minute that it lives. Others take it for gone after
// ten minutes of silence, so it takes itself for gone before that.
const (
	heartbeat = time.Minute
	silence   = 8 * time.Minute
)

// keepBeating beats until it is stopped, and ends the context when the lock is
// lost, or could not be renewed for so long that others may take it over.
func keepBeating(ctx context.Context, lock blob.Lock) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	ticker := time.NewTicker(heartbeat)
	silent := time.AfterFunc(silence, func() {
		cancel(fmt.Errorf("%w: it could not be renewed for %s", blob.ErrLockLost, silence))
	})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				switch err := lock.Beat(ctx); {
				case err == nil:
					silent.Reset(silence)
				case errors.Is(err, blob.ErrLockLost):
					cancel(err)
				}
			}
		}
	}()
	return ctx, func() {
		ticker.Stop()
		silent.Stop()
		cancel(nil)
		<-done
	}
}
