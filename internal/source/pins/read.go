package pins

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
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

// readFile reads a small regular file. A pipe or a device would never end, and
// is not opened. Its errors do not name the path.
func readFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, failed(err)
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("not a regular file")
	}
	file, err := os.OpenFile(path, os.O_RDONLY|nonBlocking, 0)
	if err != nil {
		return nil, failed(err)
	}
	defer func() { _ = file.Close() }() // it was only read
	content, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err != nil {
		return nil, failed(err)
	}
	if len(content) > maxFile {
		return nil, fmt.Errorf("larger than %d bytes", maxFile)
	}
	return content, nil
}
