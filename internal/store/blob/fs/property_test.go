package fs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/ebb-io/ebb/internal/store/blob"
	"github.com/ebb-io/ebb/internal/store/blob/blobtest"
	"github.com/ebb-io/ebb/internal/store/blob/mem"
)

// Any tree and any guide: both drivers show the same files and ask about the
// same directories.
func TestWalksLikeMemory(t *testing.T) {
	top := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		root, err := os.MkdirTemp(top, "")
		if err != nil {
			rt.Fatal(err)
		}
		store := mem.New()
		element := rapid.SampledFrom([]string{"a", "b", "a-b", "data", "x y"})
		path := rapid.SliceOfN(element, 1, 5)
		for _, elements := range rapid.SliceOfN(path, 0, 25).Draw(rt, "tree") {
			grow(rt, root, store, strings.Join(elements, "/"))
		}
		guide := drawGuide(rt, store.Paths())
		dir := rapid.SampledFrom([]string{"", "a", "a/b", "data"}).Draw(rt, "dir")
		want, wantErr := blobtest.Walk(t.Context(), store, dir, guide)
		got, gotErr := blobtest.Walk(t.Context(), writable(t, root), dir, guide)
		if (wantErr == nil) != (gotErr == nil) {
			rt.Fatalf("fs says %v, mem says %v", gotErr, wantErr)
		}
		got.Missing = nil // mem has no directories of its own
		if diff := cmp.Diff(want, got); diff != "" {
			rt.Fatalf("(-mem +fs):\n%s", diff)
		}
	})
}

// grow adds a file to both, unless a file or a directory is in its way.
func grow(rt *rapid.T, root string, store *mem.Store, path string) {
	full := filepath.Join(root, path)
	if os.MkdirAll(filepath.Dir(full), 0o755) != nil || os.WriteFile(full, []byte(path), 0o644) != nil {
		return
	}
	modTime := time.Unix(int64(len(path)), 0).UTC()
	if err := os.Chtimes(full, modTime, modTime); err != nil {
		rt.Fatal(err)
	}
	store.Put(path, []byte(path), modTime)
}

func drawGuide(rt *rapid.T, paths []string) func(string) blob.Step {
	steps := map[string]blob.Step{}
	step := rapid.SampledFrom([]blob.Step{blob.List(), blob.List(), blob.Skip(), blob.Only("data"), blob.Only("a")})
	for _, path := range paths {
		for i, c := range path {
			if _, ok := steps[path[:i]]; c == '/' && !ok {
				steps[path[:i]] = step.Draw(rt, path[:i])
			}
		}
	}
	return func(dir string) blob.Step { return steps[dir] }
}
