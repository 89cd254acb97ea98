package trial

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Copy makes another folder of the same files. They are hard links, which is
// safe for all that only deletes and cheap enough for hundreds of copies.
func Copy(t testing.TB, from, to string) {
	t.Helper()
	err := filepath.WalkDir(from, func(path string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		target := to + strings.TrimPrefix(path, from)
		switch {
		case entry.IsDir():
			return os.MkdirAll(target, 0o755)
		case entry.Type()&os.ModeSymlink != 0:
			link, err := os.Readlink(path)
			if err != nil {
				return err
			}
			return os.Symlink(link, target)
		}
		return os.Link(path, target)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Tree lists all files and folders below a folder, the latter with a slash at
// their end, sorted.
func Tree(t testing.TB, dir string) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		name := strings.TrimPrefix(strings.TrimPrefix(path, dir), "/")
		if entry != nil && entry.IsDir() {
			name += "/"
		}
		found = append(found, name)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(found)
	return found
}
