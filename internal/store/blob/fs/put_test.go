package fs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func lookAt(t *testing.T, path string) owned {
	t.Helper()
	var st unix.Stat_t
	if err := statAt(unix.AT_FDCWD, path, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		t.Fatal(err)
	}
	return ownedBy(&st)
}

// Whoever runs Ebb, the registry must be able to read what was put.
func TestPutKeepsOwnerAndMode(t *testing.T) {
	root := lay(t, "old/file", "private/", "shared/")
	other := owned{uid: os.Getuid(), gid: os.Getgid()}
	if os.Getuid() == 0 {
		other.uid, other.gid = 1234, 2345
	}
	for path, mode := range map[string]uint32{"old/file": 0o640, "private": 0o750, "shared": 0o775} {
		full := filepath.Join(root, path)
		if err := os.Chown(full, other.uid, other.gid); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(full, os.FileMode(mode)); err != nil {
			t.Fatal(err)
		}
	}
	w := writable(t, root)
	for _, path := range []string{"old/file", "private/file", "shared/a/b/file"} {
		if err := w.Put(t.Context(), path, []byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	for path, mode := range map[string]uint32{
		"old/file":        0o640, // that of the file it replaced
		"private/file":    0o640, // its directory's, but nobody executes it
		"shared/a":        0o775,
		"shared/a/b":      0o775,
		"shared/a/b/file": 0o664,
	} {
		want := owned{uid: other.uid, gid: other.gid, mode: mode}
		if got := lookAt(t, filepath.Join(root, path)); got != want {
			t.Errorf("%s is %+v, want %+v", path, got, want)
		}
	}
}

func TestPutAndSymbolicLinks(t *testing.T) {
	root := lay(t, "real/file", "link -> real", "file -> real/file", "dir -> real", "gone -> nowhere")
	w := writable(t, root)
	for path, want := range map[string]string{"dir": errNotFile.Error(), "gone": errDangling.Error(), "gone/file": errDangling.Error()} {
		if err := w.Put(t.Context(), path, []byte("x")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("put %s: %v, want %s", path, err, want)
		}
	}
	if err := w.Put(t.Context(), "link/new", []byte("x")); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(root, "real/new")); err != nil {
		t.Errorf("a link on the way was not followed: %v", err)
	}
	before, err := os.ReadFile(filepath.Join(root, "real/file"))
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Put(t.Context(), "file", []byte("another")); err != nil {
		t.Error(err)
	}
	if after, err := os.ReadFile(filepath.Join(root, "real/file")); err != nil || string(after) != string(before) {
		t.Errorf("what the link led to was changed: %q, %v", after, err)
	}
}

// A failed Put leaves the old content and nothing beside it.
func TestPutLeavesNothingBehind(t *testing.T) {
	if !asNobody(t) {
		return
	}
	root := lay(t, "a/file", "b/")
	if err := os.Chmod(filepath.Join(root, "a"), 0o555); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(filepath.Join(root, "a"), 0o755) })
	w := writable(t, root)
	if err := w.Put(t.Context(), "a/file", []byte("x")); err == nil {
		t.Error("put into a directory that takes no files")
	}
	entries, err := os.ReadDir(filepath.Join(root, "a"))
	if err != nil || len(entries) != 1 {
		t.Errorf("left: %v, %v", entries, err)
	}
}

func TestPutNeedsTheRoot(t *testing.T) {
	root := filepath.Join(t.TempDir(), "root")
	if err := os.Mkdir(root, 0o755); err != nil {
		t.Fatal(err)
	}
	w := writable(t, root)
	if err := os.Remove(root); err != nil {
		t.Fatal(err)
	}
	if err := w.Put(t.Context(), "a/file", []byte("x")); err == nil {
		t.Error("put into a storage that is gone")
	}
	if _, err := os.Stat(root); err == nil {
		t.Error("the root was made anew")
	}
}
