package fs

import (
	"context"
	"errors"
	"fmt"
	iofs "io/fs"
	"path/filepath"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/ebb-io/ebb/internal/store/blob"
)

// workers is how many directories are read at once: more than a disk that is
// cached needs, and about what hides the latency of one that is not.
const workers = 16

// walk is one call of Walk.
type walk struct {
	*Driver
	ctx     context.Context
	visitor blob.Visitor
	base    int // the root, open
	queue   *queue

	mu    sync.Mutex
	links []string // to directories, to be followed after all else
}

// entry is a name in a directory. The name is only lent.
type entry struct {
	name []byte
	kind kind
}

// progress is how a listing stands.
type progress uint8

const (
	some   progress = iota // names came, the end is near
	plenty                 // many names came, so there are probably more
	ended
)

// scratch is what a worker needs again and again.
type scratch struct {
	buffer  []byte
	entries []entry
	found   []task
}

func newScratch() *scratch { return &scratch{buffer: make([]byte, 32<<10)} }

// Walk shows the files below dir. See blob.Reader.
func (d *Driver) Walk(ctx context.Context, dir string, v blob.Visitor) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := blob.CheckDir(dir); err != nil {
		return d.wrap("", err)
	}
	base, err := d.openRoot()
	if err != nil {
		return failOrAbsent(v, dir, err)
	}
	defer unix.Close(base)
	w := &walk{Driver: d, ctx: ctx, visitor: v, base: base}
	if !w.followsRoot(dir) {
		return ctx.Err()
	}
	h, err := w.open(dir)
	if err != nil {
		return failOrAbsent(v, dir, d.explain(dir, err))
	}
	w.run(task{dir: dir, handle: h})
	w.follow(dir)
	return ctx.Err()
}

func (w *walk) follows(link string) bool {
	if w.visitor.Follow == nil {
		return true
	}
	target, err := w.target(link)
	if err != nil {
		w.fail(link, err)
		return false
	}
	return w.visitor.Follow(link, target)
}

// target is where a symbolic link leads: a path of this storage, or an absolute
// one outside of it.
func (w *walk) target(link string) (string, error) {
	root, err := filepath.EvalSymlinks(w.Driver.root)
	if err != nil {
		return "", err
	}
	target, err := filepath.EvalSymlinks(w.full(link))
	if err != nil {
		return "", err
	}
	if inside, ok := below(root, target); ok {
		return inside, nil
	}
	return target, nil
}

// followsRoot asks about the walk's root where it is a symbolic link.
func (w *walk) followsRoot(dir string) bool {
	if w.visitor.Follow == nil || dir == "" {
		return true
	}
	var st unix.Stat_t
	if err := statAt(w.base, dir, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil || kindOf(&st) != isLink {
		return true // what is wrong with it, opening it tells
	}
	return w.follows(dir)
}

// failOrAbsent returns what says that there is no such directory; whatever
// else is wrong with it is for the visitor.
func failOrAbsent(v blob.Visitor, dir string, err error) error {
	if errors.Is(err, iofs.ErrNotExist) {
		return err
	}
	v.Fail(dir, err)
	return nil
}

// run reads a tree and returns when every worker is gone.
func (w *walk) run(first task) {
	w.queue = newQueue(first)
	var all sync.WaitGroup
	for range workers {
		all.Go(w.work)
	}
	all.Wait()
}

func (w *walk) work() {
	s := w.scratch.Get().(*scratch)
	defer w.scratch.Put(s)
	for {
		t, ok := w.queue.take()
		if !ok {
			return
		}
		s.found = s.found[:0]
		w.read(t, s)
		w.queue.finish(s.found)
	}
}

func (w *walk) open(dir string) (*handle, error) {
	name := dir
	if name == "" {
		name = "."
	}
	fd, err := openAt(w.base, name, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return nil, err
	}
	return newHandle(fd, dir), nil
}

func (w *walk) fail(path string, err error) { w.visitor.Fail(path, w.wrap(path, err)) }

// read reads a directory. When it is large, somebody else may read on while
// this worker still looks at the first names: a flat directory of a hundred
// thousand blobs is as parallel as a tree.
func (w *walk) read(t task, s *scratch) {
	h := t.handle
	if h == nil && w.ctx.Err() == nil {
		opened, err := w.open(t.dir)
		if err != nil {
			w.fail(t.dir, err)
			return
		}
		h = opened
	}
	if h == nil {
		return
	}
	defer h.release()
	for w.ctx.Err() == nil {
		state, err := h.listing.next(h.fd, s)
		if err != nil {
			w.fail(t.dir, err)
			return
		}
		if state == plenty {
			w.queue.push(task{dir: t.dir, handle: h.share()})
		}
		w.show(h, t.dir, s)
		if state != some {
			return
		}
	}
}

func (w *walk) show(h *handle, dir string, s *scratch) {
	for _, e := range s.entries {
		if w.ctx.Err() != nil {
			return
		}
		l := look{walk: w, dir: h.fd, path: join(dir, e.name), name: len(e.name)}
		if l.show(e.kind) {
			s.found = append(s.found, task{dir: l.path})
		}
	}
}

func join(dir string, name []byte) string {
	if dir == "" {
		return string(name)
	}
	return dir + "/" + string(name)
}

// follow handles the links that were put off: when all that has a name of its
// own is shown, what a link adds no longer depends on who came first.
func (w *walk) follow(dir string) {
	if len(w.links) == 0 || w.ctx.Err() != nil {
		return
	}
	f, err := newFollower(w, dir)
	if err != nil {
		for _, link := range w.links {
			w.fail(link, fmt.Errorf("resolve symbolic link: %w", err))
		}
		return
	}
	f.all()
}
