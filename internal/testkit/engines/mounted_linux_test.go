package engines

import (
	"os"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAMountThatIsLeftIsSeen(t *testing.T) {
	need(t)
	dir := t.TempDir()
	at := dir + "/left"
	if err := os.Mkdir(at, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", at, "tmpfs", 0, ""); err != nil {
		t.Fatal(err)
	}
	seen := mounted(t, dir)
	if err := syscall.Unmount(at, 0); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{at}, seen); diff != "" {
		t.Errorf("mounts seen (-want +got):\n%s", diff)
	}
	if left := mounted(t, dir); len(left) > 0 {
		t.Errorf("after the unmount: %v", left)
	}
}
