package fs

import (
	"bytes"
	"errors"
	iofs "io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ebb-io/ebb/internal/store/blob"
	"github.com/ebb-io/ebb/internal/store/blob/blobtest"
)

// lay makes files, directories (with a slash at the end) and symbolic links
// ("name -> target") in a new directory. A target that begins with @ is
// relative to that directory.
func lay(t *testing.T, things ...string) string {
	t.Helper()
	top := t.TempDir()
	for _, thing := range things {
		name, target, link := strings.Cut(thing, " -> ")
		path := filepath.Join(top, name)
		dir := filepath.Dir(path)
		if strings.HasSuffix(name, "/") {
			dir = path
		}
		err := os.MkdirAll(dir, 0o755)
		if rest, ok := strings.CutPrefix(target, "@"); ok {
			target = filepath.Join(top, rest)
		}
		switch {
		case err != nil:
		case link:
			err = os.Symlink(target, path)
		case dir != path:
			err = os.WriteFile(path, []byte(name), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return top
}

func openAtTop(t *testing.T, top string) *Writable {
	t.Helper()
	return writable(t, filepath.Join(top, "root"))
}

func TestSymlinks(t *testing.T) {
	tests := []struct {
		name string
		why  string
		lay  []string
		dir  string
		step map[string]blob.Step
		want blobtest.Seen
	}{
		{
			name: "file inside", why: "files are followed",
			lay:  []string{"root/a", "root/l -> a"},
			want: blobtest.Seen{Files: []string{"a", "l"}},
		},
		{
			name: "file outside", why: "files are followed wherever they lead",
			lay:  []string{"out/f", "root/l -> ../out/f", "root/m -> @out/f"},
			want: blobtest.Seen{Files: []string{"l", "m"}},
		},
		{
			name: "file where directories are skipped", why: "files of a listed directory are always shown",
			lay:  []string{"out/f", "root/l -> ../out/f"},
			step: map[string]blob.Step{"l": blob.Skip()},
			want: blobtest.Seen{Files: []string{"l"}},
		},
		{
			name: "dangling", why: "it may be a volume that is not mounted",
			lay:  []string{"root/a", "root/l -> ../nowhere"},
			step: map[string]blob.Step{"l": blob.Skip()},
			want: blobtest.Seen{Files: []string{"a"}, Failed: []string{"l"}},
		},
		{
			name: "link to itself", why: "what it should be is unknown",
			lay:  []string{"root/l -> l"},
			want: blobtest.Seen{Failed: []string{"l"}},
		},
		{
			name: "directory inside", why: "its own name is walked anyway",
			lay:  []string{"root/z/deep/f", "root/a -> z/deep"},
			want: blobtest.Seen{Entered: []string{"a", "z", "z/deep"}, Files: []string{"z/deep/f"}, Links: []string{"a -> z/deep"}},
		},
		{
			name: "the root", why: "the root is inside of itself",
			lay:  []string{"root/f", "root/l -> ."},
			want: blobtest.Seen{Entered: []string{"l"}, Files: []string{"f"}, Links: []string{"l -> "}},
		},
		{
			name: "loop inside", why: "loops end",
			lay:  []string{"root/a/b/f", "root/a/b/up -> ../.."},
			want: blobtest.Seen{Entered: []string{"a", "a/b", "a/b/up"}, Files: []string{"a/b/f"}, Links: []string{"a/b/up -> "}},
		},
		{
			name: "directory outside", why: "the registry follows it",
			lay:  []string{"out/d/f", "root/l -> ../out"},
			want: blobtest.Seen{Entered: []string{"l", "l/d"}, Files: []string{"l/d/f"}},
		},
		{
			name: "chain of links", why: "the real target counts",
			lay:  []string{"out/f", "second -> out", "root/l -> ../second"},
			want: blobtest.Seen{Entered: []string{"l"}, Files: []string{"l/f"}},
		},
		{
			name: "skipped", why: "nothing below is wanted",
			lay:  []string{"out/f", "root/in/f", "root/l -> ../out", "root/m -> in"},
			step: map[string]blob.Step{"l": blob.Skip(), "m": blob.Skip()},
			want: blobtest.Seen{Entered: []string{"in", "l", "m"}, Files: []string{"in/f"}},
		},
		{
			name: "only", why: "a leaf is looked at through the link",
			lay:  []string{"out/data", "out/more", "bare/", "root/l -> ../out", "root/m -> ../bare"},
			step: map[string]blob.Step{"l": blob.Only("data"), "m": blob.Only("data")},
			want: blobtest.Seen{Entered: []string{"l", "m"}, Files: []string{"l/data"}, Missing: []string{"m"}},
		},
		{
			name: "only, dangling", why: "a dangling link does not prove that the file is missing",
			lay:  []string{"root/d/data -> ../../nowhere"},
			step: map[string]blob.Step{"d": blob.Only("data")},
			want: blobtest.Seen{Entered: []string{"d"}, Failed: []string{"d/data"}},
		},
		{
			name: "only, linked file", why: "files are followed",
			lay:  []string{"out/f", "root/d/data -> ../../out/f"},
			step: map[string]blob.Step{"d": blob.Only("data")},
			want: blobtest.Seen{Entered: []string{"d"}, Files: []string{"d/data"}},
		},
		{
			name: "same target twice", why: "the first name in sorted order shows it",
			lay:  []string{"out/f", "root/b -> ../out", "root/a -> ../out"},
			want: blobtest.Seen{Entered: []string{"a", "b"}, Files: []string{"a/f"}, Links: []string{"b -> a"}},
		},
		{
			name: "target inside of another's", why: "it is shown below the other",
			lay:  []string{"out/sub/f", "root/a -> ../out", "root/b -> ../out/sub"},
			want: blobtest.Seen{Entered: []string{"a", "a/sub", "b"}, Files: []string{"a/sub/f"}, Links: []string{"b -> a/sub"}},
		},
		{
			name: "target around another's", why: "files would have two names",
			lay:  []string{"out/sub/f", "root/a -> ../out/sub", "root/b -> ../out"},
			want: blobtest.Seen{Entered: []string{"a", "b"}, Files: []string{"a/f"}, Failed: []string{"b"}},
		},
		{
			name: "similar names", why: "out2 is not inside of out",
			lay:  []string{"out/f", "out2/f", "root/a -> ../out", "root/b -> ../out2"},
			want: blobtest.Seen{Entered: []string{"a", "b"}, Files: []string{"a/f", "b/f"}},
		},
		{
			name: "name like the root's", why: "root2 is not inside of root",
			lay:  []string{"root2/f", "root/a -> ../root2"},
			want: blobtest.Seen{Entered: []string{"a"}, Files: []string{"a/f"}},
		},
		{
			name: "above the root", why: "it would show the whole storage again",
			lay:  []string{"root/f", "root/l -> ..", "root/m -> /"},
			want: blobtest.Seen{Entered: []string{"l", "m"}, Files: []string{"f"}, Failed: []string{"l", "m"}},
		},
		{
			name: "loop outside", why: "loops end",
			lay:  []string{"out/f", "out/self -> .", "root/l -> ../out"},
			want: blobtest.Seen{Entered: []string{"l", "l/self"}, Files: []string{"l/f"}, Links: []string{"l/self -> l"}},
		},
		{
			name: "loop over two", why: "loops end",
			lay:  []string{"one/x -> ../two", "two/y -> ../one", "two/f", "root/l -> ../one"},
			want: blobtest.Seen{Entered: []string{"l", "l/x", "l/x/y"}, Files: []string{"l/x/f"}, Links: []string{"l/x/y -> l"}},
		},
		{
			name: "back inside", why: "what is linked from outside has its own name too",
			lay:  []string{"out/back -> ../root/real", "root/real/f", "root/l -> ../out"},
			want: blobtest.Seen{Entered: []string{"l", "l/back", "real"}, Files: []string{"real/f"}, Links: []string{"l/back -> real"}},
		},
		{
			name: "walk from a linked directory", why: "the start counts as reached",
			lay: []string{"out/d/f", "out/d/self -> ..", "root/l -> ../out"}, dir: "l",
			want: blobtest.Seen{Entered: []string{"l/d", "l/d/self"}, Files: []string{"l/d/f"}, Links: []string{"l/d/self -> l"}},
		},
		{
			name: "walk below a linked directory", why: "a link to above the start leads back to it",
			lay: []string{"out/d/f", "out/d/up -> ..", "root/l -> ../out"}, dir: "l/d",
			want: blobtest.Seen{Entered: []string{"l/d/up"}, Files: []string{"l/d/f"}, Failed: []string{"l/d/up"}},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := openAtTop(t, lay(t, test.lay...))
			guide := func(dir string) blob.Step {
				if step, ok := test.step[dir]; ok {
					return step
				}
				return blob.List()
			}
			got, err := blobtest.Walk(t.Context(), w, test.dir, guide)
			if err != nil {
				t.Fatal(err)
			}
			ignore := cmpopts.IgnoreFields(blobtest.Seen{}, "Entries", "Errors")
			if diff := cmp.Diff(test.want, got, ignore, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.why, diff)
			}
			for path, err := range got.Errors {
				if errors.Is(err, iofs.ErrNotExist) {
					t.Errorf("%s is told as absent: %v", path, err)
				}
			}
		})
	}
}

func TestLinkedFileShowsItsTarget(t *testing.T) {
	top := lay(t, "out/f", "root/l -> ../out/f")
	seen, err := blobtest.Walk(t.Context(), openAtTop(t, top), "", nil)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Join(top, "out/f"))
	if err != nil {
		t.Fatal(err)
	}
	want := blob.Entry{Path: "l", Size: info.Size(), ModTime: info.ModTime().UTC(), Link: filepath.Join(top, "out/f")}
	if got := seen.Entries["l"]; got != want {
		t.Errorf("entry %+v, want %+v", got, want)
	}
}

