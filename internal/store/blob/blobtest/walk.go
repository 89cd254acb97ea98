package blobtest

import (
	"context"
	"errors"
	iofs "io/fs"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ebb-io/ebb/internal/store/blob"
)

var walkTests = map[string]func(*testing.T, Fixture){
	"everything":            walkEverything,
	"empty storage":         walkEmpty,
	"absent directory":      walkAbsent,
	"file as directory":     walkFile,
	"below a directory":     walkBelow,
	"skip":                  walkSkip,
	"only":                  walkOnly,
	"only, missing":         walkOnlyMissing,
	"only, not a file":      walkOnlyDirectory,
	"deep":                  walkDeep,
	"wide":                  walkWide,
	"hostile names":         walkHostile,
	"refused":               walkRefused,
	"cancelled before":      walkCancelledBefore,
	"cancelled meanwhile":   walkCancelledMeanwhile,
	"entry":                 walkEntry,
	"siblings with a slash": walkSiblings,
	"bounded":               walkBounded,
}

// mustWalk walks without trouble and compares files.
func mustWalk(t *testing.T, f Fixture, dir string, guide func(string) blob.Step, files ...string) Seen {
	t.Helper()
	seen, err := Walk(t.Context(), f.Reader, dir, guide)
	if err != nil {
		t.Fatalf("walk %q: %v", dir, err)
	}
	same(t, "files", files, seen.Files)
	same(t, "failed", nil, seen.Failed)
	same(t, "links", nil, seen.Links)
	return seen
}

