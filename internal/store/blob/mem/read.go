package mem

import (
	"context"
	"fmt"
	"io"
	iofs "io/fs"
	"slices"
	"strings"

	"github.com/ebb-io/ebb/internal/store/blob"
)

// Stat shows an object without its content.
func (s *Store) Stat(ctx context.Context, path string) (blob.Entry, error) {
	o, err := s.get(ctx, path)
	if err != nil {
		return blob.Entry{}, err
	}
	return o.entry(path), nil
}

// Read writes an object's content to w.
func (s *Store) Read(ctx context.Context, path string, w io.Writer) (blob.Entry, error) {
	o, err := s.get(ctx, path)
	if err != nil {
		return blob.Entry{}, err
	}
	if len(o.data) == 0 {
		return o.entry(path), nil
	}
	n, err := w.Write(o.data)
	if err == nil && n < len(o.data) {
		err = io.ErrShortWrite
	}
	return o.entry(path), err
}

func (s *Store) get(ctx context.Context, path string) (*object, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := blob.CheckPath(path); err != nil {
		return nil, fmt.Errorf("store mem: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	o, ok := s.objects[path]
	if !ok {
		return nil, fmt.Errorf("store mem: %s: %w", path, iofs.ErrNotExist)
	}
	return o, nil
}

func (o *object) entry(path string) blob.Entry {
	return blob.Entry{Path: path, Size: int64(len(o.data)), ModTime: o.modTime}
}

// Walk shows the files below dir, in sorted order and from one goroutine, so
// that tests can count on it. It shows the keys of when it began.
func (s *Store) Walk(ctx context.Context, dir string, v blob.Visitor) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := blob.CheckDir(dir); err != nil {
		return fmt.Errorf("store mem: %w", err)
	}
	s.mu.Lock()
	keys := s.sorted()
	s.mu.Unlock()
	prefix := ""
	if dir != "" {
		prefix = dir + "/"
	}
	keys = under(keys, prefix)
	if len(keys) == 0 && dir != "" {
		return fmt.Errorf("store mem: directory %s: %w", dir, iofs.ErrNotExist)
	}
	w := walk{store: s, ctx: ctx, visitor: v}
	w.list(prefix, keys)
	return ctx.Err()
}

// under are the sorted keys that begin with prefix.
func under(keys []string, prefix string) []string {
	first, _ := slices.BinarySearch(keys, prefix)
	keys = keys[first:]
	end, _ := slices.BinarySearchFunc(keys, prefix, func(key, prefix string) int {
		if strings.HasPrefix(key, prefix) {
			return -1
		}
		return 1
	})
	return keys[:end]
}

type walk struct {
	store   *Store
	ctx     context.Context
	visitor blob.Visitor
}

// list shows keys, all of which begin with prefix.
func (w walk) list(prefix string, keys []string) {
	for len(keys) > 0 && w.ctx.Err() == nil {
		name, _, nested := strings.Cut(keys[0][len(prefix):], "/")
		if !nested {
			w.file(keys[0])
			keys = keys[1:]
			continue
		}
		dir := prefix + name
		inside := under(keys, dir+"/")
		w.enter(dir, inside)
		keys = keys[len(inside):]
	}
}

func (w walk) enter(dir string, inside []string) {
	step := w.visitor.Enter(dir)
	if step.Skipped() {
		return
	}
	if leaf, only := step.Leaf(); only {
		w.file(dir + "/" + leaf)
		return
	}
	w.list(dir+"/", inside)
}

func (w walk) file(path string) {
	w.store.mu.Lock()
	o, ok := w.store.objects[path]
	w.store.mu.Unlock()
	if ok {
		w.visitor.File(o.entry(path))
	}
}
