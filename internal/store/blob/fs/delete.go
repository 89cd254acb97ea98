package fs

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ebb-io/ebb/internal/store/blob"
)

// removers is how many paths are removed at once: enough to hide the latency
// of a share, few enough to leave a disk to those who pull.
const removers = 8

// Writable reads, deletes, locks and mends a storage. It is safe for concurrent use.
type Writable struct {
	*Driver
	now      func() time.Time
	isRemote func(fd int) (bool, error)
	tryFlock func(fd int) error
}

var (
	_ blob.Deleter = (*Writable)(nil)
	_ blob.Volume  = (*Writable)(nil)
	_ blob.Locker  = (*Writable)(nil)
	_ blob.Writer  = (*Writable)(nil)
)

// OpenWritable is Open for a storage that may be deleted from.
func OpenWritable(root string) (*Writable, error) {
	d, err := Open(root)
	if err != nil {
		return nil, err
	}
	return &Writable{Driver: d, now: time.Now, isRemote: remote, tryFlock: flock}, nil
}

// Delete removes files and empty directories. See blob.Deleter.
func (w *Writable) Delete(ctx context.Context, paths []string) []error {
	if len(paths) == 0 {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return slices.Repeat([]error{err}, len(paths))
	}
	base, err := w.openRoot()
	if err != nil {
		return slices.Repeat([]error{err}, len(paths))
	}
	defer unix.Close(base)
	errs := make([]error, len(paths))
	var failed atomic.Bool
	for _, group := range blob.DeleteOrder(paths) {
		each(group, func(i int) {
			if errs[i] = w.remove(base, paths[i]); errs[i] != nil {
				failed.Store(true)
			}
		})
	}
	if !failed.Load() {
		return nil
	}
	return errs
}

// stretch is how many neighbours one remover takes at a time. They mostly stand
// in one directory, on which two removers would wait for each other.
const stretch = 32

// each calls do for every index, a few at once.
func each(indices []int, do func(int)) {
	var next atomic.Int64
	var all sync.WaitGroup
	pieces := (len(indices) + stretch - 1) / stretch
	for range min(removers, pieces) {
		all.Go(func() {
			for i := int(next.Add(1)) - 1; i < pieces; i = int(next.Add(1)) - 1 {
				for _, index := range indices[i*stretch : min((i+1)*stretch, len(indices))] {
					do(index)
				}
			}
		})
	}
	all.Wait()
}

func (w *Writable) remove(base int, path string) error {
	name, dir := strings.CutSuffix(path, "/")
	if err := blob.CheckPath(name); err != nil {
		return w.wrap("", err)
	}
	flags := 0
	if dir {
		flags = unix.AT_REMOVEDIR
	}
	switch err := unlinkAt(base, name, flags); err {
	case nil:
		return nil
	case unix.ENOTEMPTY, unix.EEXIST:
		return w.wrap(path, blob.ErrNotEmpty)
	case unix.ENOENT, unix.ENOTDIR:
		return w.absent(base, name, err)
	default:
		return w.wrap(path, fmt.Errorf("remove: %w", err))
	}
}

// absent is nil if nothing is at the path. ENOTDIR also comes for a directory
// that is a file or a symbolic link, and ENOENT when a link on the way leads to
// a volume that is not mounted.
func (w *Writable) absent(base int, path string, err error) error {
	var st unix.Stat_t
	if statAt(base, path, &st, unix.AT_SYMLINK_NOFOLLOW) == nil {
		return w.wrap(path, fmt.Errorf("remove: %w", err))
	}
	if w.dangling(path) {
		return w.wrap(path, errDangling)
	}
	return nil
}

func unlinkAt(dir int, path string, flags int) error {
	for {
		if err := unix.Unlinkat(dir, path, flags); err != unix.EINTR {
			return err
		}
	}
}
