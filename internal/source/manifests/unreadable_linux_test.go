package manifests

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
)

// nobody is a user that owns nothing.
const nobody = 65534

// asNobody lets f open files as nobody does, which root alone can arrange; any
// other user is refused what it has no right to without that.
func asNobody(t *testing.T, f func()) {
	t.Helper()
	if os.Geteuid() != 0 {
		f()
		return
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	_ = syscall.Setfsuid(nobody)
	defer func() { _ = syscall.Setfsuid(0) }()
	f()
}

func TestUnreadable(t *testing.T) {
	file := write(t, "x.yaml", diskYAML)
	dir := filepath.Dir(file)
	if err := errors.Join(os.Chmod(filepath.Dir(dir), 0o755), os.Chmod(dir, 0o755), os.Chmod(file, 0o644)); err != nil {
		t.Fatal(err)
	}
	asNobody(t, func() {
		if _, err := load(file); err != nil {
			t.Errorf("what everybody may read: %v", err)
		}
	})
	for _, path := range []string{file, dir} {
		if err := os.Chmod(path, 0); err != nil {
			t.Fatal(err)
		}
		asNobody(t, func() {
			if _, err := load(path); !errors.Is(err, ErrIncomplete) || !errors.Is(err, os.ErrPermission) {
				t.Errorf("%s: %v, want it refused as unreadable", path, err)
			}
		})
		if err := os.Chmod(path, 0o755); err != nil {
			t.Fatal(err)
		}
	}
}
