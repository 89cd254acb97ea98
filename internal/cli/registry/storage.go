package registry

import (
	"errors"
	"fmt"
	iofs "io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/ebb-io/ebb/internal/cli"
	"github.com/ebb-io/ebb/internal/report"
	"github.com/ebb-io/ebb/internal/store/blob/fs"
	"github.com/ebb-io/ebb/internal/store/registry"
)

// storage is where a registry keeps its files.
type storage struct {
	path string // absolute
}

// parseStorage reads a path or a file URL.
func parseStorage(text string) (storage, error) {
	path := text
	scheme, _, isURL := strings.Cut(text, ":")
	switch {
	case text == "":
		return storage{}, errNoStorage()
	case isURL && (scheme == "s3" || scheme == "config"):
		return storage{}, cli.Usagef("storage %s: %s: is not supported in this version: name a folder", text, scheme)
	case strings.HasPrefix(text, "file:"):
		u, err := url.Parse(text)
		if err != nil || u.Host != "" || !strings.HasPrefix(u.Path, "/") {
			return storage{}, cli.Usagef("storage %s: want file:///path, with three slashes", text)
		}
		path = u.Path
	case strings.Contains(text, "://"):
		return storage{}, cli.Usagef("storage %s: %s:// is no kind of storage: name a folder", text, scheme)
	}
	absolute, err := filepath.Abs(path)
	if err != nil {
		return storage{}, cli.Usagef("storage %s: %w", text, err)
	}
	return storage{path: absolute}, nil
}

func errNoStorage() error {
	return cli.Usagef("--storage is missing: name the folder that holds docker/registry/v2 (or set EBB_STORAGE)")
}

// describe names the storage in documents.
func (s storage) describe() report.Store {
	u := url.URL{Scheme: "file", Path: s.path}
	return report.Store{URL: u.String(), Name: filepath.Base(s.path)}
}

// is tells whether a document's storage is this one, under whatever name.
func (s storage) is(other report.Store) bool {
	theirs, err := parseStorage(other.URL)
	return err == nil && (theirs.path == s.path || real(theirs.path) == real(s.path))
}

func real(path string) string {
	if resolved, err := filepath.EvalSymlinks(path); err == nil {
		return resolved
	}
	return path
}

// open reads the storage and can not write.
func (s storage) open() (*fs.Driver, error) {
	if err := s.look(); err != nil {
		return nil, err
	}
	d, err := fs.Open(s.path)
	return d, s.explain(err)
}

// openWritable is for run, repair and unlock.
func (s storage) openWritable() (writable, error) {
	if err := s.look(); err != nil {
		return writable{}, err
	}
	d, err := fs.OpenWritable(s.path)
	return writable{d}, s.explain(err)
}

func (s storage) look() error {
	info, err := os.Stat(s.path)
	switch {
	case errors.Is(err, iofs.ErrNotExist):
		return fmt.Errorf("storage %s does not exist: is its volume mounted?", s.path)
	case err != nil:
		return s.explain(err)
	case !info.IsDir():
		return fmt.Errorf("storage %s is a file: name the folder that holds docker/registry/v2", s.path)
	}
	return nil
}

// explain says of an error what to do about it.
func (s storage) explain(err error) error {
	var lock *lockError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &lock):
		return s.explainLock(lock)
	case errors.Is(err, iofs.ErrPermission):
		return fmt.Errorf("storage %s can not be read (%w): run as the user that the registry runs as", s.path, reasonOf(err))
	case errors.Is(err, registry.ErrNoRegistry):
		return fmt.Errorf("storage %s: %w", s.path, err)
	}
	return err
}

// reasonOf is the system's reason without the path.
func reasonOf(err error) error {
	var pathError *iofs.PathError
	if errors.As(err, &pathError) {
		return pathError.Err
	}
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return errno
	}
	return err
}