func TestRootIsALink(t *testing.T) {
	top := lay(t, "real/d/f", "real/l -> d", "root -> real")
	seen, err := blobtest.Walk(t.Context(), openAtTop(t, top), "", nil)
	if err != nil || cmp.Diff(seen.Files, []string{"d/f"}) != "" || cmp.Diff(seen.Links, []string{"l -> d"}) != "" {
		t.Errorf("files %q, links %q, %v", seen.Files, seen.Links, err)
	}
}

// A path that ends behind a dangling link is unknown, not absent.
func TestDanglingIsNotAbsent(t *testing.T) {
	top := lay(t, "root/a/f", "root/l -> ../nowhere", "root/a/m -> ../l", "root/good -> a")
	w := openAtTop(t, top)
	if _, err := w.Stat(t.Context(), "good/absent"); !errors.Is(err, iofs.ErrNotExist) {
		t.Errorf("absent behind a link that is whole: %v", err)
	}
	for _, path := range []string{"l", "l/x", "l/x/y", "a/m", "a/m/x"} {
		_, statErr := w.Stat(t.Context(), path)
		_, readErr := w.Read(t.Context(), path, &bytes.Buffer{})
		for _, err := range []error{statErr, readErr} {
			if err == nil || errors.Is(err, iofs.ErrNotExist) {
				t.Errorf("%s: %v, want an error that does not say that it is absent", path, err)
			}
		}
	}
	if seen, err := blobtest.Walk(t.Context(), w, "l", nil); err != nil || cmp.Diff(seen.Failed, []string{"l"}) != "" {
		t.Errorf("walk: failed %q, %v", seen.Failed, err)
	}
	for _, path := range []string{"l/x", "l/x/", "a/m/x"} {
		if errs := w.Delete(t.Context(), []string{path}); len(errs) != 1 || errs[0] == nil {
			t.Errorf("delete %s: %v, want an error: nothing is known to be gone", path, errs)
		}
	}
}

