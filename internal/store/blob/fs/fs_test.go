package fs

import (
	"bytes"
	"context"
	"errors"
	iofs "io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ebb-io/ebb/internal/store/blob"
	"github.com/ebb-io/ebb/internal/store/blob/blobtest"
)

func TestOpen(t *testing.T) {
	top := lay(t, "file", "dir/", "dangling -> nowhere")
	tests := []struct {
		name string
		want error // nil: any
	}{
		{"absent", iofs.ErrNotExist},
		{"dangling", iofs.ErrNotExist},
		{"file", nil},
		{"file/below", nil},
	}
	for _, test := range tests {
		path := filepath.Join(top, test.name)
		_, err := Open(path)
		_, errWritable := OpenWritable(path)
		for _, err := range []error{err, errWritable} {
			if err == nil || !strings.HasPrefix(err.Error(), "store "+path+": ") || test.want != nil && !errors.Is(err, test.want) {
				t.Errorf("open %s: %v, want %v", test.name, err, test.want)
			}
		}
	}
	if _, err := Open(filepath.Join(top, "dir")); err != nil {
		t.Error(err)
	}
}

// asNobody runs a test again as a user whom permissions bind, and tells
// whether this is the run that has to do the testing.
func asNobody(t *testing.T) bool {
	t.Helper()
	const sign = "EBB_TEST_AS_NOBODY"
	if os.Getuid() != 0 {
		return true
	}
	if os.Getenv(sign) != "" {
		if err := errors.Join(syscall.Setgroups(nil), syscall.Setgid(65534), syscall.Setuid(65534)); err != nil {
			t.Fatal(err)
		}
		return true
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.v", "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), sign+"=1")
	out, err := cmd.CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("--- PASS: "+t.Name())) {
		t.Errorf("as nobody: %v\n%s", err, out)
	}
	return false
}

func TestPermissions(t *testing.T) {
	if !asNobody(t) {
		return
	}
	top := lay(t, "root/open/f", "root/open/secret", "root/closed/f", "root/blobs/1/data", "root/blobs/2/data",
		"root/frozen/f", "root/frozen/empty/")
	root := filepath.Join(top, "root")
	w := writable(t, root)
	closed := map[string]os.FileMode{"closed": 0, "open/secret": 0, "blobs/2": 0o600, "frozen": 0o500}
	for name, mode := range closed {
		if err := os.Chmod(filepath.Join(root, name), mode); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		for name := range closed {
			_ = os.Chmod(filepath.Join(root, name), 0o700)
		}
	})
	denied := func(what string, err error) {
		t.Helper()
		if !errors.Is(err, iofs.ErrPermission) || errors.Is(err, iofs.ErrNotExist) || !strings.HasPrefix(err.Error(), "store "+root) {
			t.Errorf("%s: %v, want one that wraps fs.ErrPermission", what, err)
		}
	}
	seen, err := blobtest.Walk(t.Context(), w, "", func(dir string) blob.Step {
		if strings.HasPrefix(dir, "blobs/") {
			return blob.Only("data")
		}
		return blob.List()
	})
	if err != nil || strings.Join(seen.Failed, " ") != "blobs/2/data closed" || len(seen.Missing) > 0 {
		t.Errorf("walk: failed %q, missing %q, %v", seen.Failed, seen.Missing, err)
	}
	if got := strings.Join(seen.Files, " "); got != "blobs/1/data frozen/f open/f open/secret" {
		t.Errorf("walk: files %q", got)
	}
	denied("listing", seen.Errors["closed"])
	denied("leaf", seen.Errors["blobs/2/data"])

	seen, err = blobtest.Walk(t.Context(), w, "closed", nil)
	if err != nil {
		t.Errorf("walk of a closed directory: %v, want it told to Fail", err)
	}
	denied("root of a walk", seen.Errors["closed"])
	_, err = w.Read(t.Context(), "open/secret", &bytes.Buffer{})
	denied("read", err)
	_, err = w.Stat(t.Context(), "closed/f")
	denied("stat", err)
	_, err = w.Lock(t.Context(), "frozen/.lock")
	denied("lock", err)
	for i, err := range w.Delete(t.Context(), []string{"frozen/f", "frozen/empty/", "closed/f", "closed/absent"}) {
		denied("delete "+string(rune('0'+i)), err)
	}
	_, err = Open(filepath.Join(root, "closed"))
	if !errors.Is(err, iofs.ErrPermission) {
		t.Errorf("open: %v", err)
	}
}

