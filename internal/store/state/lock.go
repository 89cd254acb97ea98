package state

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// ErrBusy says that another holds the lock.
var ErrBusy = errors.New("the engine is held by another pass, or by hold")

// everybodys is the folder where programs of all users meet: a file there can
// be locked by everybody who can read it.
const everybodys = "/run/lock"

// again is how long to wait before a lock is tried again.
const again = 100 * time.Millisecond

// openEngine opens the file whose flock(2) keeps passes off an engine. Any program
// may take it. Where this user can make none in everybody's folder it lies in the
// state folder, which keeps off those who use that.
func (d *Dir) openEngine(engine string) (*os.File, error) {
	f, err := openLock(filepath.Join(d.locks, lockName(engine)))
	if errors.Is(err, errCanNotMake) {
		return openLock(d.file(lockName(engine)))
	}
	return f, err
}

func lockName(engine string) string { return "ebb-" + safe(engine) + ".lock" }

// safe makes an engine's ID a part of a file name.
func safe(id string) string {
	odd := func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '_' && c != ':'
	}
	if id == "" || len(id) > 128 || strings.ContainsFunc(id, odd) {
		sum := sha256.Sum256([]byte(id))
		return hex.EncodeToString(sum[:])
	}
	return strings.ReplaceAll(id, ":", "-")
}

// Lock takes an engine's lock or returns ErrBusy.
func (d *Dir) Lock(engine string) (release func() error, err error) {
	f, err := d.openEngine(engine)
	if err != nil {
		return nil, err
	}
	if err := flock(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f.Close, nil
}

// Hold waits for an engine's lock until ctx ends; waiting is called where it must
// wait. Who inherits the file holds the lock as well, until the last of them has
// closed it or one releases it.
func (d *Dir) Hold(ctx context.Context, engine string, waiting func()) (*os.File, error) {
	f, err := d.openEngine(engine)
	if err != nil {
		return nil, err
	}
	return f, wait(ctx, f, waiting)
}

// Release gives up what Hold took, for all who inherited the file too.
func Release(f *os.File) error {
	return errors.Join(unix.Flock(int(f.Fd()), unix.LOCK_UN), f.Close())
}

// guard keeps two programs from writing the journal at once.
func (d *Dir) guard(ctx context.Context) (release func(), err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, d.patience, fmt.Errorf("it has not let go for %s", d.patience))
	defer cancel()
	f, err := openLock(d.file(guardFile))
	if err == nil {
		err = wait(ctx, f, func() {})
	}
	if errors.Is(err, ErrBusy) {
		err = fmt.Errorf("another ebb-host holds %s: %w", f.Name(), context.Cause(ctx))
	}
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	return func() { _ = f.Close() }, nil
}

// wait locks a file, or closes it.
func wait(ctx context.Context, f *os.File, waiting func()) error {
	for tried := 0; ; tried++ {
		err := flock(f)
		if err == nil {
			return nil
		}
		if tried == 0 {
			waiting()
		}
		if !errors.Is(err, ErrBusy) || !pause(ctx) {
			return errors.Join(err, context.Cause(ctx), f.Close())
		}
	}
}

func pause(ctx context.Context) bool {
	timer := time.NewTimer(again)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

func flock(f *os.File) error {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, unix.EWOULDBLOCK):
		return fmt.Errorf("%w (%s)", ErrBusy, f.Name())
	}
	return fmt.Errorf("lock %s: %w", f.Name(), err)
}

// errCanNotMake says that there is no file, and that this user can make none.
var errCanNotMake = errors.New("it can not be made")

// openLock opens the file of a lock. One that is there is only read: where
// everybody may write, a system lets nobody create another's file anew.
func openLock(path string) (*os.File, error) {
	f, err := openRegular(path, os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		f, err = makeLock(path)
	}
	if err != nil {
		return nil, fmt.Errorf("lock: %w", err)
	}
	return f, nil
}

// makeLock makes a file that every user can lock, whatever the umask.
func makeLock(path string) (*os.File, error) {
	f, err := openRegular(path, os.O_RDONLY|os.O_CREATE|os.O_EXCL, 0o644)
	switch {
	case errors.Is(err, fs.ErrExist): // another was faster
		return openRegular(path, os.O_RDONLY, 0)
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission), errors.Is(err, unix.EROFS):
		return nil, fmt.Errorf("%w: %w", errCanNotMake, err)
	case err != nil:
		return nil, err
	}
	if err := f.Chmod(0o644); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// openRegular opens a file. It follows no link and waits for no pipe that another
// may have put there.
func openRegular(path string, flags int, mode os.FileMode) (*os.File, error) {
	f, err := os.OpenFile(path, flags|unix.O_NOFOLLOW|unix.O_NONBLOCK, mode)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(fmt.Errorf("%s: it is no regular file", path), err, f.Close())
	}
	return f, nil
}
