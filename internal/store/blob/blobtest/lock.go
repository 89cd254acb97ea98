package blobtest

import (
	"context"
	"errors"
	iofs "io/fs"
	"sync"
	"testing"
	"time"

	"github.com/ebb-io/ebb/internal/store/blob"
)

var volumeTests = map[string]func(*testing.T, Fixture){
	"sync": volumeSync,
	"free": volumeFree,
}

func volumeSync(t *testing.T, f Fixture) {
	f.put("a/one")
	f.Deleter.Delete(t.Context(), []string{"a/one"})
	if err := f.Volume.Sync(t.Context()); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := f.Volume.Sync(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("sync: %v, want the context's error", err)
	}
}

func volumeFree(t *testing.T, f Fixture) {
	if free, err := f.Volume.Free(t.Context()); err != nil || free <= 0 {
		t.Errorf("free: %d, %v", free, err)
	}
}

var lockTests = map[string]func(*testing.T, Fixture){
	"two lockers":          lockTwo,
	"same driver twice":    lockSame,
	"many at once":         lockMany,
	"release":              lockRelease,
	"release twice":        lockReleaseTwice,
	"beat":                 lockBeat,
	"lost":                 lockLost,
	"lost to another":      lockLostToAnother,
	"unlock absent":        unlockAbsent,
	"unlock held":          unlockHeld,
	"left behind":          lockLeftBehind,
	"unlock left behind":   unlockLeftBehind,
	"refused":              lockRefused,
	"cancelled":            lockCancelled,
	"different lock files": lockDifferent,
}

const lockPath = "a/.lock"

// mustLock takes a lock in a directory that exists.
func mustLock(t *testing.T, f Fixture, l blob.Locker) blob.Lock {
	t.Helper()
	f.put("a/file")
	lock, err := l.Lock(t.Context(), lockPath)
	if err != nil {
		t.Fatal(err)
	}
	return lock
}

func mustBeLocked(t *testing.T, err error) {
	t.Helper()
	var locked *blob.LockedError
	if !errors.As(err, &locked) {
		t.Fatalf("%v, want a *blob.LockedError", err)
	}
	if locked.Path != lockPath || locked.Since.IsZero() {
		t.Errorf("locked error is %+v", locked)
	}
}

func lockTwo(t *testing.T, f Fixture) {
	held := mustLock(t, f, f.Locker)
	_, err := f.Rival.Lock(t.Context(), lockPath)
	mustBeLocked(t, err)
	if err := held.Beat(t.Context()); err != nil {
		t.Errorf("the rival's attempt broke the lock: %v", err)
	}
}

func lockSame(t *testing.T, f Fixture) {
	mustLock(t, f, f.Locker)
	_, err := f.Locker.Lock(t.Context(), lockPath)
	mustBeLocked(t, err)
}

func lockMany(t *testing.T, f Fixture) {
	f.put("a/file")
	var mu sync.Mutex
	var won int
	var all sync.WaitGroup
	for i := range 16 {
		locker := []blob.Locker{f.Locker, f.Rival}[i%2]
		all.Go(func() {
			_, err := locker.Lock(t.Context(), lockPath)
			mu.Lock()
			defer mu.Unlock()
			var locked *blob.LockedError
			switch {
			case err == nil:
				won++
			case !errors.As(err, &locked):
				t.Errorf("lock: %v", err)
			}
		})
	}
	all.Wait()
	if won != 1 {
		t.Errorf("%d hold the lock, want 1", won)
	}
}

func lockRelease(t *testing.T, f Fixture) {
	lock := mustLock(t, f, f.Locker)
	f.there(t, lockPath)
	if err := lock.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.gone(t, lockPath)
	if err := lock.Beat(t.Context()); !errors.Is(err, blob.ErrLockLost) {
		t.Errorf("beat after release: %v", err)
	}
	mustLock(t, f, f.Rival)
}

func lockReleaseTwice(t *testing.T, f Fixture) {
	lock := mustLock(t, f, f.Locker)
	if err := lock.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	other := mustLock(t, f, f.Rival)
	if err := lock.Release(t.Context()); err != nil {
		t.Errorf("second release: %v", err)
	}
	if err := other.Beat(t.Context()); err != nil {
		t.Errorf("the second release took another's lock: %v", err)
	}
}

