package mem

import (
	"context"
	"fmt"
	iofs "io/fs"
	"slices"
	"strings"
	"time"

	"github.com/ebb-io/ebb/internal/store/blob"
)

// Delete removes objects. A path with a slash at its end removes no more than
// a marker of that very name. See blob.Deleter.
func (s *Store) Delete(ctx context.Context, paths []string) []error {
	if err := ctx.Err(); err != nil {
		return slices.Repeat([]error{err}, len(paths))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	errs, failed := make([]error, len(paths)), false
	for _, group := range blob.DeleteOrder(paths) {
		for _, i := range group {
			errs[i] = s.remove(paths[i])
			failed = failed || errs[i] != nil
		}
		s.compact()
	}
	if !failed {
		return nil
	}
	return errs
}

// remove leaves the key in s.keys until compact.
func (s *Store) remove(path string) error {
	name, dir := strings.CutSuffix(path, "/")
	if err := blob.CheckPath(name); err != nil {
		return fmt.Errorf("store mem: %w", err)
	}
	if dir && len(under(s.sorted(), path)) > 0 {
		return fmt.Errorf("store mem: %s: %w", path, blob.ErrNotEmpty)
	}
	if o, ok := s.objects[path]; ok {
		s.used -= int64(len(o.data))
		delete(s.objects, path)
	}
	return nil
}

// compact brings the sorted keys up to date without sorting them anew.
func (s *Store) compact() {
	gone := func(key string) bool { _, ok := s.objects[key]; return !ok }
	if !slices.ContainsFunc(s.keys, gone) {
		return
	}
	s.keys = slices.DeleteFunc(slices.Clone(s.keys), gone)
}

// Writable is a store as a repair has it: its Put is that of blob.Writer.
type Writable struct{ *Store }

var _ blob.Writer = Writable{}

// Writable returns the store with the Put that drivers have.
func (s *Store) Writable() Writable { return Writable{s} }

// Put makes or replaces an object, stamped by the store's clock. The data is
// copied.
func (w Writable) Put(ctx context.Context, path string, data []byte) error {
	if err := w.check(ctx, path); err != nil {
		return err
	}
	w.Store.Put(path, data, w.now())
	return nil
}

// Sync has nothing to wait for.
func (s *Store) Sync(ctx context.Context) error { return ctx.Err() }

// Free is what is left of Capacity.
func (s *Store) Free(ctx context.Context) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Capacity - s.used, ctx.Err()
}

// lock is held by whoever has it; it ends with the store, a clone or Abandon.
type lock struct {
	store  *Store
	path   string
	object *object // ours is lost when another is in its place
	done   bool
}

// Lock takes the lock file at path. Its holder is known to be gone when it
// called Abandon, and for every lock file that came by Clone or Put.
func (s *Store) Lock(ctx context.Context, path string) (blob.Lock, error) {
	if err := s.check(ctx, path); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.locked(path); err != nil {
		return nil, err
	}
	l := &lock{store: s, path: path, object: s.stamp()}
	s.put(path, l.object)
	s.holders[path] = l
	return l, nil
}

// Unlock removes the lock file at path. See blob.Locker.
func (s *Store) Unlock(ctx context.Context, path string) error {
	if err := s.check(ctx, path); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.objects[path]; !ok {
		return fmt.Errorf("store mem: %s: %w", path, iofs.ErrNotExist)
	}
	if err := s.locked(path); err != nil {
		return err
	}
	defer s.compact()
	return s.remove(path)
}

func (s *Store) check(ctx context.Context, path string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := blob.CheckPath(path); err != nil {
		return fmt.Errorf("store mem: %w", err)
	}
	return nil
}

func (s *Store) locked(path string) error {
	l := s.holders[path]
	if l == nil || l.done || l.object != s.objects[path] {
		return nil
	}
	return &blob.LockedError{Path: path, Since: l.object.modTime}
}

func (s *Store) stamp() *object { return &object{modTime: s.now().UTC().Truncate(time.Microsecond)} }

// Beat stamps the lock file.
func (l *lock) Beat(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	l.store.mu.Lock()
	defer l.store.mu.Unlock()
	if err := l.ours(); err != nil {
		return err
	}
	l.object = l.store.stamp()
	l.store.put(l.path, l.object)
	return nil
}

// Release removes the lock file if it is still this lock's. A second call does
// nothing.
func (l *lock) Release(context.Context) error {
	l.store.mu.Lock()
	defer l.store.mu.Unlock()
	if l.done {
		return nil
	}
	err := l.ours()
	l.done = true
	if err != nil {
		return err
	}
	defer l.store.compact()
	return l.store.remove(l.path)
}

// Abandon lets go of the lock and leaves its file, as the end of the process
// would. Tests play a crash with it.
func (l *lock) Abandon() {
	l.store.mu.Lock()
	defer l.store.mu.Unlock()
	l.done = true
}

func (l *lock) ours() error {
	if l.done || l.store.objects[l.path] != l.object {
		return fmt.Errorf("store mem: %s: %w", l.path, blob.ErrLockLost)
	}
	return nil
}