func same(t *testing.T, what string, want, got []string) {
	t.Helper()
	if len(want) == 0 && len(got) == 0 {
		return
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func walkEverything(t *testing.T, f Fixture) {
	f.put("top", "a/one", "a/two", "a/b/c/three", "d/four")
	seen := mustWalk(t, f, "", nil, "a/b/c/three", "a/one", "a/two", "d/four", "top")
	same(t, "entered, each once and not the root", []string{"a", "a/b", "a/b/c", "d"}, seen.Entered)
	same(t, "missing", nil, seen.Missing)
}

func walkEmpty(t *testing.T, f Fixture) {
	mustWalk(t, f, "", nil)
}

func walkAbsent(t *testing.T, f Fixture) {
	f.put("a/one")
	for _, dir := range []string{"b", "a/b", "a/one/two", "A"} {
		if _, err := Walk(t.Context(), f.Reader, dir, nil); !errors.Is(err, iofs.ErrNotExist) {
			t.Errorf("walk %q: %v, want one that wraps fs.ErrNotExist", dir, err)
		}
	}
}

func walkFile(t *testing.T, f Fixture) {
	f.put("a/one")
	seen, err := Walk(t.Context(), f.Reader, "a/one", nil)
	if !errors.Is(err, iofs.ErrNotExist) || len(seen.Files) > 0 {
		t.Errorf("walk of a file: %v, files %q, want one that wraps fs.ErrNotExist", err, seen.Files)
	}
}

func walkBelow(t *testing.T, f Fixture) {
	f.put("a/one", "a/b/two", "ab/three", "c/a/four")
	seen := mustWalk(t, f, "a", nil, "a/b/two", "a/one")
	same(t, "entered", []string{"a/b"}, seen.Entered)
	mustWalk(t, f, "a/b", nil, "a/b/two")
}

func walkSkip(t *testing.T, f Fixture) {
	f.put("a/one", "a/skip/two", "a/skip/deep/three", "b/four")
	guide := func(dir string) blob.Step {
		if dir == "a/skip" {
			return blob.Skip()
		}
		return blob.List()
	}
	seen := mustWalk(t, f, "", guide, "a/one", "b/four")
	same(t, "entered", []string{"a", "a/skip", "b"}, seen.Entered)
}

func onlyData(dir string) blob.Step {
	if strings.HasPrefix(dir, "blobs/") {
		return blob.Only("data")
	}
	return blob.List()
}

func walkOnly(t *testing.T, f Fixture) {
	f.put("blobs/1/data", "blobs/1/other", "blobs/1/deep/data", "blobs/2/data", "blobs/loose")
	seen := mustWalk(t, f, "", onlyData, "blobs/1/data", "blobs/2/data", "blobs/loose")
	same(t, "entered", []string{"blobs", "blobs/1", "blobs/2"}, seen.Entered)
	same(t, "missing", nil, seen.Missing)
	if size := seen.Entries["blobs/1/data"].Size; size != int64(len("blobs/1/data")) {
		t.Errorf("size is %d", size)
	}
}

func walkOnlyMissing(t *testing.T, f Fixture) {
	f.put("blobs/1/data", "blobs/2/dat", "blobs/3/data.tmp")
	want := []string(nil)
	if f.Mkdir != nil {
		f.Mkdir("blobs/4")
		want = []string{"blobs/2", "blobs/3", "blobs/4"}
	}
	seen := mustWalk(t, f, "blobs", onlyData, "blobs/1/data")
	same(t, "missing", want, seen.Missing)
}

// What is asked for is a file: a directory of that name is not it.
func walkOnlyDirectory(t *testing.T, f Fixture) {
	f.put("blobs/1/data/inner")
	seen := mustWalk(t, f, "blobs", onlyData)
	if f.Mkdir != nil {
		same(t, "missing", []string{"blobs/1"}, seen.Missing)
	}
}

func walkDeep(t *testing.T, f Fixture) {
	deep := strings.Repeat("d/", 400) + "file"
	f.put(deep, "d/d/shallow")
	seen := mustWalk(t, f, "", nil, deep, "d/d/shallow")
	if len(seen.Entered) != 400 {
		t.Errorf("%d directories were entered, want 400", len(seen.Entered))
	}
}

func walkWide(t *testing.T, f Fixture) {
	const files = 1100 // more than one page of a listing, whatever the driver
	names := make([]string, 0, files)
	for i := range files {
		names = append(names, "wide/"+strings.Repeat("x", 40)+string(rune('a'+i%26))+strings.Repeat("y", i/26))
	}
	f.put(names...)
	seen, err := Walk(t.Context(), f.Reader, "wide", nil)
	if err != nil || len(seen.Files) != files || len(seen.Entries) != files {
		t.Errorf("%d files, %d different, err %v, want %d", len(seen.Files), len(seen.Entries), err, files)
	}
}

// hostile are names that a careless driver trips over.
var hostile = []string{
	" leading space", "trailing space ", "-rf", "--", "~", "*", "a?b", "a b", "line\nbreak", "tab\there",
	"quote'd", "back\\slash", "$(id)", "%2e%2e%2f", "...", ".hidden", "..data", "ümläut", "日本語", "🦑",
	"CON", "a:b", "a#b", "a&b=c", "a+b", "<xml>", strings.Repeat("long", 63),
}

func walkHostile(t *testing.T, f Fixture) {
	var want []string
	for _, name := range hostile {
		f.put("h/" + name + "/" + name)
		want = append(want, "h/"+name+"/"+name)
	}
	seen, err := Walk(t.Context(), f.Reader, "h", nil)
	if err != nil || len(seen.Failed) > 0 {
		t.Fatalf("%v, failed %q", err, seen.Failed)
	}
	for _, path := range want {
		entry, ok := seen.Entries[path]
		if !ok || entry.Size != int64(len(path)) {
			t.Errorf("%q: seen %t, %d bytes", path, ok, entry.Size)
		}
	}
	if len(seen.Files) != len(want) {
		t.Errorf("%d files, want %d", len(seen.Files), len(want))
	}
}

// refused are paths that no driver may touch.
var refused = []string{"/", "/a", "..", "../a", "a/..", "a/../b", ".", "./a", "a/./b", "a//b", "a\x00b"}

func walkRefused(t *testing.T, f Fixture) {
	f.put("a/b")
	for _, dir := range append([]string{"a/"}, refused...) {
		seen, err := Walk(t.Context(), f.Reader, dir, nil)
		if !errors.Is(err, iofs.ErrInvalid) || len(seen.Files) > 0 {
			t.Errorf("walk %q: %v, files %q, want one that wraps fs.ErrInvalid", dir, err, seen.Files)
		}
	}
}

func walkCancelledBefore(t *testing.T, f Fixture) {
	f.put("a/one")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	seen, err := Walk(ctx, f.Reader, "", nil)
	if !errors.Is(err, context.Canceled) || len(seen.Files) > 0 {
		t.Errorf("walk: %v, files %q", err, seen.Files)
	}
}

func walkCancelledMeanwhile(t *testing.T, f Fixture) {
	f.put("a/one", "a/b/two", "a/b/c/three")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	seen, err := Walk(ctx, f.Reader, "", func(dir string) blob.Step {
		if dir == "a/b" {
			cancel()
		}
		return blob.List()
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("walk: %v, want the context's error", err)
	}
	if _, ok := seen.Entries["a/b/c/three"]; ok {
		t.Error("the walk went on after its context had ended")
	}
}

func walkEntry(t *testing.T, f Fixture) {
	f.Put("a/empty", nil, moment)
	f.Put("a/five", []byte("12345"), moment)
	seen := mustWalk(t, f, "", nil, "a/empty", "a/five")
	f.sameEntry(t, blob.Entry{Path: "a/empty", ModTime: moment}, seen.Entries["a/empty"])
	f.sameEntry(t, blob.Entry{Path: "a/five", Size: 5, ModTime: moment}, seen.Entries["a/five"])
}

func (f Fixture) sameEntry(t *testing.T, want, got blob.Entry) {
	t.Helper()
	if f.Stamped {
		want.ModTime = got.ModTime
	}
	if want != got {
		t.Errorf("entry %+v, want %+v", got, want)
	}
}

// Names that sort between a directory and what is in it.
func walkSiblings(t *testing.T, f Fixture) {
	f.put("a/x", "a-b/x", "a.b", "a0", "a/x-y", "a/x.z/w")
	seen := mustWalk(t, f, "", nil, "a-b/x", "a.b", "a/x", "a/x-y", "a/x.z/w", "a0")
	same(t, "entered", []string{"a", "a-b", "a/x.z"}, seen.Entered)
}

// A bound is a hint: what lies within is shown in any case.
func walkBounded(t *testing.T, f Fixture) {
	within := []string{"w/b", "w/b!", "w/b.x", "w/b/one", "w/b0/two", "w/bb/c/three"}
	if f.Mkdir != nil {
		within = within[1:] // a file and a directory of one name are for keys alone
	}
	f.put("w/a/one", "w/az", "w/c/four", "v/b", "x/b")
	f.put(within...)
	var mu sync.Mutex
	seen := map[string]bool{}
	err := f.Reader.Walk(t.Context(), "w", blob.Visitor{
		First: "b", Last: "bb",
		Enter: func(string) blob.Step { return blob.List() },
		File: func(e blob.Entry) {
			mu.Lock()
			defer mu.Unlock()
			seen[e.Path] = true
		},
		Missing: func(string) {},
		Link:    func(string, string) {},
		Fail:    func(path string, err error) { t.Errorf("%s: %v", path, err) },
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range within {
		if !seen[path] {
			t.Errorf("%q was not shown", path)
		}
	}
	if seen["v/b"] || seen["x/b"] {
		t.Errorf("shown: %v, of which some is not below the root", seen)
	}
}
