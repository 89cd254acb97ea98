package fs

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ebb-io/ebb/internal/store/blob"
	"github.com/ebb-io/ebb/internal/store/blob/blobtest"
)

// The kernel itself tells which directories were opened.
func TestOnlyListedDirectoriesAreOpened(t *testing.T) {
	top := lay(t, "root/list/f", "root/skip/f", "root/only/data", "out/f", "root/linked -> ../out")
	steps := map[string]blob.Step{"list": blob.List(), "skip": blob.Skip(), "only": blob.Only("data"), "linked": blob.Skip()}
	fd, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	if err != nil {
		t.Skip("no inotify: ", err)
	}
	defer unix.Close(fd)
	watched := map[int32]string{}
	for _, dir := range []string{"root", "root/list", "root/skip", "root/only", "out"} {
		wd, err := unix.InotifyAddWatch(fd, filepath.Join(top, dir), unix.IN_OPEN)
		if err != nil {
			t.Fatal(err)
		}
		watched[int32(wd)] = dir
	}
	seen, err := blobtest.Walk(t.Context(), openAtTop(t, top), "", func(dir string) blob.Step { return steps[dir] })
	if err != nil || strings.Join(seen.Files, " ") != "list/f only/data" {
		t.Errorf("walk: %q, %v", seen.Files, err)
	}
	opened := events(t, fd, watched)
	for dir, want := range map[string]bool{"root": true, "root/list": true, "root/skip": false, "root/only": false, "out": false} {
		if opened[dir] != want {
			t.Errorf("%s was opened: %t, want %t", dir, opened[dir], want)
		}
	}
}

// events are the watched directories that were opened themselves.
func events(t *testing.T, fd int, watched map[int32]string) map[string]bool {
	t.Helper()
	buffer := make([]byte, 64<<10)
	n, err := unix.Read(fd, buffer)
	if err != nil {
		t.Fatal(err)
	}
	opened := map[string]bool{}
	for rest := buffer[:n]; len(rest) >= unix.SizeofInotifyEvent; {
		event := nativeEvent(rest)
		if event.Mask&unix.IN_ISDIR != 0 && event.Len == 0 {
			opened[watched[event.Wd]] = true
		}
		rest = rest[unix.SizeofInotifyEvent+int(event.Len):]
	}
	return opened
}

// A disk without a free block takes a lock; one without a free inode says so.
// It runs in a mount namespace of its own, with a disk that is easy to fill.
func TestLockOnAFullDisk(t *testing.T) {
	const sign = "EBB_TEST_OWN_MOUNTS"
	if os.Getenv(sign) != "" {
		lockOnAFullDisk(t)
		return
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.v", "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), sign+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	out, err := cmd.CombinedOutput()
	if errors.Is(err, os.ErrPermission) || bytes.Contains(out, []byte("no mounts here")) {
		t.Skip("this machine lets nobody mount: ", err)
	}
	if err != nil || !bytes.Contains(out, []byte("--- PASS: "+t.Name())) {
		t.Errorf("with own mounts: %v\n%s", err, out)
	}
}

func lockOnAFullDisk(t *testing.T) {
	root := t.TempDir()
	if err := unix.Mount("tmpfs", root, "tmpfs", 0, "size=64k,nr_inodes=4"); err != nil {
		t.Skip("no mounts here: ", err)
	}
	defer func() { _ = unix.Unmount(root, unix.MNT_DETACH) }()
	filler := filepath.Join(root, "filler")
	if err := os.WriteFile(filler, make([]byte, 1<<20), 0o644); !errors.Is(err, unix.ENOSPC) {
		t.Fatalf("filling the disk: %v", err)
	}
	w := writable(t, root)
	if free, err := w.Free(t.Context()); err != nil || free != 0 {
		t.Errorf("free: %d, %v, want 0", free, err)
	}
	l, err := w.Lock(t.Context(), "lock")
	if err != nil {
		t.Fatalf("lock on a full disk: %v", err)
	}
	if err := errors.Join(l.Beat(t.Context()), l.Release(t.Context())); err != nil {
		t.Error(err)
	}
	for err == nil {
		err = os.WriteFile(filepath.Join(root, strings.Repeat("x", len(filler))), nil, 0o644)
		filler += "x"
	}
	if _, err := w.Lock(t.Context(), "lock"); !errors.Is(err, unix.ENOSPC) || !strings.Contains(err.Error(), "remove any file first") {
		t.Errorf("lock without inodes: %v", err)
	}
	if errs := w.Delete(t.Context(), []string{"filler"}); errs != nil {
		t.Errorf("delete: %v", errs)
	}
	if free, err := w.Free(t.Context()); err != nil || free == 0 {
		t.Errorf("free after the deletion: %d, %v", free, err)
	}
}

func nativeEvent(b []byte) unix.InotifyEvent {
	return unix.InotifyEvent{
		Wd:   int32(binary.NativeEndian.Uint32(b)),
		Mask: binary.NativeEndian.Uint32(b[4:]),
		Len:  binary.NativeEndian.Uint32(b[12:]),
	}
}

// A listing may come in any pieces, even in one that holds nothing of use. The
// buffer here has room for "." and "..", but then not for the file.
func TestListingInPieces(t *testing.T) {
	name := strings.Repeat("n", 250)
	for _, size := range []int{280, 290, 300, 700} {
		w := openAtTop(t, lay(t, "root/d/"+name, "root/d/x"))
		w.scratch.New = func() any { return &scratch{buffer: make([]byte, size)} }
		seen, err := blobtest.Walk(t.Context(), w, "", nil)
		if err != nil || strings.Join(seen.Files, " ") != "d/"+name+" d/x" {
			t.Errorf("buffer of %d: files %q, %v", size, seen.Files, err)
		}
	}
	w := openAtTop(t, lay(t, "root/d/"+name))
	w.scratch.New = func() any { return &scratch{buffer: make([]byte, 280)} }
	if seen, err := blobtest.Walk(t.Context(), w, "d", nil); err != nil || len(seen.Files) != 1 {
		t.Errorf("files %q, %v", seen.Files, err)
	}
}
