package fs

import (
	"context"
	"fmt"
	"io"
	iofs "io/fs"

	"golang.org/x/sys/unix"

	"github.com/ebb-io/ebb/internal/store/blob"
)

// Stat shows a file, following symbolic links.
func (d *Driver) Stat(ctx context.Context, path string) (blob.Entry, error) {
	if err := d.check(ctx, path); err != nil {
		return blob.Entry{}, err
	}
	var st unix.Stat_t
	if err := statAt(unix.AT_FDCWD, d.full(path), &st, 0); err != nil {
		return blob.Entry{}, d.explain(path, err)
	}
	return d.regular(path, &st)
}

// Read streams a file, following symbolic links. It does not wait for a pipe
// or a device: those are errors.
func (d *Driver) Read(ctx context.Context, path string, w io.Writer) (blob.Entry, error) {
	if err := d.check(ctx, path); err != nil {
		return blob.Entry{}, err
	}
	fd, err := open(d.full(path), unix.O_RDONLY|unix.O_NONBLOCK)
	if err != nil {
		return blob.Entry{}, d.explain(path, err)
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return blob.Entry{}, d.wrap(path, err)
	}
	entry, err := d.regular(path, &st)
	if err != nil {
		return blob.Entry{}, err
	}
	entry.Size, err = d.stream(ctx, fd, entry, w)
	return entry, err
}

func (d *Driver) check(ctx context.Context, path string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := blob.CheckPath(path); err != nil {
		return d.wrap("", err)
	}
	return nil
}

func (d *Driver) regular(path string, st *unix.Stat_t) (blob.Entry, error) {
	switch kindOf(st) {
	case isFile:
		return entryOf(path, st), nil
	case isDir:
		return blob.Entry{}, d.wrap(path, fmt.Errorf("%w: is a directory", iofs.ErrNotExist))
	}
	return blob.Entry{}, d.wrap(path, errNotRegular)
}

// stream copies all there is, however much the file grew or shrank since it
// was looked at, and tells how much that was. A read that fills the size
// exactly and leaves room in the buffer has met the end: most files here are
// small, and this saves them a second read.
func (d *Driver) stream(ctx context.Context, fd int, entry blob.Entry, w io.Writer) (int64, error) {
	pooled := d.buffers.Get().(*[]byte)
	defer d.buffers.Put(pooled)
	buffer, total := *pooled, int64(0)
	for {
		if err := ctx.Err(); err != nil {
			return total, err
		}
		n, err := read(fd, buffer)
		if err != nil {
			return total, d.wrap(entry.Path, err)
		}
		if err := write(w, buffer[:n]); err != nil {
			return total, err
		}
		total += int64(n)
		if n == 0 || n < len(buffer) && total == entry.Size {
			return total, nil
		}
	}
}

func read(fd int, buffer []byte) (int, error) {
	for {
		n, err := unix.Read(fd, buffer)
		if err != unix.EINTR {
			return max(n, 0), err
		}
	}
}

func write(w io.Writer, p []byte) error {
	if len(p) == 0 {
		return nil
	}
	n, err := w.Write(p)
	if err == nil && n < len(p) {
		return io.ErrShortWrite
	}
	return err
}
