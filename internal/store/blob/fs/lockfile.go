package fs

import (
	"errors"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ebb-io/ebb/internal/store/blob"
)

// lockFile is an open lock file. What is done to it by path is only done while
// the path leads to this very file.
type lockFile struct {
	*Writable
	path   string
	fd     int
	st     unix.Stat_t // as it was when it was opened
	remote bool
}

func (w *Writable) lockFile(path string, flags int) (*lockFile, error) {
	// A lock on a network file system needs a file that is open for writing.
	fd, err := open(w.full(path), unix.O_RDWR|unix.O_NOFOLLOW|unix.O_NONBLOCK|flags)
	if err != nil {
		return nil, w.wrap(path, err)
	}
	f := &lockFile{Writable: w, path: path, fd: fd}
	if err := f.look(); err != nil {
		f.close()
		return nil, w.wrap(path, err)
	}
	return f, nil
}

func (f *lockFile) look() (err error) {
	if err := unix.Fstat(f.fd, &f.st); err != nil {
		return err
	}
	if kindOf(&f.st) != isFile {
		return errNotRegular
	}
	f.remote, err = f.isRemote(f.fd)
	return err
}

func (f *lockFile) close() { unix.Close(f.fd) }

// claim makes a new file this process's. Where the file system knows no flock,
// having made the file must do, and nobody will take it over.
func (f *lockFile) claim() error {
	if err := f.tryFlock(f.fd); err != nil && !unsupported(err) {
		return f.held(err)
	}
	if err := f.ours(); err != nil {
		return err
	}
	return f.touch()
}

// giveUp closes a new file that could not be claimed, and removes it unless
// somebody else has it by now.
func (f *lockFile) giveUp(err error) {
	var held *blob.LockedError
	if !errors.As(err, &held) {
		_ = f.remove() // the error that led here says more
	}
	f.close()
}

// abandoned is nil if the holder is known to be gone, and then keeps the flock.
func (f *lockFile) abandoned() error {
	if f.remote && !f.silent() {
		return f.held(unix.EWOULDBLOCK)
	}
	err := f.tryFlock(f.fd)
	if err == nil {
		return nil
	}
	// Without flock, a file system proves as little as one on a network.
	f.remote = f.remote || unsupported(err)
	return f.held(err)
}

func (f *lockFile) silent() bool { return f.now().Sub(modTime(&f.st)) >= silence }

func (f *lockFile) held(err error) error {
	if err == unix.EWOULDBLOCK || unsupported(err) {
		return &blob.LockedError{Path: f.path, Since: modTime(&f.st)}
	}
	return f.wrap(f.path, err)
}

func flock(fd int) error {
	for {
		if err := unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB); err != unix.EINTR {
			return err
		}
	}
}

func unsupported(err error) bool {
	return err == unix.ENOSYS || err == unix.ENOTSUP || err == unix.EOPNOTSUPP || err == unix.ENOLCK
}

// ours returns errMoved if the path no longer leads to this file.
func (f *lockFile) ours() error {
	var st unix.Stat_t
	err := statAt(unix.AT_FDCWD, f.full(f.path), &st, unix.AT_SYMLINK_NOFOLLOW)
	if err == unix.ENOENT || err == nil && (st.Dev != f.st.Dev || st.Ino != f.st.Ino) {
		return f.wrap(f.path, errMoved)
	}
	if err != nil {
		return f.wrap(f.path, err)
	}
	return nil
}

func (f *lockFile) remove() error {
	if err := f.ours(); err != nil {
		return err
	}
	if err := unlinkAt(unix.AT_FDCWD, f.full(f.path), 0); err != nil {
		return f.wrap(f.path, err)
	}
	return nil
}

func (f *lockFile) touch() error {
	now, err := unix.TimeToTimespec(f.now().Truncate(time.Microsecond))
	if err != nil {
		return f.wrap(f.path, err)
	}
	times := []unix.Timespec{now, now}
	if err := unix.UtimesNanoAt(unix.AT_FDCWD, f.full(f.path), times, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return f.wrap(f.path, err)
	}
	return nil
}
