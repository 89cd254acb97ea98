package state

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// asNobody does something as a user who owns nothing; as somebody else than root
// it does it as that one.
func asNobody(t *testing.T, do func()) {
	t.Helper()
	if os.Geteuid() == 0 {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		if _, err := unix.SetfsuidRetUid(65534); err != nil {
			t.Fatal(err)
		}
		defer func() {
			if _, err := unix.SetfsuidRetUid(0); err != nil {
				t.Error(err)
			}
		}()
	}
	do()
}

// everybodyMay gives a folder this mode, and lets everybody come to it.
func everybodyMay(t *testing.T, dir string, mode os.FileMode) {
	t.Helper()
	if err := os.Chmod(dir, mode); err != nil {
		t.Fatal(err)
	}
	for dir = filepath.Dir(dir); dir != os.TempDir() && dir != "/"; dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

func lockAndRelease(t *testing.T, d *Dir) {
	t.Helper()
	release, err := d.Lock("e")
	if err != nil {
		t.Fatal(err)
	}
	if err := release(); err != nil {
		t.Error(err)
	}
}

// TestLockOfAnotherUser: a file that root made is everybody's to lock, whatever
// root's umask.
func TestLockOfAnotherUser(t *testing.T) {
	d := open(t)
	d.locks = t.TempDir()
	everybodyMay(t, d.locks, 0o755)
	before := unix.Umask(0o077)
	release, err := d.Lock("e")
	unix.Umask(before)
	if err != nil {
		t.Fatal(err)
	}
	asNobody(t, func() {
		if _, err := d.Lock("e"); !errors.Is(err, ErrBusy) {
			t.Errorf("%v, want busy", err)
		}
		if err := release(); err != nil {
			t.Error(err)
		}
		lockAndRelease(t, d)
	})
}

// TestNoLockCanBeMade where all users meet: then it lies in the state folder.
func TestNoLockCanBeMade(t *testing.T) {
	for what, locks := range map[string]func(t *testing.T) string{
		"of root": func(t *testing.T) string {
			dir := t.TempDir()
			everybodyMay(t, dir, 0o555)
			return dir
		},
		"absent": func(t *testing.T) string {
			dir := t.TempDir()
			everybodyMay(t, dir, 0o755)
			return filepath.Join(dir, "none")
		},
	} {
		t.Run(what, func(t *testing.T) {
			d := open(t)
			d.locks = locks(t)
			everybodyMay(t, d.path, 0o777)
			asNobody(t, func() { lockAndRelease(t, d) })
			if _, err := os.Stat(d.file("ebb-e.lock")); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestALockThatCanNotBeRead is an error: another folder's would keep nobody off.
func TestALockThatCanNotBeRead(t *testing.T) {
	d := open(t)
	d.locks = t.TempDir()
	everybodyMay(t, d.locks, 0o755)
	everybodyMay(t, d.path, 0o777)
	if err := os.WriteFile(filepath.Join(d.locks, "ebb-e.lock"), nil, 0); err != nil {
		t.Fatal(err)
	}
	asNobody(t, func() {
		if _, err := d.Lock("e"); !errors.Is(err, os.ErrPermission) {
			t.Errorf("%v, want permission denied", err)
		}
	})
}
