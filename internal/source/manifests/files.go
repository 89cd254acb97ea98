package manifests

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// list names the files under a path in a fixed order: the path itself, or what
// a folder holds at any depth. Symbolic links are followed, each folder once.
func list(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, unreadable(path, err)
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	w := walk{seen: map[string]bool{}}
	if err := w.folder(path); err != nil {
		return nil, err
	}
	if len(w.files) == 0 {
		return nil, incomplete(path, "is a folder without any *.yaml, *.yml or *.json: give the one that kubectl get -o yaml wrote to")
	}
	return w.files, nil
}

func unreadable(path string, err error) error {
	return incomplete(path, "can not be read (%w): give a file or folder that exists and is readable", reasonOf(err))
}

// reasonOf is the system's reason without the path, which the error has already.
func reasonOf(err error) error {
	var pathError *fs.PathError
	if errors.As(err, &pathError) {
		return pathError.Err
	}
	return err
}

type walk struct {
	seen  map[string]bool // folders by their real path: links may form a circle
	files []string
}

func (w *walk) folder(path string) error {
	target, err := filepath.EvalSymlinks(path)
	if err != nil {
		return unreadable(path, err)
	}
	if w.seen[target] {
		return nil
	}
	w.seen[target] = true
	entries, err := os.ReadDir(path) // sorted by name
	if err != nil {
		return unreadable(path, err)
	}
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), ".") {
			continue
		}
		if err := w.entry(filepath.Join(path, entry.Name())); err != nil {
			return err
		}
	}
	return nil
}

func (w *walk) entry(path string) error {
	info, err := os.Stat(path)
	switch {
	case err != nil && !isManifest(path):
		return nil // a link to nowhere under a name that would not be read
	case err != nil:
		return unreadable(path, err)
	case info.IsDir():
		return w.folder(path)
	case !isManifest(path):
		return nil
	case !info.Mode().IsRegular():
		return incomplete(path, "is neither a file nor a folder: take it out of the folder")
	}
	w.files = append(w.files, path)
	return nil
}

func isManifest(path string) bool {
	return slices.Contains([]string{".yaml", ".yml", ".json"}, strings.ToLower(filepath.Ext(path)))
}