func TestPipesAreLeftAlone(t *testing.T) {
	top := lay(t, "root/d/f", "root/only/x", "root/link -> d/pipe")
	for _, name := range []string{"root/d/pipe", "root/only/data"} {
		if err := unix.Mkfifo(filepath.Join(top, name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	w := openAtTop(t, top)
	seen, err := blobtest.Walk(t.Context(), w, "", func(dir string) blob.Step {
		if dir == "only" {
			return blob.Only("data")
		}
		return blob.List()
	})
	if err != nil || strings.Join(seen.Files, " ") != "d/f" || strings.Join(seen.Missing, " ") != "only" || len(seen.Failed) > 0 {
		t.Errorf("walk: %+v, %v", seen, err)
	}
	for _, path := range []string{"d/pipe", "link"} {
		_, err := w.Read(t.Context(), path, &bytes.Buffer{})
		if !errors.Is(err, errNotRegular) || errors.Is(err, iofs.ErrNotExist) {
			t.Errorf("read %s: %v", path, err)
		}
		if _, err := w.Stat(t.Context(), path); !errors.Is(err, errNotRegular) {
			t.Errorf("stat %s: %v", path, err)
		}
	}
	if errs := w.Delete(t.Context(), []string{"d/pipe"}); errs != nil {
		t.Errorf("delete: %v", errs)
	}
}

// What changes between the listing and the look.
func TestVanishing(t *testing.T) {
	top := lay(t, "root/list/f", "root/only/data", "root/turned/data", "root/turnedlist/f", "root/stay/f")
	w := openAtTop(t, top)
	at := func(dir string) string { return filepath.Join(top, "root", dir) }
	seen, err := blobtest.Walk(t.Context(), w, "", func(dir string) blob.Step {
		var err error
		if dir != "stay" {
			err = os.RemoveAll(at(dir))
		}
		if strings.HasPrefix(dir, "turned") {
			err = os.WriteFile(at(dir), []byte("now a file"), 0o644)
		}
		if err != nil {
			t.Error(err)
		}
		if dir == "only" || dir == "turned" {
			return blob.Only("data")
		}
		return blob.List()
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(seen.Files, " "); got != "stay/f turned" {
		t.Errorf("files %q", got)
	}
	if got := strings.Join(seen.Failed, " "); got != "list only turnedlist" {
		t.Errorf("failed %q, want whatever vanished", got)
	}
	if len(seen.Missing) > 0 {
		t.Errorf("missing %q: the directory is gone, not its file", seen.Missing)
	}
}

// Some file systems do not tell in a listing what a name is.
func TestUnknownTypes(t *testing.T) {
	top := lay(t, "root/file", "root/dir/f", "root/filelink -> file", "root/dirlink -> dir", "root/dangling -> nowhere")
	w := openAtTop(t, top)
	base, err := w.openRoot()
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(base)
	var told []string
	walk := &walk{Driver: w.Driver, ctx: t.Context(), base: base, visitor: blob.Visitor{
		Enter: func(dir string) blob.Step { told = append(told, "enter "+dir); return blob.List() },
		File:  func(e blob.Entry) { told = append(told, "file "+e.Path) },
		Fail:  func(path string, _ error) { told = append(told, "fail "+path) },
	}}
	for _, name := range []string{"file", "dir", "filelink", "dirlink", "dangling", "absent"} {
		if (look{walk: walk, dir: base, path: name, name: len(name)}).show(isUnknown) {
			told = append(told, "list "+name)
		}
	}
	want := "file file,enter dir,list dir,file filelink,enter dirlink,fail dangling,fail absent"
	if got := strings.Join(told, ","); got != want {
		t.Errorf("told %q, want %q", got, want)
	}
	if len(walk.links) != 1 || walk.links[0] != "dirlink" {
		t.Errorf("put off %q", walk.links)
	}
}

func TestNameTooLong(t *testing.T) {
	w := writable(t, t.TempDir())
	if err := os.Mkdir(filepath.Join(w.root, "d"), 0o755); err != nil {
		t.Fatal(err)
	}
	leaf := strings.Repeat("x", 300)
	seen, err := blobtest.Walk(t.Context(), w, "", func(string) blob.Step { return blob.Only(leaf) })
	if err != nil || len(seen.Missing) > 0 || !errors.Is(seen.Errors["d/"+leaf], unix.ENAMETOOLONG) {
		t.Errorf("walk: %+v, %v: a look that failed does not prove that the file is missing", seen, err)
	}
	if errs := w.Delete(t.Context(), []string{leaf}); len(errs) != 1 || !errors.Is(errs[0], unix.ENAMETOOLONG) {
		t.Errorf("delete: %v", errs)
	}
}

func openFiles(t *testing.T) int {
	t.Helper()
	names, err := os.ReadDir("/dev/fd")
	if err != nil {
		t.Skip("no /dev/fd: ", err)
	}
	return len(names)
}

// A walk that is cut short leaves neither goroutines nor open directories.
func TestCancelLeavesNothing(t *testing.T) {
	root := blobTree(t, 300)
	for i := range 700 {
		if err := os.WriteFile(filepath.Join(root, "blobs", strings.Repeat("n", 60)+time.Duration(i).String()), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	w := writable(t, root)
	files, goroutines := openFiles(t), runtime.NumGoroutine()
	for stop := 1; stop < 500; stop += 61 {
		ctx, cancel := context.WithCancel(t.Context())
		var mu sync.Mutex
		asked := 0
		_, err := blobtest.Walk(ctx, w, "", func(string) blob.Step {
			mu.Lock()
			defer mu.Unlock()
			if asked++; asked == stop {
				cancel()
			}
			return blob.List()
		})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("walk: %v", err)
		}
		cancel()
	}
	if got := openFiles(t); got != files {
		t.Errorf("%d files are open, were %d", got, files)
	}
	if got := runtime.NumGoroutine(); got != goroutines {
		t.Errorf("%d goroutines run, were %d", got, goroutines)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// A file that changes while it is read is read to its new end.
func TestReadMeetsTheEnd(t *testing.T) {
	w := writable(t, t.TempDir())
	path := filepath.Join(w.root, "f")
	tests := []struct {
		name         string
		before, size int64
	}{
		{"grows", 100_000, 300_000},
		{"shrinks", 100_000, 70_000},
		{"fills the buffer and grows", 64 << 10, 300_000},
	}
	for _, test := range tests {
		if err := os.WriteFile(path, make([]byte, test.before), 0o644); err != nil {
			t.Fatal(err)
		}
		total := int64(0)
		entry, err := w.Read(t.Context(), "f", writerFunc(func(p []byte) (int, error) {
			if total == 0 {
				if err := os.Truncate(path, test.size); err != nil {
					t.Error(err)
				}
			}
			total += int64(len(p))
			return len(p), nil
		}))
		if err != nil || total != test.size || entry.Size != test.size {
			t.Errorf("file that %s: read %d, entry says %d, want %d, %v", test.name, total, entry.Size, test.size, err)
		}
	}
	short := writerFunc(func(p []byte) (int, error) { return len(p) - 1, nil })
	if _, err := w.Read(t.Context(), "f", short); err == nil {
		t.Error("a short write went unnoticed")
	}
}

// Files in /proc have a size of zero, whatever they hold, and are handed out a
// page at a time, as a file on a network may be.
func TestReadInPieces(t *testing.T) {
	whole, err := os.ReadFile("/proc/self/smaps")
	if err != nil || len(whole) < 3*os.Getpagesize() {
		t.Skip("needs a large file in /proc: ", err)
	}
	var got bytes.Buffer
	entry, err := writable(t, "/proc/self").Read(t.Context(), "smaps", &got)
	if err != nil || entry.Size != int64(got.Len()) {
		t.Errorf("read %d, entry says %d, %v", got.Len(), entry.Size, err)
	}
	if got.Len() < len(whole)/2 { // the process maps more or less meanwhile
		t.Errorf("read %d, want about %d", got.Len(), len(whole))
	}
}
