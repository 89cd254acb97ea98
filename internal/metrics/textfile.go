package metrics

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// ErrNoFile says that something else than a file is where metrics shall be written.
var ErrNoFile = errors.New("not a regular file")

// CheckTextfile is ErrNoFile where metrics can never be written to a path. One
// that can not be written now is no error.
func CheckTextfile(path string) error {
	if _, err := target(path); errors.Is(err, ErrNoFile) {
		return err
	}
	return nil
}

// maxLinks is how many links may lead to a file.
const maxLinks = 40

// target is the file that a path leads to, or where it will be.
func target(path string) (string, error) {
	for range maxLinks {
		info, err := os.Lstat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist), err == nil && info.Mode().IsRegular():
			return inFull(path)
		case err != nil:
			return "", err
		case info.Mode()&fs.ModeSymlink == 0:
			return "", fmt.Errorf("%s: %w", path, ErrNoFile)
		}
		if path, err = follow(path); err != nil {
			return "", err
		}
	}
	return "", fmt.Errorf("%s: %w: links go round", path, ErrNoFile)
}

// follow is where a link leads, seen from the folder that it lies in.
func follow(link string) (string, error) {
	to, err := os.Readlink(link)
	if err != nil || filepath.IsAbs(to) {
		return to, err
	}
	folder, _ := filepath.Split(link)
	return folder + to, nil // cleaned, it could lead elsewhere
}

// inFull is a path without links to folders, so that it can be cleaned.
func inFull(path string) (string, error) {
	folder, name := filepath.Split(path)
	if folder == "" {
		return name, nil
	}
	folder, err := filepath.EvalSymlinks(folder)
	return filepath.Join(folder, name), err
}