func TestDeleteAndLinks(t *testing.T) {
	top := lay(t, "out/f", "out/g", "out/empty/", "root/file -> ../out/f", "root/dir -> ../out",
		"root/bare -> ../out/empty", "root/dangling -> ../nowhere")
	w := openAtTop(t, top)
	for i, err := range w.Delete(t.Context(), []string{"bare/", "dir/", "file/", "dangling/"}) {
		if err == nil {
			t.Errorf("deletion %d of a link as a directory succeeded", i)
		}
	}
	for _, name := range []string{"bare", "dir", "file", "dangling"} {
		if _, err := os.Lstat(filepath.Join(top, "root", name)); err != nil {
			t.Errorf("link %s is gone: %v", name, err)
		}
	}
	if errs := w.Delete(t.Context(), []string{"file", "dir/g", "dangling", "bare"}); errs != nil {
		t.Errorf("delete: %v", errs)
	}
	for name, want := range map[string]bool{
		"out/f": true, "out/g": false, "out/empty": true, "root/file": false,
		"root/dir": true, "root/dangling": false, "root/bare": false,
	} {
		if _, err := os.Lstat(filepath.Join(top, name)); (err == nil) != want {
			t.Errorf("%s exists: %t, want %t", name, err == nil, want)
		}
	}
}

// Links that lead to links that lead to links are found round by round, and
// their order never depends on who was faster.
func TestLinksAreDeterministic(t *testing.T) {
	things := []string{"root/keep/f"}
	for _, n := range []string{"a", "b", "c", "d", "e"} {
		things = append(things, "out/"+n+"/f", "out/"+n+"/next -> ../../out", "root/"+n+"/l -> ../../out/"+n)
	}
	w := openAtTop(t, lay(t, things...))
	first, err := blobtest.Walk(t.Context(), w, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		again, err := blobtest.Walk(t.Context(), w, "", nil)
		if diff := cmp.Diff(first, again, cmpopts.IgnoreFields(blobtest.Seen{}, "Errors")); diff != "" || err != nil {
			t.Fatalf("%v\n%s", err, diff)
		}
	}
}
