package blobtest

import (
	"context"
	"errors"
	iofs "io/fs"
	"testing"

	"github.com/ebb-io/ebb/internal/store/blob"
)

var deleteTests = map[string]func(*testing.T, Fixture){
	"files":               deleteFiles,
	"nothing":             deleteNothing,
	"absent":              deleteAbsent,
	"directory not empty": deleteNotEmpty,
	"whole tree":          deleteTree,
	"mixed errors":        deleteMixed,
	"directory as file":   deleteDirectoryAsFile,
	"file as directory":   deleteFileAsDirectory,
	"hostile names":       deleteHostile,
	"refused":             deleteRefused,
	"cancelled before":    deleteCancelled,
	"many":                deleteMany,
	"twice in a batch":    deleteTwice,
}

func (f Fixture) delete(t *testing.T, paths ...string) {
	t.Helper()
	for i, err := range f.Deleter.Delete(t.Context(), paths) {
		if err != nil {
			t.Errorf("delete %q: %v", paths[i], err)
		}
	}
}

func (f Fixture) gone(t *testing.T, paths ...string) {
	t.Helper()
	for _, path := range paths {
		if f.Exists(path) {
			t.Errorf("%q is still there", path)
		}
	}
}

func (f Fixture) there(t *testing.T, paths ...string) {
	t.Helper()
	for _, path := range paths {
		if !f.Exists(path) {
			t.Errorf("%q is gone", path)
		}
	}
}

func deleteFiles(t *testing.T, f Fixture) {
	f.put("a/one", "a/two", "b/three", "top")
	if errs := f.Deleter.Delete(t.Context(), []string{"a/one", "top"}); errs != nil {
		t.Errorf("errors %v, want nil where all went well", errs)
	}
	f.gone(t, "a/one", "top")
	f.there(t, "a/two", "b/three")
}

func deleteNothing(t *testing.T, f Fixture) {
	f.put("a/one")
	f.delete(t)
	f.there(t, "a/one")
}

func deleteAbsent(t *testing.T, f Fixture) {
	f.put("a/one", "a/two")
	errs := f.Deleter.Delete(t.Context(), []string{"b", "a/none", "a/one/below", "b/c/", "a/one", "a/one/below/"})
	if errs != nil {
		t.Errorf("errors %v, want nil: what is absent needs no deleting", errs)
	}
	f.gone(t, "a/one")
	f.there(t, "a/two")
}

func deleteNotEmpty(t *testing.T, f Fixture) {
	f.put("a/b/one")
	errs := f.Deleter.Delete(t.Context(), []string{"a/", "a/b/"})
	if f.Mkdir == nil && errs == nil { // it may take every directory for absent
		f.there(t, "a/b/one")
		return
	}
	if len(errs) != 2 || !errors.Is(errs[0], blob.ErrNotEmpty) || !errors.Is(errs[1], blob.ErrNotEmpty) {
		t.Errorf("errors %v, want blob.ErrNotEmpty twice", errs)
	}
	f.there(t, "a/b/one")
}

// The order of the batch does not matter: what is given in full goes in full.
func deleteTree(t *testing.T, f Fixture) {
	f.put("a/one", "a/b/c/two", "a/d/three", "keep/four")
	if f.Mkdir != nil {
		f.Mkdir("a/b/empty")
	}
	f.delete(t, "a/", "a/b/", "a/one", "a/b/c/", "a/d/three", "a/d/", "a/b/empty/", "a/b/c/two")
	f.gone(t, "a", "a/one", "a/b", "a/b/c", "a/b/c/two", "a/d", "a/d/three", "a/b/empty")
	f.there(t, "keep/four")
}

func deleteMixed(t *testing.T, f Fixture) {
	f.put("a/one", "a/two", "b/three")
	errs := f.Deleter.Delete(t.Context(), []string{"a/", "a/one", "../x", "none", "b/three", "b/"})
	if len(errs) != 6 {
		t.Fatalf("%d errors, want one for each of 6 paths", len(errs))
	}
	if f.Mkdir != nil && !errors.Is(errs[0], blob.ErrNotEmpty) || !errors.Is(errs[2], iofs.ErrInvalid) {
		t.Errorf("errors %v", errs)
	}
	for _, i := range []int{1, 3, 4, 5} {
		if errs[i] != nil {
			t.Errorf("error %d is %v, want nil", i, errs[i])
		}
	}
	f.gone(t, "a/one", "b/three")
	f.there(t, "a/two")
}

func deleteDirectoryAsFile(t *testing.T, f Fixture) {
	f.put("a/b/one")
	errs := f.Deleter.Delete(t.Context(), []string{"a/b"})
	if f.Mkdir != nil && (len(errs) != 1 || errs[0] == nil) {
		t.Errorf("errors %v, want one: a/b is a directory", errs)
	}
	f.there(t, "a/b/one")
	if f.Mkdir != nil {
		f.Mkdir("empty")
		f.Deleter.Delete(t.Context(), []string{"empty"})
		f.there(t, "empty")
	}
}

func deleteFileAsDirectory(t *testing.T, f Fixture) {
	f.put("a/one")
	errs := f.Deleter.Delete(t.Context(), []string{"a/one/"})
	if f.Mkdir != nil && (len(errs) != 1 || errs[0] == nil) {
		t.Errorf("errors %v, want one: a/one is a file", errs)
	}
	f.there(t, "a/one")
}

func deleteHostile(t *testing.T, f Fixture) {
	var batch []string
	for _, name := range hostile {
		f.put("h/"+name+"/"+name, "keep/"+name)
		batch = append(batch, "h/"+name+"/", "h/"+name+"/"+name)
	}
	f.delete(t, append(batch, "h/")...)
	f.gone(t, "h")
	for _, name := range hostile {
		f.gone(t, "h/"+name+"/"+name)
		f.there(t, "keep/"+name)
	}
}

func deleteRefused(t *testing.T, f Fixture) {
	f.put("a/b", "b", "a/c/d")
	for _, path := range append([]string{"", "//", "a//", "a/../", "a/b//", "./"}, refused...) {
		errs := f.Deleter.Delete(t.Context(), []string{path})
		if len(errs) != 1 || !errors.Is(errs[0], iofs.ErrInvalid) {
			t.Errorf("delete %q: %v, want one that wraps fs.ErrInvalid", path, errs)
		}
	}
	f.there(t, "a/b", "b", "a/c/d")
}

func deleteCancelled(t *testing.T, f Fixture) {
	f.put("a/one", "a/two")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	errs := f.Deleter.Delete(ctx, []string{"a/one", "a/two"})
	if len(errs) != 2 || !errors.Is(errs[0], context.Canceled) || !errors.Is(errs[1], context.Canceled) {
		t.Errorf("errors %v, want the context's for each path", errs)
	}
	f.there(t, "a/one", "a/two")
}

// More than a batch of any object store.
func deleteMany(t *testing.T, f Fixture) {
	var batch []string
	for i := range 1100 {
		batch = append(batch, "m/"+string(rune('a'+i%26))+string(rune('a'+i/26)))
	}
	f.put(batch...)
	f.put("m/keep")
	f.delete(t, batch...)
	mustWalk(t, f, "m", nil, "m/keep")
}

func deleteTwice(t *testing.T, f Fixture) {
	f.put("a/one", "b")
	f.delete(t, "a/one", "a/one", "a/", "a/")
	f.gone(t, "a/one", "a")
	f.there(t, "b")
}
