package fs

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	iofs "io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Put makes or replaces a file: it is written beside its place, brought to the
// disk and renamed. It keeps the owner and the mode of the file that it
// replaces; a new file and new directories take those of the directory they are
// made in, so that the registry can read them whoever runs Ebb. A symbolic link
// to a file in the last place of the path is replaced and not followed.
func (w *Writable) Put(ctx context.Context, path string, data []byte) error {
	if err := w.check(ctx, path); err != nil {
		return err
	}
	if err := w.put(w.full(path), data); err != nil {
		return w.wrap(path, fmt.Errorf("put: %w", err))
	}
	return nil
}

func (w *Writable) put(full string, data []byte) error {
	dir := filepath.Dir(full)
	if err := w.makeDir(dir); err != nil {
		return err
	}
	like, err := likeness(full, dir)
	if err != nil {
		return err
	}
	temp := filepath.Join(dir, ".ebb-"+rand.Text()+".tmp")
	if err := writeNew(temp, data, like); err != nil {
		return errors.Join(err, discard(temp))
	}
	if err := os.Rename(temp, full); err != nil {
		return errors.Join(err, discard(temp))
	}
	return syncDir(dir)
}

// owned is whom a file belongs to and who may use it.
type owned struct {
	uid, gid int
	mode     uint32
}

func ownedBy(st *unix.Stat_t) owned {
	return owned{uid: int(st.Uid), gid: int(st.Gid), mode: uint32(st.Mode) & 0o777}
}

// likeness is what a file at full shall look like. What stands in its place and
// is no file is never replaced.
func likeness(full, dir string) (owned, error) {
	var st unix.Stat_t
	err := statAt(unix.AT_FDCWD, full, &st, 0)
	switch {
	case err == nil && kindOf(&st) != isFile:
		return owned{}, errNotFile
	case err == nil:
		return ownedBy(&st), nil
	case err != unix.ENOENT:
		return owned{}, err
	case statAt(unix.AT_FDCWD, full, &st, unix.AT_SYMLINK_NOFOLLOW) == nil:
		return owned{}, errDangling
	}
	if err := statAt(unix.AT_FDCWD, dir, &st, 0); err != nil {
		return owned{}, err
	}
	like := ownedBy(&st)
	like.mode &= 0o666
	return like, nil
}

func writeNew(path string, data []byte, like owned) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = like.give(f)
	}
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// give changes the owner first: that takes bits from the mode.
func (o owned) give(f *os.File) error {
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return err
	}
	if int(st.Uid) != o.uid || int(st.Gid) != o.gid {
		if err := f.Chown(o.uid, o.gid); err != nil {
			return fmt.Errorf("%w (run as the user that the registry's files belong to, or as root)", err)
		}
	}
	return f.Chmod(os.FileMode(o.mode))
}

// makeDir makes a directory and those above it that are not there. The root is
// there, or something is wrong with the volume.
func (w *Writable) makeDir(dir string) error {
	var st unix.Stat_t
	err := statAt(unix.AT_FDCWD, dir, &st, 0)
	if err != unix.ENOENT || dir == w.root {
		return err
	}
	above := filepath.Dir(dir)
	if err := w.makeDir(above); err != nil {
		return err
	}
	if err := statAt(unix.AT_FDCWD, above, &st, 0); err != nil {
		return err
	}
	err = os.Mkdir(dir, 0o700)
	if errors.Is(err, iofs.ErrExist) {
		return w.madeMeanwhile(dir)
	}
	if err != nil {
		return err
	}
	if err := giveDir(dir, ownedBy(&st)); err != nil {
		return errors.Join(err, os.Remove(dir))
	}
	return syncDir(above)
}

// madeMeanwhile tells a directory that another Put made from a symbolic link
// that leads nowhere.
func (w *Writable) madeMeanwhile(dir string) error {
	var st unix.Stat_t
	err := statAt(unix.AT_FDCWD, dir, &st, 0)
	if err == unix.ENOENT {
		return errDangling
	}
	return err
}

func giveDir(dir string, like owned) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	return like.give(f)
}

func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}

// discard removes a file that may not be there.
func discard(path string) error {
	if err := os.Remove(path); !errors.Is(err, iofs.ErrNotExist) {
		return err
	}
	return nil
}
