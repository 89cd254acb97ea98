package fs

import (
	"context"

	"golang.org/x/sys/unix"
)

// Sync writes all that the storage's file system has in memory to its disk.
func (w *Writable) Sync(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	base, err := w.openRoot()
	if err != nil {
		return err
	}
	defer unix.Close(base)
	if err := syncAll(base); err != nil {
		return w.wrap("", err)
	}
	return nil
}

// Free is the room that the file system offers to a user without privileges.
func (w *Writable) Free(ctx context.Context) (int64, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	base, err := w.openRoot()
	if err != nil {
		return 0, err
	}
	defer unix.Close(base)
	var st unix.Statfs_t
	if err := unix.Fstatfs(base, &st); err != nil {
		return 0, w.wrap("", err)
	}
	return int64(st.Bavail) * blockSize(&st), nil
}
