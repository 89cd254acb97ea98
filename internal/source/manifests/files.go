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
// Files of a folder that are skipped because of their name are named within it.
func list(path string) (files, skipped []string, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, nil, unreadable(path, err)
	}
	if !info.IsDir() {
		return []string{path}, nil, nil
	}
	w := walk{root: path, seen: map[string]bool{}}
	if err := w.folder(path); err != nil {
		return nil, nil, err
	}
	if len(w.files) == 0 {
		return nil, nil, incomplete(path, "is a folder without any *.yaml, *.yml or *.json: give the one that kubectl get -o yaml wrote to")
	}
	return w.files, w.skipped, nil
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
	root    string
	seen    map[string]bool // folders by their real path: links may form a circle
	files   []string
	skipped []string
}

// skip leaves a file out because of its name.
func (w *walk) skip(path string) {
	if name, err := filepath.Rel(w.root, path); err == nil {
		path = name
	}
	w.skipped = append(w.skipped, path)
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
		w.skip(path)
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
