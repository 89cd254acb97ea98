package fs

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ebb-io/ebb/internal/store/blob"
)

const holderSign = "EBB_TEST_HOLD_LOCK_IN"

// TestHolder is no test of its own: it is the process that holds a lock for
// those below, until it is killed or they are gone.
func TestHolder(t *testing.T) {
	root := os.Getenv(holderSign)
	if root == "" {
		return
	}
	if _, err := writable(t, root).Lock(t.Context(), "lock"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stdout.WriteString("held\n"); err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// holder starts a process that holds a lock. What it returns kills it.
func holder(t *testing.T, root string) (kill func()) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestHolder$")
	cmd.Env = append(os.Environ(), holderSign+"="+root)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	kill = func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		stdin.Close()
	}
	t.Cleanup(kill)
	if line, err := bufio.NewReader(stdout).ReadString('\n'); line != "held\n" {
		t.Fatalf("the holder said %q, %v", line, err)
	}
	return kill
}

func wantLocked(t *testing.T, err error) {
	t.Helper()
	var locked *blob.LockedError
	if !errors.As(err, &locked) {
		t.Fatalf("%v, want a *blob.LockedError", err)
	}
}

func TestLockOfAnotherProcess(t *testing.T) {
	root := t.TempDir()
	kill := holder(t, root)
	w := writable(t, root)
	w.now = func() time.Time { return time.Now().Add(24 * time.Hour) } // a live holder may be silent for long
	_, err := w.Lock(t.Context(), "lock")
	wantLocked(t, err)
	wantLocked(t, w.Unlock(t.Context(), "lock"))
	kill()
	if _, err := os.Lstat(filepath.Join(root, "lock")); err != nil {
		t.Fatalf("the killed process left no lock file: %v", err)
	}
	w.now = time.Now
	l, err := w.Lock(t.Context(), "lock")
	if err != nil {
		t.Fatalf("the lock of a killed process: %v", err)
	}
	if err := l.Release(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestUnlockAfterKill(t *testing.T) {
	root := t.TempDir()
	holder(t, root)()
	if err := writable(t, root).Unlock(t.Context(), "lock"); err != nil {
		t.Error(err)
	}
}

// network is a pair of drivers on a file system that others share, whose clock
// the test sets.
func network(t *testing.T) (one, two *Writable, clock *time.Time) {
	root := t.TempDir()
	now := time.Date(2024, 5, 1, 12, 0, 0, 0, time.UTC)
	one, two = writable(t, root), writable(t, root)
	for _, w := range []*Writable{one, two} {
		w.now = func() time.Time { return now }
		w.isRemote = func(int) (bool, error) { return true, nil }
	}
	return one, two, &now
}

func TestNetworkLockNeedsSilence(t *testing.T) {
	one, two, clock := network(t)
	l, err := one.Lock(t.Context(), "lock")
	if err != nil {
		t.Fatal(err)
	}
	l.(*lock).Abandon() // a free flock proves nothing here
	*clock = clock.Add(silence - time.Second)
	_, err = two.Lock(t.Context(), "lock")
	wantLocked(t, err)
	wantLocked(t, two.Unlock(t.Context(), "lock"))
	*clock = clock.Add(time.Second)
	if _, err := two.Lock(t.Context(), "lock"); err != nil {
		t.Errorf("after %s of silence: %v", silence, err)
	}
}

func TestBeatKeepsANetworkLock(t *testing.T) {
	one, two, clock := network(t)
	l, err := one.Lock(t.Context(), "lock")
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		*clock = clock.Add(silence - time.Second)
		if err := l.Beat(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	l.(*lock).Abandon()
	_, err = two.Lock(t.Context(), "lock")
	var locked *blob.LockedError
	if !errors.As(err, &locked) || !locked.Since.Equal(*clock) {
		t.Errorf("%v, want it locked since the last beat at %v", err, *clock)
	}
}

// A holder that was cut off and comes back must notice, even though the lock
// was taken over by the rules.
func TestNetworkHolderComesBack(t *testing.T) {
	one, two, clock := network(t)
	held, err := one.Lock(t.Context(), "lock")
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Flock(held.(*lock).fd, unix.LOCK_UN); err != nil { // as a server drops it
		t.Fatal(err)
	}
	*clock = clock.Add(silence)
	next, err := two.Lock(t.Context(), "lock")
	if err != nil {
		t.Fatal(err)
	}
	if err := held.Beat(t.Context()); !errors.Is(err, blob.ErrLockLost) {
		t.Errorf("beat: %v, want one that wraps blob.ErrLockLost", err)
	}
	if err := held.Release(t.Context()); !errors.Is(err, blob.ErrLockLost) {
		t.Errorf("release: %v, want one that wraps blob.ErrLockLost", err)
	}
	if err := next.Beat(t.Context()); err != nil {
		t.Errorf("the other's beat: %v", err)
	}
}

// An flock that is held in spite of the silence is respected by those who
// lock, and yields to a person who unlocks.
func TestNetworkFlockOutlivesSilence(t *testing.T) {
	one, two, clock := network(t)
	held, err := one.Lock(t.Context(), "lock")
	if err != nil {
		t.Fatal(err)
	}
	*clock = clock.Add(2 * silence)
	_, err = two.Lock(t.Context(), "lock")
	wantLocked(t, err)
	if err := two.Unlock(t.Context(), "lock"); err != nil {
		t.Fatal(err)
	}
	if err := held.Beat(t.Context()); !errors.Is(err, blob.ErrLockLost) {
		t.Errorf("beat: %v, want one that wraps blob.ErrLockLost", err)
	}
}

// Without flock there is no way to take a lock over without a race: that is
// left to a person.
func TestFileSystemWithoutFlock(t *testing.T) {
	one, two, clock := network(t)
	for _, w := range []*Writable{one, two} {
		w.isRemote = func(int) (bool, error) { return false, nil }
		w.tryFlock = func(int) error { return unix.ENOLCK }
	}
	held, err := one.Lock(t.Context(), "lock")
	if err != nil {
		t.Fatal(err)
	}
	if err := held.Beat(t.Context()); err != nil {
		t.Error(err)
	}
	wantLocked(t, two.Unlock(t.Context(), "lock"))
	*clock = clock.Add(silence)
	_, err = two.Lock(t.Context(), "lock")
	wantLocked(t, err)
	if err := two.Unlock(t.Context(), "lock"); err != nil {
		t.Error(err)
	}
}

// Whoever judges a lock file may find that it is another one by now.
func TestLockFileIsReplacedMeanwhile(t *testing.T) {
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "lock"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	slow, fast := writable(t, root), writable(t, root)
	slow.tryFlock = func(fd int) error {
		slow.tryFlock = flock
		if _, err := fast.Lock(t.Context(), "lock"); err != nil {
			t.Error(err)
		}
		return flock(fd)
	}
	_, err := slow.Lock(t.Context(), "lock")
	wantLocked(t, err)
}

func TestLockIsNoRegularFile(t *testing.T) {
	top := lay(t, "root/dir/", "root/target", "root/link -> target")
	w := openAtTop(t, top)
	if err := unix.Mkfifo(filepath.Join(top, "root/pipe"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"dir", "link", "pipe", "absent/lock"} {
		_, err := w.Lock(t.Context(), path)
		var locked *blob.LockedError
		if err == nil || errors.As(err, &locked) {
			t.Errorf("lock %s: %v, want an error that says what it is", path, err)
		}
	}
	if _, err := os.Lstat(filepath.Join(top, "root/target")); err != nil {
		t.Error(err)
	}
}
