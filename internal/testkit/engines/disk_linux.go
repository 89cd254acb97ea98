package engines

import (
	"os"
	"syscall"
	"testing"
)

// OwnDisk is a folder, until the test ends, with a file system that nobody else
// writes, so that its free bytes can be told.
func OwnDisk(t testing.TB) string {
	t.Helper()
	need(t)
	dir, err := os.MkdirTemp("", "ebb")
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=1g"); err != nil {
		t.Fatalf("mount a file system: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Errorf("unmount %s: %v", dir, err)
			return
		}
		if err := os.Remove(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}
