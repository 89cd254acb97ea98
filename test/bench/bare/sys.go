package bare

import (
	"fmt"
	"io/fs"
	"strings"

	"golang.org/x/sys/unix"
)

// listBuffer takes several hundred names of 64 characters in one call of the kernel.
const listBuffer = 64 << 10

// readBuffer takes an ordinary manifest in one call.
const readBuffer = 4 << 10

// directory is an open one: names are resolved from it, not from the root, which saves the kernel eight steps a name.
type directory struct {
	path string
	fd   int
}

func openDir(path string) (directory, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return directory{}, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return directory{path: path, fd: fd}, nil
}

func (d directory) close() { _ = unix.Close(d.fd) } // nothing was written through it

func (d directory) list() ([]string, error) {
	var names []string
	buf := make([]byte, listBuffer)
	for {
		n, err := unix.ReadDirent(d.fd, buf)
		if err != nil {
			return nil, &fs.PathError{Op: "readdirent", Path: d.path, Err: err}
		}
		if n <= 0 {
			return names, nil
		}
		_, _, names = unix.ParseDirent(buf[:n], -1, names)
	}
}

func (d directory) lookAt(name string) error {
	var st unix.Stat_t
	if err := unix.Fstatat(d.fd, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return &fs.PathError{Op: "lstat", Path: d.path + "/" + name, Err: err}
	}
	return nil
}

func list(path string) ([]string, error) {
	d, err := openDir(path)
	if err != nil {
		return nil, err
	}
	defer d.close()
	return d.list()
}

// lookAtEach lists a directory and looks at the file of the given name under each entry.
func lookAtEach(path, file string) ([]string, error) {
	d, err := openDir(path)
	if err != nil {
		return nil, err
	}
	defer d.close()
	names, err := d.list()
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if err := d.lookAt(name + "/" + file); err != nil {
			return nil, err
		}
	}
	return names, nil
}

func read(path string) ([]byte, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	defer func() { _ = unix.Close(fd) }()
	data := make([]byte, 0, readBuffer)
	for {
		n, err := unix.Read(fd, data[len(data):cap(data)])
		if err != nil {
			return nil, &fs.PathError{Op: "read", Path: path, Err: err}
		}
		data = data[:len(data)+n]
		if n == 0 || len(data) < cap(data) {
			return data, nil
		}
		data = append(data, make([]byte, cap(data))...)[:len(data)]
	}
}

// remove deletes a file and the folder that it alone stood in.
func remove(dir, file string) error {
	if err := unix.Unlink(dir + "/" + file); err != nil {
		return fmt.Errorf("unlink %s: %w", strings.TrimSuffix(dir, "/")+"/"+file, err)
	}
	if err := unix.Rmdir(dir); err != nil {
		return fmt.Errorf("rmdir %s: %w", dir, err)
	}
	return nil
}
