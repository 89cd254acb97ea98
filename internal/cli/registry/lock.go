package registry

import (
	"context"
	"errors"
	"fmt"
	iofs "io/fs"
	"syscall"
	"time"

	"github.com/ebb-io/ebb/internal/report"
	"github.com/ebb-io/ebb/internal/store/blob"
	"github.com/ebb-io/ebb/internal/store/blob/fs"
)

// writable is a driver whose failures to lock can be told from all others: the
// lock is the first thing that is written to a storage.
type writable struct{ *fs.Writable }

// lockError is a failure to take or to remove the lock.
type lockError struct {
	path   string
	unlock bool
	err    error
}

func (e *lockError) Error() string { return e.err.Error() }
func (e *lockError) Unwrap() error { return e.err }

// Lock is blob.Locker's.
func (w writable) Lock(ctx context.Context, path string) (blob.Lock, error) {
	l, err := w.Writable.Lock(ctx, path)
	if err != nil {
		return nil, &lockError{path: path, err: err}
	}
	return l, nil
}

// explainLock says of a lock that was not taken what to do about it.
func (f folder) explainLock(e *lockError) error {
	var locked *blob.LockedError
	if errors.As(e, &locked) {
		return told{whoIsAtWork(f.path, locked, e.unlock), e}
	}
	for _, reason := range []struct {
		is   error
		todo string
	}{
		{iofs.ErrPermission, "run as the user that the registry runs as"},
		{syscall.EROFS, "mount it for writing"},
		{syscall.ENOSPC, "the lock is an empty file, so remove any file to make room for it"},
		{syscall.EDQUOT, "the lock is an empty file, so remove any file to make room for it"},
	} {
		if errors.Is(e, reason.is) {
			return fmt.Errorf("storage %s can not be written (lock %s: %w): %s", f.path, e.path, reasonOf(e), reason.todo)
		}
	}
	return e.err
}

func whoIsAtWork(name string, locked *blob.LockedError, unlock bool) string {
	seen := locked.Since.UTC().Format(time.RFC3339)
	if unlock {
		return fmt.Sprintf("storage %s: the run that holds the lock is at work, its last sign of life was at %s: wait for it, or end it", name, seen)
	}
	return fmt.Sprintf("storage %s: another run is at work, its last sign of life was at %s: wait for it, or, if it is gone, run ebb registry unlock --storage %s",
		name, seen, report.ShellQuote(name))
}

// told is an error in other words.
type told struct {
	text string
	error
}

func (t told) Error() string { return t.text }
func (t told) Unwrap() error { return t.error }
