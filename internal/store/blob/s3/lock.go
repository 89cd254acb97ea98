package s3

import (
	"context"
	"errors"
	iofs "io/fs"
	"sync"
	"time"

	"github.com/ebb-io/ebb/internal/store/blob"
)

const (
	// holderSilence is how long a holder must have given no sign of life, by
	// the server's clock, to be taken for gone.
	holderSilence = 10 * time.Minute
	// beatSilence is as long as one that is known to be alive may be silent: it
	// beats each minute.
	beatSilence = 3 * time.Minute
)

// lockAttempts bounds how often Lock starts anew because others came and went.
const lockAttempts = 8

// Lock takes the lock file at path by writes that the server does only under a
// condition, and proves that it keeps to them. The file holds a random name of
// the holder and the number of its beats. It returns ErrNoConditions where the
// server does not know conditions, and leaves no file then.
func (w *Writable) Lock(ctx context.Context, path string) (blob.Lock, error) {
	if err := w.check(ctx, path); err != nil {
		return nil, err
	}
	ctx = urgently(ctx)
	f := w.lockFile(path)
	if err := f.take(ctx); err != nil {
		return nil, err
	}
	l := &lock{lockFile: f}
	if err := f.prove(ctx); err != nil {
		// Nobody shall wait for a lock that was never held.
		return nil, errors.Join(err, f.remove(context.WithoutCancel(ctx), path))
	}
	return l, nil
}

// take makes the lock file, or takes over one whose holder is silent.
func (f *lockFile) take(ctx context.Context) error {
	var held error
	for range lockAttempts {
		err := f.put(ctx, "")
		if !errors.Is(err, errTaken) {
			return err
		}
		there, err := f.look(ctx)
		if errors.Is(err, iofs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		held = &blob.LockedError{Path: f.path, Since: there.beat}
		if !there.silent() {
			return held
		}
		if err := f.put(ctx, there.etag); !errors.Is(err, errTaken) {
			return err
		}
	}
	if held == nil {
		held = &blob.LockedError{Path: f.path, Since: f.again.now().UTC()}
	}
	return held
}

// Unlock removes the lock file at path, unless its holder gave a sign of life in
// the last minutes. Where the server does not tell the times, nobody is known to
// be alive. See blob.Locker.
func (w *Writable) Unlock(ctx context.Context, path string) error {
	if err := w.check(ctx, path); err != nil {
		return err
	}
	ctx = urgently(ctx)
	f := w.lockFile(path)
	there, err := f.look(ctx)
	if err != nil {
		return err
	}
	held := &blob.LockedError{Path: path, Since: there.beat}
	if there.alive() {
		return held
	}
	// It must not be removed from under a holder that beats just now.
	err = f.put(ctx, there.etag)
	if errors.Is(err, errTaken) {
		return held
	}
	if err != nil && !errors.Is(err, ErrNoConditions) {
		return err
	}
	return w.remove(ctx, path)
}

// lock is a lock file that is held.
type lock struct {
	*lockFile
	mu   sync.Mutex
	done bool
}

// Beat writes the lock file anew if it is still this lock's.
func (l *lock) Beat(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.done {
		return l.wrap(l.path, blob.ErrLockLost)
	}
	return l.beat(urgently(ctx))
}

func (l *lock) beat(ctx context.Context) error {
	err := l.put(ctx, l.etag)
	if errors.Is(err, errTaken) {
		return l.wrap(l.path, blob.ErrLockLost)
	}
	return err
}

// Release beats once more, which proves that the lock is still this holder's
// and keeps others away, and removes the file. It does so after ctx has ended
// too. A second call does nothing.
func (l *lock) Release(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.done {
		return nil
	}
	l.done = true
	ctx = urgently(context.WithoutCancel(ctx))
	if err := l.beat(ctx); err != nil {
		return err
	}
	return l.remove(ctx, l.path)
}

// Abandon lets go of the lock and leaves its file, as the end of the process
// would. Tests play a crash with it.
func (l *lock) Abandon() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.done = true
}
