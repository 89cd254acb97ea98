package fs

import (
	"context"
	"errors"
	"fmt"
	iofs "io/fs"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ebb-io/ebb/internal/store/blob"
)

// silence is how long a holder on a network file system must have given no
// sign of life to be taken for gone.
const silence = 10 * time.Minute

// attempts bounds how often Lock starts anew because others came and went.
const attempts = 16

// errMoved says that the lock file was replaced while it was being judged.
var errMoved = errors.New("lock file was replaced")

// Lock takes the lock file at path: an empty file, so that it can be made on a
// disk that is full. It is held by flock and its time stamp is the heartbeat.
// On a local file system a free flock means that the holder is gone, on any
// other one only ten minutes without a beat do.
func (w *Writable) Lock(ctx context.Context, path string) (blob.Lock, error) {
	for range attempts {
		if err := w.check(ctx, path); err != nil {
			return nil, err
		}
		l, err := w.create(path)
		if errors.Is(err, iofs.ErrExist) {
			err = w.clear(path)
		}
		if l != nil || err != nil && !errors.Is(err, errMoved) {
			return l, err
		}
	}
	return nil, &blob.LockedError{Path: path, Since: w.now().UTC()}
}

// create makes the lock file. It returns an error that wraps fs.ErrExist where
// there is one, and errMoved where it was taken away at once.
func (w *Writable) create(path string) (blob.Lock, error) {
	f, err := w.lockFile(path, unix.O_CREAT|unix.O_EXCL)
	if errors.Is(err, unix.ENOSPC) {
		return nil, fmt.Errorf("%w, not even for a lock file, which is empty: remove any file first", err)
	}
	if err != nil {
		return nil, err
	}
	if err := f.claim(); err != nil {
		f.giveUp(err)
		return nil, err
	}
	return &lock{lockFile: f}, nil
}

// clear removes a lock file whose holder is gone. It is never taken over as it
// is: a holder that wakes up after all must find that its file is not there.
func (w *Writable) clear(path string) error {
	f, err := w.lockFile(path, 0)
	if errors.Is(err, iofs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.close()
	if err := f.abandoned(); err != nil {
		return err
	}
	return f.remove()
}

// Unlock removes the lock file at path. See blob.Locker.
func (w *Writable) Unlock(ctx context.Context, path string) error {
	if err := w.check(ctx, path); err != nil {
		return err
	}
	f, err := w.lockFile(path, 0)
	if err != nil {
		return err
	}
	defer f.close()
	// A holder on a network may be cut off for good with its flock in place.
	if err := f.abandoned(); err != nil && !(f.remote && f.silent()) {
		return err
	}
	return f.remove()
}

// lock is a lock file that is held.
type lock struct {
	*lockFile
	mu   sync.Mutex
	done bool
}

// Beat sets the lock file's time stamp to now.
func (l *lock) Beat(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.done {
		return l.wrap(l.path, blob.ErrLockLost)
	}
	if err := l.ours(); err != nil {
		return lost(err)
	}
	return l.touch()
}

// Release removes the lock file if it is still this lock's. A second call does
// nothing.
func (l *lock) Release(context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.done {
		return nil
	}
	l.done = true
	defer l.close()
	return lost(l.remove())
}

// Abandon lets go of the lock and leaves its file, as the end of the process
// would. Tests play a crash with it.
func (l *lock) Abandon() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.done {
		l.done = true
		l.close()
	}
}

func lost(err error) error {
	if errors.Is(err, errMoved) {
		return fmt.Errorf("%w: %w", blob.ErrLockLost, err)
	}
	return err
}
