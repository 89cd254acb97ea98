package fs

import (
	"golang.org/x/sys/unix"
)

// look is a name in an open directory. All is asked through that directory, so
// that the kernel need not walk the whole path for each file.
type look struct {
	*walk
	dir  int    // open
	path string // from the root
	name int    // the length of the last element
}

func (l look) relative() string { return l.path[len(l.path)-l.name:] }

func (l look) stat(st *unix.Stat_t, flags int) error { return statAt(l.dir, l.relative(), st, flags) }

// show tells the visitor of it, or that it is a directory to be listed.
func (l look) show(k kind) (list bool) {
	var st unix.Stat_t
	if k == isUnknown {
		if err := l.stat(&st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
			l.fail(l.path, err)
			return false
		}
		k = kindOf(&st)
	}
	switch k {
	case isDir:
		return l.enter()
	case isFile, isLink:
		return l.behind(k)
	}
	return false
}

// behind looks at a file or behind a symbolic link. A link that leads nowhere
// is told even where the visitor would skip a directory of its name: it may as
// well be a file, and files of a listed directory are never left out.
func (l look) behind(k kind) (list bool) {
	var st unix.Stat_t
	err := l.stat(&st, 0)
	switch {
	case err == unix.ENOENT && k == isLink:
		l.fail(l.path, errDangling)
	case err != nil:
		l.fail(l.path, err)
	case kindOf(&st) == isFile && k == isLink:
		l.showLinked(&st)
	case kindOf(&st) == isFile:
		l.visitor.File(entryOf(l.path, &st))
	case kindOf(&st) == isDir && k == isLink:
		if l.follows(l.path) && l.enter() {
			l.putOff()
		}
	case kindOf(&st) == isDir:
		return l.enter()
	}
	return false
}

func (l look) putOff() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.links = append(l.links, l.path)
}

func (l look) enter() (list bool) {
	step := l.visitor.Enter(l.path)
	if step.Skipped() {
		return false
	}
	if leaf, only := step.Leaf(); only {
		l.leaf(leaf)
		return false
	}
	return true
}

// leaf looks at one file of the directory without opening it.
func (l look) leaf(name string) {
	file := look{walk: l.walk, dir: l.dir, path: l.path + "/" + name, name: l.name + 1 + len(name)}
	var st unix.Stat_t
	switch err := file.stat(&st, unix.AT_SYMLINK_NOFOLLOW); {
	case err == nil && kindOf(&st) == isFile:
		l.visitor.File(entryOf(file.path, &st))
	case err == nil && kindOf(&st) == isLink:
		file.leafBehind(l.path)
	case err == nil:
		l.visitor.Missing(l.path)
	case err == unix.ENOENT:
		l.missing()
	case err == unix.ENOTDIR:
		l.behind(isFile)
	default:
		l.fail(file.path, err)
	}
}

// leafBehind looks at a leaf of dir that is a symbolic link.
func (l look) leafBehind(dir string) {
	var st unix.Stat_t
	switch err := l.stat(&st, 0); {
	case err == unix.ENOENT:
		l.fail(l.path, errDangling)
	case err != nil:
		l.fail(l.path, err)
	case kindOf(&st) == isFile:
		l.showLinked(&st)
	default:
		l.visitor.Missing(dir)
	}
}

// showLinked shows a file behind a symbolic link, with where it really is.
func (l look) showLinked(st *unix.Stat_t) {
	target, err := l.target(l.path)
	if err != nil {
		l.fail(l.path, err)
		return
	}
	e := entryOf(l.path, st)
	e.Link = target
	l.visitor.File(e)
}

// missing makes sure that it is the file that is absent, and not the directory,
// which may be gone since it was listed.
func (l look) missing() {
	var st unix.Stat_t
	if err := l.stat(&st, 0); err != nil {
		l.fail(l.path, err)
		return
	}
	l.visitor.Missing(l.path)
}
