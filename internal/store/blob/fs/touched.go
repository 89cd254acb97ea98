package fs

import (
	"context"
	"fmt"
	iofs "io/fs"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ebb-io/ebb/internal/store/blob"
)

var _ blob.Folders = (*Driver)(nil)

// Touched is a directory's time stamp. See blob.Folders.
func (d *Driver) Touched(ctx context.Context, dir string) (time.Time, error) {
	if err := ctx.Err(); err != nil {
		return time.Time{}, err
	}
	if err := blob.CheckPath(dir); err != nil {
		return time.Time{}, d.wrap("", err)
	}
	var st unix.Stat_t
	if err := statAt(unix.AT_FDCWD, d.full(dir), &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return time.Time{}, d.explain(dir, err)
	}
	if kindOf(&st) != isDir {
		return time.Time{}, d.wrap(dir, fmt.Errorf("%w: %w", iofs.ErrNotExist, errNotDirectory))
	}
	return modTime(&st), nil
}
