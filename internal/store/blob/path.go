package blob

import (
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
)

// CheckPath returns an error that wraps fs.ErrInvalid for a path that could
// leave the storage or name one thing in two ways: an absolute one, one with
// an empty, "." or ".." element, and one that holds a NUL.
func CheckPath(path string) error {
	if strings.IndexByte(path, 0) >= 0 {
		return fmt.Errorf("path %q: %w", path, fs.ErrInvalid)
	}
	for element := range strings.SplitSeq(path, "/") {
		if element == "" || element == "." || element == ".." {
			return fmt.Errorf("path %q: %w", path, fs.ErrInvalid)
		}
	}
	return nil
}

// CheckDir is CheckPath for the root of a walk: "" is the whole storage.
func CheckDir(dir string) error {
	if dir == "" {
		return nil
	}
	return CheckPath(dir)
}

// DeleteOrder is the order in which Delete removes a batch: the indices of the
// files, then those of the directories, the deepest first. Nothing within a
// group stands in the way of anything else in it.
func DeleteOrder(paths []string) [][]int {
	var files []int
	dirs := map[int][]int{}
	for i, path := range paths {
		if strings.HasSuffix(path, "/") {
			depth := strings.Count(path, "/")
			dirs[depth] = append(dirs[depth], i)
			continue
		}
		files = append(files, i)
	}
	order := [][]int{files}
	depths := slices.Sorted(maps.Keys(dirs))
	for _, depth := range slices.Backward(depths) {
		order = append(order, dirs[depth])
	}
	return order
}
