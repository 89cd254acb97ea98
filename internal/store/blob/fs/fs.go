// Package fs keeps blobs in a directory of a file system: an ext4 disk, a
// volume of a cluster, an NFS share.
//
// A Driver only reads, there is no method on it that changes anything. A
// Writable also deletes, locks and puts. But for Put, which only a repair calls,
// neither creates, changes or moves a file, the lock file apart; neither removes
// a directory that holds anything, goes above its root by a path it was given,
// or takes a failure for absence.
//
// Symbolic links are followed as a registry follows them, to files and to
// directories, inside of the root and outside.
package fs

import (
	"errors"
	"fmt"
	iofs "io/fs"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ebb-io/ebb/internal/store/blob"
)

var (
	errDangling     = errors.New("symbolic link leads nowhere (is a volume not mounted?)")
	errNotDirectory = errors.New("not a directory")
	errNotFile      = errors.New("something that is no file is in its place")
	errNotRegular   = errors.New("neither a file nor a directory")
)

// Driver reads a storage. It is safe for concurrent use.
type Driver struct {
	root    string
	scratch sync.Pool // *scratch, for walks
	buffers sync.Pool // *[]byte, for reads
}

var _ blob.Reader = (*Driver)(nil)

// Open returns a driver that reads the storage at root and cannot write. The
// root must be a directory that can be listed.
func Open(root string) (*Driver, error) {
	absolute, err := filepath.Abs(root)
	if err != nil {
		return nil, fmt.Errorf("store %s: %w", root, err)
	}
	d := &Driver{root: absolute}
	d.scratch.New = func() any { return newScratch() }
	d.buffers.New = func() any { buffer := make([]byte, 64<<10); return &buffer }
	fd, err := d.openRoot()
	if err != nil {
		return nil, err
	}
	return d, unix.Close(fd)
}

// openRoot holds on to the root for the length of one call, so that a driver
// needs no closing and does not keep a volume busy.
func (d *Driver) openRoot() (int, error) {
	fd, err := open(d.root, unix.O_RDONLY|unix.O_DIRECTORY)
	switch err {
	case nil:
		return fd, nil
	case unix.ENOTDIR:
		return -1, fmt.Errorf("store %s: %w", d.root, errNotDirectory)
	}
	return -1, fmt.Errorf("store %s: %w", d.root, err)
}

func (d *Driver) full(path string) string { return d.root + "/" + path }

func (d *Driver) wrap(path string, err error) error {
	if path == "" {
		return fmt.Errorf("store %s: %w", d.root, err)
	}
	return fmt.Errorf("store %s: %s: %w", d.root, path, err)
}

// explain is wrap for errors of an open or a stat: it makes sure that only
// what is known to be absent wraps fs.ErrNotExist.
func (d *Driver) explain(path string, err error) error {
	switch {
	case err == unix.ENOTDIR:
		return d.wrap(path, fmt.Errorf("%w: %w", iofs.ErrNotExist, err))
	case err == unix.ENOENT && d.dangling(path):
		return d.wrap(path, errDangling)
	}
	return d.wrap(path, err)
}

// dangling tells whether a path that the system calls absent has a symbolic
// link in it that leads nowhere: what is behind that link is not known.
func (d *Driver) dangling(path string) bool {
	var st unix.Stat_t
	for path != "" {
		if statAt(unix.AT_FDCWD, d.full(path), &st, unix.AT_SYMLINK_NOFOLLOW) == nil {
			return kindOf(&st) == isLink && statAt(unix.AT_FDCWD, d.full(path), &st, 0) != nil
		}
		path = path[:max(strings.LastIndexByte(path, '/'), 0)]
	}
	return false
}

// open is used instead of os.Open, which asks the poller about every file.
func open(path string, flags int) (int, error) { return openAt(unix.AT_FDCWD, path, flags) }

func openAt(dir int, path string, flags int) (int, error) {
	for {
		fd, err := unix.Openat(dir, path, flags|unix.O_CLOEXEC|unix.O_NOCTTY, 0o644)
		if err != unix.EINTR {
			return fd, err
		}
	}
}

func statAt(dir int, path string, st *unix.Stat_t, flags int) error {
	for {
		if err := unix.Fstatat(dir, path, st, flags); err != unix.EINTR {
			return err
		}
	}
}

type kind uint8

const (
	isUnknown kind = iota
	isFile
	isDir
	isLink
	isOther
)

func kindOf(st *unix.Stat_t) kind {
	switch uint32(st.Mode) & unix.S_IFMT {
	case unix.S_IFREG:
		return isFile
	case unix.S_IFDIR:
		return isDir
	case unix.S_IFLNK:
		return isLink
	}
	return isOther
}

func entryOf(path string, st *unix.Stat_t) blob.Entry {
	return blob.Entry{Path: path, Size: st.Size, ModTime: modTime(st)}
}

func modTime(st *unix.Stat_t) time.Time { return time.Unix(st.Mtim.Unix()).UTC() }
