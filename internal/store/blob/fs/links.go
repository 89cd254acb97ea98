package fs

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// follower follows symbolic links to directories so that no directory is shown
// twice and no loop is entered. It compares real paths.
type follower struct {
	*walk
	root string  // the storage's real path
	seen []place // outside of the root, each reached once
}

// place is a directory outside of the root, by its real path and by the path
// of this storage under which it was shown.
type place struct{ real, path string }

func newFollower(w *walk, dir string) (*follower, error) {
	root, err := filepath.EvalSymlinks(w.Driver.root)
	if err != nil {
		return nil, err
	}
	start, err := filepath.EvalSymlinks(w.full(dir))
	if err != nil {
		return nil, err
	}
	f := &follower{walk: w, root: root}
	if _, inside := below(root, start); !inside {
		f.seen = append(f.seen, place{real: start, path: dir})
	}
	return f, nil
}

// all follows links in sorted order, then those that were found behind them.
func (f *follower) all() {
	for len(f.links) > 0 {
		round := f.links
		f.links = nil
		slices.Sort(round)
		for _, link := range round {
			if f.ctx.Err() != nil {
				return
			}
			f.one(link)
		}
	}
}

func (f *follower) one(link string) {
	target, err := filepath.EvalSymlinks(f.full(link))
	if err != nil {
		f.fail(link, err)
		return
	}
	if path, known := f.known(target); known {
		f.visitor.Link(link, path)
		return
	}
	if err := f.holds(target); err != nil {
		f.fail(link, err)
		return
	}
	f.seen = append(f.seen, place{real: target, path: link})
	f.run(task{dir: link})
}

// known is the path under which the storage shows target already.
func (f *follower) known(target string) (string, bool) {
	if path, ok := below(f.root, target); ok {
		return path, true
	}
	for _, p := range f.seen {
		if rest, ok := below(p.real, target); ok {
			return strings.TrimSuffix(p.path+"/"+rest, "/"), true
		}
	}
	return "", false
}

// holds refuses a target above something that is shown already: its files
// would have two names.
func (f *follower) holds(target string) error {
	if _, ok := below(target, f.root); ok {
		return fmt.Errorf("symbolic link leads to %s, which holds the storage itself", target)
	}
	for _, p := range f.seen {
		if _, ok := below(target, p.real); ok {
			return fmt.Errorf("symbolic link leads to %s, which holds what %s leads to", target, p.path)
		}
	}
	return nil
}

// below tells whether path is dir or lies in it, and where.
func below(dir, path string) (string, bool) {
	if path == dir {
		return "", true
	}
	return strings.CutPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}
