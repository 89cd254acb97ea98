package registry

import (
	"errors"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/ebb-io/ebb/internal/store/blob"
)

// TestLockErrorsSayWhatToDo: the lock is the first thing that is written, so
// that it fails says that nothing can be.
func TestLockErrorsSayWhatToDo(t *testing.T) {
	s := folder{path: "/srv/my registry"}
	held := &blob.LockedError{Path: "d/.ebb-lock", Since: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	errno := func(err error) error { return fmt.Errorf("store /srv/my registry: d/.ebb-lock: %w", err) }
	for _, test := range []struct {
		err  error
		want string
	}{
		{&lockError{path: "d/.ebb-lock", err: errno(syscall.EACCES)}, "storage /srv/my registry can not be written (lock d/.ebb-lock: permission denied): run as the user that the registry runs as"},
		{&lockError{path: "d/.ebb-lock", err: errno(syscall.EPERM), unlock: true}, "storage /srv/my registry can not be written (lock d/.ebb-lock: operation not permitted): run as the user that the registry runs as"},
		{&lockError{path: "d/.ebb-lock", err: errno(syscall.EROFS)}, "storage /srv/my registry can not be written (lock d/.ebb-lock: read-only file system): mount it for writing"},
		{&lockError{path: "d/.ebb-lock", err: fmt.Errorf("%w, not even for a lock file", errno(syscall.ENOSPC))}, "storage /srv/my registry can not be written (lock d/.ebb-lock: no space left on device): the lock is an empty file, so remove any file to make room for it"},
		{&lockError{path: "d/.ebb-lock", err: errno(syscall.EIO)}, "store /srv/my registry: d/.ebb-lock: input/output error"},
		{&lockError{path: "d/.ebb-lock", err: held}, "storage /srv/my registry: another run is at work, its last sign of life was at 2026-01-02T03:04:05Z: wait for it, or, if it is gone, run ebb registry unlock --storage '/srv/my registry'"},
		{&lockError{path: "d/.ebb-lock", err: held, unlock: true}, "storage /srv/my registry: the run that holds the lock is at work, its last sign of life was at 2026-01-02T03:04:05Z: wait for it, or end it"},
		{errno(syscall.EACCES), "storage /srv/my registry can not be read (permission denied): run as the user that the registry runs as"},
	} {
		got := s.explain(test.err)
		if got.Error() != test.want {
			t.Errorf("got  %v\nwant %s", got, test.want)
		}
		var before, after *blob.LockedError
		if errors.As(test.err, &before) != errors.As(got, &after) {
			t.Errorf("%v loses that somebody holds the lock, and its exit code", got)
		}
	}
}
