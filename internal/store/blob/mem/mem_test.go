package mem

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/ebb-io/ebb/internal/store/blob"
	"github.com/ebb-io/ebb/internal/store/blob/blobtest"
)

func fixture(s *Store) blobtest.Fixture {
	return blobtest.Fixture{
		Reader: s, Deleter: s, Volume: s, Locker: s, Rival: s, Writer: s.Writable(),
		Put:    s.Put,
		Remove: func(path string) { s.Delete(context.Background(), []string{path}) },
		Exists: func(path string) bool { return slices.Contains(s.Paths(), path) },
	}
}

func TestConformance(t *testing.T) {
	blobtest.Run(t, func(*testing.T) blobtest.Fixture { return fixture(New()) })
}

func TestConformanceClone(t *testing.T) {
	blobtest.Run(t, func(*testing.T) blobtest.Fixture { return fixture(New().Clone()) })
}

func TestConformanceReadOnly(t *testing.T) {
	blobtest.Run(t, func(*testing.T) blobtest.Fixture {
		s := New()
		f := fixture(s)
		return blobtest.Fixture{Reader: s.ReadOnly(), Put: f.Put, Remove: f.Remove, Exists: f.Exists}
	})
}

func TestReadOnlyHasNoOtherMethod(t *testing.T) {
	var view any = New().ReadOnly()
	if _, ok := view.(blob.Deleter); ok {
		t.Error("the view deletes")
	}
	if _, ok := view.(blob.Locker); ok {
		t.Error("the view locks")
	}
	if _, ok := view.(interface {
		Put(string, []byte, time.Time)
	}); ok {
		t.Error("the view puts")
	}
}

func TestMarkersAreHarmless(t *testing.T) {
	s := New()
	for _, key := range []string{"a/", "a/b/", "c/"} {
		s.Put(key, nil, time.Time{})
	}
	s.Put("a/one", nil, time.Time{})
	seen, err := blobtest.Walk(t.Context(), s, "", nil)
	if err != nil || !slices.Equal(seen.Files, []string{"a/one"}) || !slices.Equal(seen.Entered, []string{"a"}) {
		t.Errorf("walk: %+v, %v", seen, err)
	}
	if errs := s.Delete(t.Context(), []string{"a/b/", "c/", "a/one", "a/"}); errs != nil {
		t.Errorf("delete: %v", errs)
	}
	if paths := s.Paths(); len(paths) > 0 {
		t.Errorf("left: %q", paths)
	}
}

func TestCloneGoesItsOwnWay(t *testing.T) {
	s := New()
	s.Put("a", []byte("1"), time.Time{})
	s.Put("b", []byte("2"), time.Time{})
	c := s.Clone()
	c.Delete(t.Context(), []string{"a"})
	s.Delete(t.Context(), []string{"b"})
	s.Put("d", nil, time.Time{})
	if got := s.Paths(); !slices.Equal(got, []string{"a", "d"}) {
		t.Errorf("original: %q", got)
	}
	if got := c.Paths(); !slices.Equal(got, []string{"b"}) {
		t.Errorf("clone: %q", got)
	}
	for store, want := range map[*Store][]string{s: {"a", "d"}, c: {"b"}} {
		if seen, err := blobtest.Walk(t.Context(), store, "", nil); err != nil || !slices.Equal(seen.Files, want) {
			t.Errorf("walk: %q, %v, want %q", seen.Files, err, want)
		}
	}
}

func TestCloneDropsTheHolder(t *testing.T) {
	s := New()
	if _, err := s.Lock(t.Context(), "lock"); err != nil {
		t.Fatal(err)
	}
	c := s.Clone()
	if !slices.Contains(c.Paths(), "lock") {
		t.Error("the lock file was not cloned")
	}
	if _, err := c.Lock(t.Context(), "lock"); err != nil {
		t.Errorf("the clone is locked: %v", err)
	}
	if _, err := s.Lock(t.Context(), "lock"); err == nil {
		t.Error("the original is not locked")
	}
}

func TestAbandonedLockIsTakenOver(t *testing.T) {
	s := New()
	l, err := s.Lock(t.Context(), "lock")
	if err != nil {
		t.Fatal(err)
	}
	l.(interface{ Abandon() }).Abandon()
	if !slices.Contains(s.Paths(), "lock") {
		t.Error("the lock file is gone")
	}
	next, err := s.Lock(t.Context(), "lock")
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Release(t.Context()); err != nil {
		t.Error(err)
	}
	if err := next.Beat(t.Context()); err != nil {
		t.Errorf("the abandoned lock broke the next: %v", err)
	}
}

func TestFreeCountsBytes(t *testing.T) {
	s := New()
	want := func(bytes int64) {
		t.Helper()
		if free, err := s.Free(t.Context()); err != nil || free != Capacity-bytes {
			t.Errorf("free: %d, %v, want %d less than the capacity", free, err, bytes)
		}
	}
	want(0)
	s.Put("a", make([]byte, 10), time.Time{})
	s.Put("b", make([]byte, 5), time.Time{})
	want(15)
	s.Put("a", make([]byte, 3), time.Time{})
	want(8)
	s.Delete(t.Context(), []string{"a", "a", "none"})
	want(5)
}

func TestLockIsStampedByTheClock(t *testing.T) {
	now := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
	s := NewWithClock(func() time.Time { return now })
	l, err := s.Lock(t.Context(), "lock")
	if err != nil {
		t.Fatal(err)
	}
	now = now.Add(time.Hour)
	if err := l.Beat(t.Context()); err != nil {
		t.Fatal(err)
	}
	if entry, err := s.Stat(t.Context(), "lock"); err != nil || !entry.ModTime.Equal(now) {
		t.Errorf("stamp %v, %v, want %v", entry.ModTime, err, now)
	}
}

// For the race detector.
func TestConcurrentUse(t *testing.T) {
	s := New()
	var all sync.WaitGroup
	for i := range 8 {
		path := string(rune('a'+i)) + "/x"
		all.Go(func() {
			for range 50 {
				s.Put(path, []byte("1"), time.Time{})
				_, _ = blobtest.Walk(t.Context(), s.Clone(), "", nil)
				_, _ = blobtest.Walk(t.Context(), s, "", nil)
				s.Delete(t.Context(), []string{path})
			}
		})
	}
	all.Wait()
	if paths := s.Paths(); len(paths) > 0 {
		t.Errorf("left: %q", paths)
	}
}
