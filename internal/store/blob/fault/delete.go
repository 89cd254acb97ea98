package fault

import (
	"context"
	"slices"

	"github.com/ebb-io/ebb/internal/store/blob"
)

// Delete is blob.Deleter's. Where a deletion is to fail, the batch goes to the
// wrapped driver path by path.
func (o *ObjectStore) Delete(ctx context.Context, paths []string) []error {
	if err := o.deleteCall(len(paths)); err != nil {
		return slices.Repeat([]error{err}, len(paths))
	}
	if err := ctx.Err(); err != nil {
		return slices.Repeat([]error{err}, len(paths))
	}
	if o.deleteAt > 0 || o.crashAt > 0 || o.deleteWhere != nil {
		return o.oneByOne(context.WithoutCancel(ctx), paths)
	}
	errs := o.inner.Delete(ctx, paths)
	o.record(paths, errs)
	return errs
}

func (s *script) deleteCall(paths int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.crashed {
		return ErrCrashed
	}
	s.counts.DeleteCalls++
	if s.deleteAt == 0 && s.crashAt == 0 && s.deleteWhere == nil {
		s.counts.DeletePaths += paths
	}
	return nil
}

func (s *script) record(paths []string, errs []error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, group := range blob.DeleteOrder(paths) {
		for _, i := range group {
			if errs == nil || errs[i] == nil {
				s.deleted = append(s.deleted, paths[i])
			}
		}
	}
}

func (o *ObjectStore) oneByOne(ctx context.Context, paths []string) []error {
	o.deleting.Lock()
	defer o.deleting.Unlock()
	errs, failed := make([]error, len(paths)), false
	for _, group := range blob.DeleteOrder(paths) {
		for _, i := range group {
			errs[i] = o.one(ctx, paths[i])
			failed = failed || errs[i] != nil
		}
	}
	if !failed {
		return nil
	}
	return errs
}

func (o *ObjectStore) one(ctx context.Context, path string) error {
	if err := o.decide(path); err != nil {
		return err
	}
	batch := []string{path}
	errs := o.inner.Delete(ctx, batch)
	o.record(batch, errs)
	if errs != nil {
		return errs[0]
	}
	return nil
}

// decide counts the deletion of a path and says what becomes of it.
func (s *script) decide(path string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.crashed {
		return ErrCrashed
	}
	s.counts.DeletePaths++
	return s.write(path)
}

// write decides about one write. The caller holds s.mu.
func (s *script) write(path string) error {
	s.writes++
	switch {
	case s.writes == s.crashAt:
		s.crash()
		return ErrCrashed
	case s.writes == s.deleteAt, s.deleteWhere != nil && s.deleteWhere(path):
		s.fired = true
		return ErrInjected
	}
	return nil
}

// crash lets go of the locks as the kernel would. The caller holds s.mu.
func (s *script) crash() {
	s.fired, s.crashed = true, true
	for _, lock := range s.locks {
		if a, ok := lock.(interface{ Abandon() }); ok {
			a.Abandon()
		}
	}
}

// Lock is blob.Locker's.
func (o *ObjectStore) Lock(ctx context.Context, path string) (blob.Lock, error) {
	if err := o.other(new(int)); err != nil {
		return nil, err
	}
	inner, err := o.inner.Lock(ctx, path)
	if err != nil {
		return nil, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.locks = append(o.locks, inner)
	return &lock{script: o.script, inner: inner}, nil
}

// Unlock is blob.Locker's.
func (o *ObjectStore) Unlock(ctx context.Context, path string) error {
	if err := o.other(new(int)); err != nil {
		return err
	}
	return o.inner.Unlock(ctx, path)
}

type lock struct {
	*script
	inner blob.Lock
}

func (l *lock) Beat(ctx context.Context) error {
	if err := l.other(&l.counts.Beats); err != nil {
		return err
	}
	return l.inner.Beat(ctx)
}

func (l *lock) Release(ctx context.Context) error {
	if err := l.other(new(int)); err != nil {
		return err
	}
	return l.inner.Release(ctx)
}

// Abandon passes on what the wrapped lock knows of crashes.
func (l *lock) Abandon() {
	if a, ok := l.inner.(interface{ Abandon() }); ok {
		a.Abandon()
	}
}
