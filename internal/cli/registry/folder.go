package registry

import (
	"context"
	"errors"
	"fmt"
	iofs "io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	app "github.com/ebb-io/ebb/internal/app/registry"
	"github.com/ebb-io/ebb/internal/cli"
	"github.com/ebb-io/ebb/internal/report"
	"github.com/ebb-io/ebb/internal/store/blob"
	"github.com/ebb-io/ebb/internal/store/blob/fs"
	"github.com/ebb-io/ebb/internal/store/registry"
)

// folder is a storage on a file system.
type folder struct {
	path string // absolute
}

func parseFileURL(text string) (storage, error) {
	u, err := url.Parse(text)
	if err != nil || u.Host != "" || u.User != nil || u.RawQuery != "" || !strings.HasPrefix(u.Path, "/") {
		return storage{}, cli.Usagef("storage %s: want file:///path, with three slashes", withoutSecrets(text))
	}
	return parseFolder(u.Path)
}

func parseFolder(path string) (storage, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return storage{}, cli.Usagef("storage %s: %w", path, err)
	}
	return folderStorage(absolute), nil
}

func folderStorage(path string) storage {
	u := url.URL{Scheme: "file", Path: path}
	return storage{
		name:     path,
		identity: "file " + real(path),
		Store:    report.Store{URL: u.String(), Name: filepath.Base(path), Versioned: report.VersionsNot},
		place:    folder{path},
		doubt:    "is its volume mounted?",
	}
}

func real(path string) string {
	if resolved, err := filepath.EvalSymlinks(path); err == nil {
		return resolved
	}
	return path
}

func (f folder) open(context.Context) (blob.Reader, error) {
	if err := f.look(); err != nil {
		return nil, err
	}
	d, err := fs.Open(f.path)
	if err != nil {
		return nil, f.explain(err)
	}
	return d, nil
}

func (f folder) openWritable(context.Context) (app.MendingDriver, error) {
	if err := f.look(); err != nil {
		return nil, err
	}
	d, err := fs.OpenWritable(f.path)
	if err != nil {
		return nil, f.explain(err)
	}
	return writable{d}, nil
}

func (f folder) look() error {
	info, err := os.Stat(f.path)
	switch {
	case errors.Is(err, iofs.ErrNotExist):
		return fmt.Errorf("storage %s does not exist: is its volume mounted?", f.path)
	case err != nil:
		return f.explain(err)
	case !info.IsDir():
		return fmt.Errorf("storage %s is a file: name the folder that holds docker/registry/v2, or config:PATH if it is the registry's configuration", f.path)
	}
	return nil
}

func (f folder) explain(err error) error {
	var lock *lockError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &lock):
		return f.explainLock(lock)
	case errors.Is(err, iofs.ErrPermission):
		return fmt.Errorf("storage %s can not be read (%w): run as the user that the registry runs as", f.path, reasonOf(err))
	case errors.Is(err, registry.ErrNoRegistry):
		return fmt.Errorf("storage %s: %w", f.path, err)
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
