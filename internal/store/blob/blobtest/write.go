package blobtest

import (
	"bytes"
	"context"
	"errors"
	iofs "io/fs"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ebb-io/ebb/internal/store/blob"
)

var writeTests = map[string]func(*testing.T, Fixture){
	"new":              putNew,
	"replace":          putReplace,
	"in one step":      putInOneStep,
	"hostile names":    putHostile,
	"refused":          putRefused,
	"cancelled before": putCancelled,
	"in the way":       putInTheWay,
}

func (f Fixture) mustPut(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := f.Writer.Put(t.Context(), path, data); err != nil {
		t.Fatalf("put %q: %v", path, err)
	}
	f.holds(t, path, data)
}

func (f Fixture) holds(t *testing.T, path string, want []byte) {
	t.Helper()
	got, _, err := blob.ReadFile(t.Context(), f.Reader, path, 1<<20)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%q holds %d bytes, %v, want the %d that were put", path, len(got), err, len(want))
	}
}

func putNew(t *testing.T, f Fixture) {
	f.mustPut(t, "top", []byte("1"))
	f.mustPut(t, "a/b/c/empty", nil)
	f.mustPut(t, "a/b/one", []byte("12345"))
	mustWalk(t, f, "", nil, "a/b/c/empty", "a/b/one", "top")
}

func putReplace(t *testing.T, f Fixture) {
	f.put("a/one", "a/two")
	f.mustPut(t, "a/one", []byte("another, longer than before"))
	f.mustPut(t, "a/one", []byte("s"))
	f.mustPut(t, "a/one", nil)
	f.holds(t, "a/two", []byte("a/two"))
	mustWalk(t, f, "", nil, "a/one", "a/two")
}

