package fault_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ebb-io/ebb/internal/store/blob"
	"github.com/ebb-io/ebb/internal/store/blob/blobtest"
	"github.com/ebb-io/ebb/internal/store/blob/fault"
	"github.com/ebb-io/ebb/internal/store/blob/fs"
	"github.com/ebb-io/ebb/internal/store/blob/mem"
)

func world(paths ...string) *mem.Store {
	s := mem.New()
	for _, path := range paths {
		s.Put(path, []byte(path), time.Time{})
	}
	return s
}

// onDisk is the same world on a file system.
func onDisk(t *testing.T, paths ...string) *fs.Writable {
	t.Helper()
	root := t.TempDir()
	for _, path := range paths {
		full := filepath.Join(root, path)
		if err := errors.Join(os.MkdirAll(filepath.Dir(full), 0o755), os.WriteFile(full, []byte(path), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	w, err := fs.OpenWritable(root)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func TestConformance(t *testing.T) {
	blobtest.Run(t, func(*testing.T) blobtest.Fixture {
		s := mem.New()
		d := fault.New(s)
		return blobtest.Fixture{
			Reader: d, Deleter: d, Volume: d, Locker: d, Rival: fault.NewObjectStore(s),
			Put:    s.Put,
			Remove: func(path string) { s.Delete(context.Background(), []string{path}) },
			Exists: func(path string) bool { return slices.Contains(s.Paths(), path) },
		}
	})
}

// A fault that never fires leaves deletion one by one, which must look the same.
func TestConformanceOneByOne(t *testing.T) {
	blobtest.Run(t, func(*testing.T) blobtest.Fixture {
		s := mem.New()
		d := fault.New(s, fault.CrashAtDelete(1<<30), fault.FailDeleteWhere(func(string) bool { return false }))
		return blobtest.Fixture{
			Reader: d, Deleter: d, Volume: d, Locker: d, Rival: d,
			Put:    s.Put,
			Remove: func(path string) { s.Delete(context.Background(), []string{path}) },
			Exists: func(path string) bool { return slices.Contains(s.Paths(), path) },
		}
	})
}

func TestReaderHasNoOtherMethod(t *testing.T) {
	var reader any = fault.NewReader(mem.New().ReadOnly())
	if _, ok := reader.(blob.Deleter); ok {
		t.Error("the reader deletes")
	}
	var objects any = fault.NewObjectStore(mem.New())
	if _, ok := objects.(blob.Volume); ok {
		t.Error("the object store is a volume")
	}
}

var tree = []string{"blobs/1/data", "blobs/2/data", "repo/a/link", "repo/b/link", "top"}

func onlyBlobs(dir string) blob.Step {
	if strings.HasPrefix(dir, "blobs/") {
		return blob.Only("data")
	}
	return blob.List()
}

// observe does a walk, a read and a stat, and tells what of it failed.
func observe(t *testing.T, r blob.Reader) (failed []string) {
	t.Helper()
	seen, err := blobtest.Walk(t.Context(), r, "", onlyBlobs)
	if err != nil {
		failed = append(failed, "walk")
	}
	for path, err := range seen.Errors {
		if !errors.Is(err, fault.ErrInjected) {
			t.Errorf("%s: %v", path, err)
		}
	}
	for _, path := range seen.Failed {
		for _, file := range seen.Files {
			if path == "" || file == path || strings.HasPrefix(file, path+"/") {
				t.Errorf("%s failed, but %s was shown", path, file)
			}
		}
		failed = append(failed, "fail "+path)
	}
	if _, err := r.Read(t.Context(), "top", &bytes.Buffer{}); err != nil {
		failed = append(failed, "read")
	}
	if _, err := r.Stat(t.Context(), "top"); err != nil {
		failed = append(failed, "stat")
	}
	return failed
}

// Every n fails exactly one operation, and all together every one there is.
func TestFailRead(t *testing.T) {
	want := []string{"fail ", "fail blobs", "fail blobs/1/data", "fail blobs/2/data", "fail repo", "fail repo/a", "fail repo/b", "read", "stat"}
	t.Run("mem", func(t *testing.T) {
		var got []string
		for n := 1; ; n++ {
			d := fault.New(world(tree...), fault.FailRead(n))
			failed := observe(t, d)
			if !d.Fired() {
				break
			}
			got = append(got, failed...)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("in this order (-want +got):\n%s", diff)
		}
	})
	t.Run("fs", func(t *testing.T) {
		disk, fired := onDisk(t, tree...), 0
		for n := 1; ; n++ {
			d := fault.NewReader(disk, fault.FailRead(n))
			failed := observe(t, d)
			if !d.Fired() {
				break
			}
			fired++
			if len(failed) != 1 || !slices.Contains(want, failed[0]) {
				t.Errorf("operation %d: failed %q, want just one", n, failed)
			}
		}
		if fired != len(want) {
			t.Errorf("%d operations failed, want %d", fired, len(want))
		}
	})
	t.Run("fs, by name", func(t *testing.T) {
		disk := onDisk(t, tree...)
		rehearsal := fault.NewReader(disk)
		observe(t, rehearsal)
		var got []string
		for _, op := range rehearsal.Ops() {
			d := fault.NewReader(disk, fault.FailReadWhere(func(o fault.Op) bool { return o == op }))
			got = append(got, observe(t, d)...)
		}
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestCounts(t *testing.T) {
	d := fault.New(world(tree...))
	observe(t, d)
	d.Delete(t.Context(), []string{"blobs/1/", "blobs/1/data", "repo/"})
	if err := d.Sync(t.Context()); err != nil {
		t.Error(err)
	}
	want := fault.Counts{Walks: 1, Listings: 5, Leaves: 2, Reads: 1, Stats: 1, DeleteCalls: 1, DeletePaths: 3, Syncs: 1}
	if diff := cmp.Diff(want, d.Counts()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := d.Deleted(); !slices.Equal(got, []string{"blobs/1/data", "blobs/1/"}) {
		t.Errorf("deleted %q", got)
	}
	if d.Fired() {
		t.Error("a fault fired that was never set")
	}
}

var batch = []string{"a/", "a/b/", "a/b/one", "two", "a/three"}

// inOrder is how the contract has the batch deleted.
var inOrder = []string{"a/b/one", "two", "a/three", "a/b/", "a/"}

func TestCrashAtDelete(t *testing.T) {
	for n := 1; ; n++ {
		s := world("a/b/one", "two", "a/three", "keep")
		d := fault.New(s, fault.CrashAtDelete(n))
		lock, err := d.Lock(t.Context(), "lock")
		if err != nil {
			t.Fatal(err)
		}
		errs := d.Delete(t.Context(), batch)
		if got, want := d.Deleted(), inOrder[:min(n-1, len(inOrder))]; !slices.Equal(got, want) {
			t.Errorf("crash at %d: deleted %q, want %q", n, got, want)
		}
		if !d.Fired() {
			if n != len(batch)+1 || errs != nil {
				t.Errorf("no crash at %d, errors %v", n, errs)
			}
			return
		}
		crashed := 0
		for _, err := range errs {
			if errors.Is(err, fault.ErrCrashed) {
				crashed++
			}
		}
		if crashed != len(batch)-n+1 {
			t.Errorf("crash at %d: errors %v", n, errs)
		}
		before := s.Paths()
		allCrashed(t, d, lock)
		if after := s.Paths(); !slices.Equal(before, after) {
			t.Errorf("changed after the crash: %q, was %q", after, before)
		}
		if _, err := s.Lock(t.Context(), "lock"); err != nil {
			t.Errorf("the lock still has a holder: %v", err)
		}
	}
}

func allCrashed(t *testing.T, d *fault.Driver, lock blob.Lock) {
	t.Helper()
	_, walk := blobtest.Walk(t.Context(), d, "", nil)
	_, read := d.Read(t.Context(), "keep", &bytes.Buffer{})
	_, stat := d.Stat(t.Context(), "keep")
	_, free := d.Free(t.Context())
	_, relock := d.Lock(t.Context(), "other")
	deletion := d.Delete(t.Context(), []string{"keep"})[0]
	for what, err := range map[string]error{
		"walk": walk, "read": read, "stat": stat, "free": free, "lock": relock, "delete": deletion,
		"sync": d.Sync(t.Context()), "unlock": d.Unlock(t.Context(), "lock"),
		"beat": lock.Beat(t.Context()), "release": lock.Release(t.Context()),
	} {
		if !errors.Is(err, fault.ErrCrashed) {
			t.Errorf("%s after the crash: %v", what, err)
		}
	}
}

func TestCrashOnDisk(t *testing.T) {
	disk := onDisk(t, "a/one", "a/two")
	d := fault.New(disk, fault.CrashAtDelete(2))
	if _, err := d.Lock(t.Context(), "lock"); err != nil {
		t.Fatal(err)
	}
	d.Delete(t.Context(), []string{"a/one", "a/two"})
	seen, err := blobtest.Walk(t.Context(), disk, "", nil)
	if err != nil || !slices.Equal(seen.Files, []string{"a/two", "lock"}) {
		t.Errorf("left: %q, %v", seen.Files, err)
	}
	if _, err := disk.Lock(t.Context(), "lock"); err != nil {
		t.Errorf("the lock still has a holder: %v", err)
	}
}

// A walk that is under way when the crash comes learns nothing more.
func TestCrashDuringWalk(t *testing.T) {
	d := fault.New(world("a/one", "b/two", "c/three"), fault.CrashAtDelete(1))
	seen, err := blobtest.Walk(t.Context(), d, "", func(dir string) blob.Step {
		if dir == "b" {
			d.Delete(t.Context(), []string{"c/three"})
		}
		return blob.List()
	})
	if err != nil || !slices.Equal(seen.Files, []string{"a/one"}) || !errors.Is(seen.Errors["c"], fault.ErrCrashed) {
		t.Errorf("walk: %+v, %v", seen, err)
	}
}

func TestFailDelete(t *testing.T) {
	for n := 1; n <= len(batch); n++ {
		d := fault.New(world("a/b/one", "two", "a/three"), fault.FailDelete(n))
		errs := d.Delete(t.Context(), batch)
		at := slices.Index(batch, inOrder[n-1])
		if !d.Fired() || errs == nil || !errors.Is(errs[at], fault.ErrInjected) || slices.Contains(d.Deleted(), batch[at]) {
			t.Errorf("failure %d: errors %v, deleted %q", n, errs, d.Deleted())
		}
		for i, err := range errs {
			// What holds a file that could not be deleted is not empty.
			if i != at && err != nil && !(errors.Is(err, blob.ErrNotEmpty) && strings.HasPrefix(batch[at], batch[i])) {
				t.Errorf("failure %d: %s failed too: %v", n, batch[i], err)
			}
		}
		if errs := d.Delete(t.Context(), batch); errs != nil {
			t.Errorf("the second time: %v", errs)
		}
	}
}

func TestFailDeleteWhere(t *testing.T) {
	s := world("a/one", "b/one", "b/two")
	d := fault.New(s, fault.FailDeleteWhere(func(path string) bool { return strings.HasSuffix(path, "one") }))
	errs := d.Delete(t.Context(), []string{"a/one", "b/one", "b/two"})
	if !d.Fired() || !errors.Is(errs[0], fault.ErrInjected) || !errors.Is(errs[1], fault.ErrInjected) || errs[2] != nil {
		t.Errorf("errors %v", errs)
	}
	if got := s.Paths(); !slices.Equal(got, []string{"a/one", "b/one"}) {
		t.Errorf("left %q", got)
	}
}