func lockBeat(t *testing.T, f Fixture) {
	lock := mustLock(t, f, f.Locker)
	for range 3 {
		if err := lock.Beat(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	f.there(t, lockPath)
}

func lockLost(t *testing.T, f Fixture) {
	lock := mustLock(t, f, f.Locker)
	f.Remove(lockPath)
	if err := lock.Beat(t.Context()); !errors.Is(err, blob.ErrLockLost) {
		t.Errorf("beat: %v, want one that wraps blob.ErrLockLost", err)
	}
	f.gone(t, lockPath)
	if err := lock.Release(t.Context()); !errors.Is(err, blob.ErrLockLost) {
		t.Errorf("release: %v, want one that wraps blob.ErrLockLost", err)
	}
}

func lockLostToAnother(t *testing.T, f Fixture) {
	lock := mustLock(t, f, f.Locker)
	f.Remove(lockPath)
	other := mustLock(t, f, f.Rival)
	if err := lock.Beat(t.Context()); !errors.Is(err, blob.ErrLockLost) {
		t.Errorf("beat: %v, want one that wraps blob.ErrLockLost", err)
	}
	if err := lock.Release(t.Context()); !errors.Is(err, blob.ErrLockLost) {
		t.Errorf("release: %v, want one that wraps blob.ErrLockLost", err)
	}
	f.there(t, lockPath)
	if err := other.Beat(t.Context()); err != nil {
		t.Errorf("the other's beat: %v", err)
	}
}

func unlockAbsent(t *testing.T, f Fixture) {
	f.put("a/file")
	if err := f.Locker.Unlock(t.Context(), lockPath); !errors.Is(err, iofs.ErrNotExist) {
		t.Errorf("unlock: %v, want one that wraps fs.ErrNotExist", err)
	}
}

func unlockHeld(t *testing.T, f Fixture) {
	lock := mustLock(t, f, f.Locker)
	mustBeLocked(t, f.Rival.Unlock(t.Context(), lockPath))
	if err := lock.Beat(t.Context()); err != nil {
		t.Errorf("beat: %v", err)
	}
}

// long is more than any driver waits for a sign of life.
const long = time.Hour

func lockLeftBehind(t *testing.T, f Fixture) {
	f.Put(lockPath, nil, moment)
	lock, err := f.Locker.Lock(t.Context(), lockPath)
	if f.Patient {
		mustBeLocked(t, err)
		f.Later(long)
		lock, err = f.Locker.Lock(t.Context(), lockPath)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := lock.Beat(t.Context()); err != nil {
		t.Errorf("beat: %v", err)
	}
}

func unlockLeftBehind(t *testing.T, f Fixture) {
	f.Put(lockPath, nil, moment)
	err := f.Locker.Unlock(t.Context(), lockPath)
	if f.Patient {
		mustBeLocked(t, err)
		f.Later(long)
		err = f.Locker.Unlock(t.Context(), lockPath)
	}
	if err != nil {
		t.Fatal(err)
	}
	f.gone(t, lockPath)
}

func lockRefused(t *testing.T, f Fixture) {
	for _, path := range append([]string{"", "a/"}, refused...) {
		if _, err := f.Locker.Lock(t.Context(), path); !errors.Is(err, iofs.ErrInvalid) {
			t.Errorf("lock %q: %v, want one that wraps fs.ErrInvalid", path, err)
		}
		if err := f.Locker.Unlock(t.Context(), path); !errors.Is(err, iofs.ErrInvalid) {
			t.Errorf("unlock %q: %v, want one that wraps fs.ErrInvalid", path, err)
		}
	}
}

func lockCancelled(t *testing.T, f Fixture) {
	lock := mustLock(t, f, f.Locker)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := f.Rival.Lock(ctx, lockPath); !errors.Is(err, context.Canceled) {
		t.Errorf("lock: %v", err)
	}
	if err := lock.Beat(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("beat: %v", err)
	}
	if err := f.Rival.Unlock(ctx, lockPath); !errors.Is(err, context.Canceled) {
		t.Errorf("unlock: %v", err)
	}
}

func lockDifferent(t *testing.T, f Fixture) {
	mustLock(t, f, f.Locker)
	if _, err := f.Rival.Lock(t.Context(), "a/.other"); err != nil {
		t.Errorf("another lock file: %v", err)
	}
}