// Whoever reads meanwhile sees one content or the other, and nothing besides.
func putInOneStep(t *testing.T, f Fixture) {
	contents := [2][]byte{bytes.Repeat([]byte("a"), 200<<10), bytes.Repeat([]byte("b"), 100<<10)}
	f.mustPut(t, "a/one", contents[0])
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			for range 10 {
				if err := f.Writer.Put(t.Context(), "a/one", contents[i%2]); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for range 20 {
		got, _, err := blob.ReadFile(t.Context(), f.Reader, "a/one", 1<<20)
		if err != nil || !bytes.Equal(got, contents[0]) && !bytes.Equal(got, contents[1]) {
			t.Errorf("read %d bytes, %v, want what somebody put", len(got), err)
		}
	}
	all.Wait()
	mustWalk(t, f, "", nil, "a/one")
}

func putHostile(t *testing.T, f Fixture) {
	for _, name := range hostile {
		f.mustPut(t, "h/"+name+"/"+name, []byte(name))
	}
	if seen, err := Walk(t.Context(), f.Reader, "", nil); err != nil || len(seen.Files) != len(hostile) {
		t.Errorf("%d files, %v, want %d", len(seen.Files), err, len(hostile))
	}
}

func putRefused(t *testing.T, f Fixture) {
	for _, path := range append([]string{"", "a/"}, refused...) {
		if err := f.Writer.Put(t.Context(), path, []byte("x")); !errors.Is(err, iofs.ErrInvalid) {
			t.Errorf("put %q: %v, want one that wraps fs.ErrInvalid", path, err)
		}
	}
	mustWalk(t, f, "", nil)
}

func putCancelled(t *testing.T, f Fixture) {
	f.put("a/one")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := f.Writer.Put(ctx, "a/one", []byte("x")); !errors.Is(err, context.Canceled) {
		t.Errorf("put: %v, want the context's error", err)
	}
	f.holds(t, "a/one", []byte("a/one"))
}

// A real directory is never replaced by a file, nor a file by a directory.
func putInTheWay(t *testing.T, f Fixture) {
	if f.Mkdir == nil {
		return
	}
	f.put("a/b/one", "c")
	f.Mkdir("empty")
	for _, path := range []string{"a/b", "empty", "c/d"} {
		if err := f.Writer.Put(t.Context(), path, []byte("x")); err == nil {
			t.Errorf("put %q went well", path)
		}
	}
	mustWalk(t, f, "", nil, "a/b/one", "c")
	f.there(t, "empty")
}

var multipartTests = map[string]func(*testing.T, Fixture){
	"none":             multipartNone,
	"below":            multipartBelow,
	"abort":            multipartAbort,
	"abort absent":     multipartAbortAbsent,
	"refused":          multipartRefused,
	"cancelled before": multipartCancelled,
}

func (f Fixture) unfinished(t *testing.T, dir string, want ...string) []blob.Unfinished {
	t.Helper()
	found, err := f.Multipart.Unfinished(t.Context(), dir)
	if err != nil {
		t.Fatalf("unfinished %q: %v", dir, err)
	}
	count := map[string]int{}
	for _, u := range found {
		count[u.Path]++
		if u.ID == "" || u.Size != int64(len(u.Path)) || u.Touched.IsZero() || u.Touched.Location() != moment.Location() {
			t.Errorf("unfinished %+v, want an ID, the size of its part and a time in UTC", u)
		}
	}
	wanted := map[string]int{}
	for _, path := range want {
		wanted[path]++
	}
	if diff := cmp.Diff(wanted, count); diff != "" {
		t.Errorf("unfinished below %q (-want +got):\n%s", dir, diff)
	}
	return found
}

func (f Fixture) begin(paths ...string) {
	for _, path := range paths {
		f.Begin(path, []byte(path))
	}
}

func multipartNone(t *testing.T, f Fixture) {
	f.put("a/one")
	f.unfinished(t, "")
	f.unfinished(t, "a")
	f.unfinished(t, "none")
}

func multipartBelow(t *testing.T, f Fixture) {
	f.begin("a/b/data", "a/b/data", "ab/data", "a/ümläut +%", "top")
	f.unfinished(t, "", "a/b/data", "a/b/data", "ab/data", "a/ümläut +%", "top")
	f.unfinished(t, "a", "a/b/data", "a/b/data", "a/ümläut +%")
	f.unfinished(t, "a/b", "a/b/data", "a/b/data")
}

func multipartAbort(t *testing.T, f Fixture) {
	f.put("a/data")
	f.begin("a/data", "b/data", "c/data")
	if errs := f.Aborter.Abort(t.Context(), f.unfinished(t, "a", "a/data")); errs != nil {
		t.Errorf("abort: %v", errs)
	}
	f.there(t, "a/data")
	f.unfinished(t, "", "b/data", "c/data")
}

func multipartAbortAbsent(t *testing.T, f Fixture) {
	f.begin("a/data", "b/data")
	found := f.unfinished(t, "", "a/data", "b/data")
	for range 2 {
		if errs := f.Aborter.Abort(t.Context(), found); errs != nil {
			t.Errorf("abort: %v", errs)
		}
	}
	f.unfinished(t, "")
	if errs := f.Aborter.Abort(t.Context(), nil); errs != nil {
		t.Errorf("abort nothing: %v", errs)
	}
}

func multipartRefused(t *testing.T, f Fixture) {
	for _, path := range append([]string{"a/"}, refused...) {
		if _, err := f.Multipart.Unfinished(t.Context(), path); !errors.Is(err, iofs.ErrInvalid) {
			t.Errorf("unfinished %q: %v, want one that wraps fs.ErrInvalid", path, err)
		}
		errs := f.Aborter.Abort(t.Context(), []blob.Unfinished{{Path: path, ID: "x"}})
		if len(errs) != 1 || !errors.Is(errs[0], iofs.ErrInvalid) {
			t.Errorf("abort %q: %v, want one that wraps fs.ErrInvalid", path, errs)
		}
	}
}

func multipartCancelled(t *testing.T, f Fixture) {
	f.begin("a/data")
	found := f.unfinished(t, "", "a/data")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := f.Multipart.Unfinished(ctx, ""); !errors.Is(err, context.Canceled) {
		t.Errorf("unfinished: %v, want the context's error", err)
	}
	if errs := f.Aborter.Abort(ctx, found); len(errs) != 1 || !errors.Is(errs[0], context.Canceled) {
		t.Errorf("abort: %v, want the context's error", errs)
	}
	f.unfinished(t, "", "a/data")
}
