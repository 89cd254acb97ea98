package state

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestAGuardThatIsNotGivenBack, as by a program that was stopped in the middle, is
// waited for a while, and no signal for longer.
func TestAGuardThatIsNotGivenBack(t *testing.T) {
	d := open(t)
	put(t, d, "a", record(1))
	release, err := d.guard(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	held := "another ebb-host holds " + d.file(guardFile)
	d.patience = 300 * time.Millisecond
	select {
	case err := <-goUpdate(t, d):
		if err == nil || !strings.Contains(err.Error(), held) || errors.Is(err, ErrBusy) {
			t.Errorf("%v, want %q", err, held)
		}
	case <-time.After(10 * time.Second):
		t.Error("it waits still")
	}
	d.patience = time.Minute
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := d.Update(ended, "a", nil); !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), held) {
		t.Errorf("%v, want canceled and %q", err, held)
	}
	if got, lost, err := d.Load("a"); got.NumImages != 1 || lost != nil || err != nil {
		t.Errorf("%+v, %v, %v", got, lost, err)
	}
	waiting := goUpdate(t, d)
	time.Sleep(2 * again)
	release()
	if err := <-waiting; err != nil {
		t.Errorf("it is given back, and yet: %v", err)
	}
}

func TestLockIsForOne(t *testing.T) {
	d := open(t)
	release, err := d.Lock("e")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Lock("e"); !errors.Is(err, ErrBusy) || !strings.Contains(err.Error(), d.file(lockName("e"))) {
		t.Errorf("got %v", err)
	}
	if other, err := d.Lock("another engine"); err != nil {
		t.Error(err)
	} else if err := other(); err != nil {
		t.Error(err)
	}
	if err := release(); err != nil {
		t.Error(err)
	}
	if again, err := d.Lock("e"); err != nil {
		t.Error(err)
	} else if err := again(); err != nil {
		t.Error(err)
	}
}

func TestHoldWaits(t *testing.T) {
	d := open(t)
	release, err := d.Lock("e")
	if err != nil {
		t.Fatal(err)
	}
	waited := 0
	held, err := d.Hold(t.Context(), "e", func() { waited++; _ = release() })
	if err != nil || waited != 1 {
		t.Fatalf("waited %d times, %v", waited, err)
	}
	if _, err := d.Lock("e"); !errors.Is(err, ErrBusy) {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := d.Hold(ctx, "e", cancel); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if err := held.Close(); err != nil {
		t.Error(err)
	}
}

// TestFlock: other programs take the same lock, and whoever inherits it holds it.
func TestFlock(t *testing.T) {
	if _, err := exec.LookPath("flock"); err != nil {
		t.Skip("NOT TESTED: there is no flock (util-linux)")
	}
	d := open(t)
	held, err := d.Hold(t.Context(), "e", func() {})
	if err != nil {
		t.Fatal(err)
	}
	flock := func() error {
		return exec.CommandContext(t.Context(), "flock", "-n", d.file(lockName("e")), "true").Run()
	}
	if flock() == nil {
		t.Error("flock takes what is held")
	}
	child := exec.CommandContext(t.Context(), "cat")
	input, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	child.ExtraFiles = []*os.File{held}
	if err := errors.Join(child.Start(), held.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Lock("e"); !errors.Is(err, ErrBusy) {
		t.Errorf("the child that inherited it does not hold it: %v", err)
	}
	if err := errors.Join(input.Close(), child.Wait()); err != nil {
		t.Fatal(err)
	}
	if err := flock(); err != nil {
		t.Errorf("it is still held: %v", err)
	}
}

// TestReleaseIsForAll: also for who inherited the file.
func TestReleaseIsForAll(t *testing.T) {
	d := open(t)
	held, err := d.Hold(t.Context(), "e", func() {})
	if err != nil {
		t.Fatal(err)
	}
	child := exec.CommandContext(t.Context(), "cat")
	if _, err := child.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	child.ExtraFiles = []*os.File{held}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = child.Process.Kill(); _ = child.Wait() })
	if err := Release(held); err != nil {
		t.Fatal(err)
	}
	if again, err := d.Lock("e"); err != nil {
		t.Error(err)
	} else if err := again(); err != nil {
		t.Error(err)
	}
}

// Another user's lock file can be taken by everybody who can read it.
func TestLockStaysInItsFolder(t *testing.T) {
	d := open(t)
	seen := map[string]string{}
	for _, id := range []string{"", ".", "..", "../x", "a/b", "a\x00b", strings.Repeat("a", 300), "WGC3:GO4V", "é", "a b"} {
		path := d.file(lockName(id))
		if filepath.Dir(path) != d.locks || strings.ContainsAny(filepath.Base(path), "\x00 /") || seen[path] != "" {
			t.Errorf("%q: %s", id, path)
		}
		seen[path] = "another's"
		if release, err := d.Lock(id); err != nil {
			t.Errorf("%q: %v", id, err)
		} else if err := release(); err != nil {
			t.Error(err)
		}
	}
}
