package pins

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"
)

// maxFile is how many bytes of one file are read: no list of images is that
// long.
const maxFile = 1 << 20

// ErrRead is every error of a file that can not be read now, whatever stands in
// it. What is wrong in a file is none.
var ErrRead = errors.New("it can not be read")

// unread is such an error in the system's words, without the path, which who
// asked for the file knows.
type unread struct{ error }

func (unread) Is(target error) bool { return target == ErrRead }

func (u unread) Unwrap() error { return u.error }

func failed(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	return unread{err}
}

// readFor is how long a file may take to be read, where the system can stop it:
// one on a file system of a program's own may give nothing for ever.
const readFor = 10 * time.Second

// readFile reads a small regular file. A pipe or a device would never end, and
// is not opened. Its errors do not name the path.
func readFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, failed(err)
	}
	if !info.Mode().IsRegular() {
		return nil, errNotRegular
	}
	return readOpened(path)
}

var (
	errNotRegular = errors.New("not a regular file")
	errKernel     = errors.New("made by the kernel as it is read, no file to list images in")
)

// readOpened looks again at what was opened.
func readOpened(path string) ([]byte, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|nonBlocking, 0)
	if err != nil {
		return nil, failed(err)
	}
	defer func() { _ = file.Close() }() // it was only read
	info, err := file.Stat()
	switch {
	case err != nil:
		return nil, failed(err)
	case !info.Mode().IsRegular():
		return nil, errNotRegular
	case ofKernel(file):
		return nil, errKernel
	}
	return content(file, readFor)
}

func content(file *os.File, within time.Duration) ([]byte, error) {
	_ = file.SetReadDeadline(time.Now().Add(within)) // most files have none, and end
	content, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err != nil {
		return nil, failed(err)
	}
	if len(content) > maxFile {
		return nil, fmt.Errorf("larger than %d bytes", maxFile)
	}
	return content, nil
}
