package state

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/ebb-io/ebb/internal/engine"
	"github.com/ebb-io/ebb/internal/image"
	"github.com/ebb-io/ebb/internal/journal"
)

var at = time.Date(2026, 3, 1, 12, 0, 0, 123, time.UTC)

func record(n int) journal.Record {
	id := image.SHA256([]byte("one"))
	return journal.Record{
		Seen: at, NumImages: n, NumContainers: 2,
		Images:    map[image.Digest]journal.Image{id: {FirstSeen: at, LastSeen: at, LastUsed: at, Names: map[string]time.Time{"docker.io/library/a:1": at}}},
		Pins:      map[string]journal.Pin{"docker.io/library/a:1": {First: at, Last: at, Images: map[image.Digest]time.Time{id: at}}},
		Stacks:    map[string]journal.Stack{"a /srv/a.yml": {Compose: engine.Compose{Project: "a", Files: []string{"/srv/a.yml"}}, LastSeen: at, Images: []string{"a:1"}}},
		Refused:   map[image.Digest]journal.Refusal{id: {Times: 1, Last: at, Until: at, Why: "used"}},
		Deletions: []journal.Deletion{{At: at, ID: id, Names: []string{"a"}, Bytes: 1}},
	}
}

func open(t testing.TB) *Dir {
	t.Helper()
	d, err := Open(filepath.Join(t.TempDir(), "state"))
	if err != nil {
		t.Fatal(err)
	}
	d.locks = d.path
	return d
}

func put(t testing.TB, d *Dir, key string, r journal.Record) {
	t.Helper()
	lost, err := d.Update(t.Context(), key, func(journal.Record) (journal.Record, error) { return r, nil })
	if err != nil || lost != nil {
		t.Fatalf("%v, %v", err, lost)
	}
}

func TestWhatWasWrittenIsRead(t *testing.T) {
	d := open(t)
	for n, key := range []string{"a", "b"} {
		put(t, d, key, record(n))
	}
	for n, key := range []string{"a", "b"} {
		got, lost, err := d.Load(key)
		if diff := cmp.Diff(record(n), got, cmp.Comparer(func(a, b image.Digest) bool { return a == b })); diff != "" || lost != nil || err != nil {
			t.Errorf("%s: %v, %v:\n%s", key, lost, err, diff)
		}
	}
	if got, lost, err := d.Load("another store"); got.NumContainers != 0 || lost != nil || err != nil {
		t.Errorf("another store's: %+v, %v, %v", got, lost, err)
	}
	entries, err := os.ReadDir(d.path)
	if err != nil || len(entries) != 2 { // the journal and its lock
		t.Errorf("%v, %v", entries, err)
	}
	for name, want := range map[string]os.FileMode{"": 0o700, journalFile: 0o600} {
		if info, err := os.Stat(d.file(name)); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
}

// TestCutShort: wherever the file is cut, it is lost, and kept aside.
func TestCutShort(t *testing.T) {
	d := open(t)
	put(t, d, "a", record(1))
	whole, err := os.ReadFile(d.file(journalFile))
	if err != nil {
		t.Fatal(err)
	}
	for n := range len(bytes.TrimSpace(whole)) {
		if err := os.WriteFile(d.file(journalFile), whole[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		got, lost, err := d.Load("a")
		if err != nil || lost == nil || got.NumImages != 0 {
			t.Fatalf("cut at %d: %+v, %v, %v", n, got, lost, err)
		}
	}
	lost, err := d.Update(t.Context(), "b", func(journal.Record) (journal.Record, error) { return record(2), nil })
	if lost == nil || err != nil {
		t.Errorf("nobody is told: %v", err)
	}
	aside, err := os.ReadFile(d.file(damagedFile))
	if err != nil || len(aside) != len(bytes.TrimSpace(whole))-1 {
		t.Errorf("it is not set aside: %d bytes, %v", len(aside), err)
	}
	if got, lost, err := d.Load("b"); got.NumImages != 2 || lost != nil || err != nil {
		t.Errorf("%+v, %v, %v", got, lost, err)
	}
}

func TestWhatIsNoJournal(t *testing.T) {
	for name, content := range map[string]string{
		"empty": "", "null": "null", "another kind": `{"apiVersion": "ebb.io/v1alpha1", "kind": "Plan", "engines": {}}`,
		"a later version": `{"apiVersion": "ebb.io/v2", "kind": "Journal", "engines": {}}`,
		"a bad digest":    `{"apiVersion": "ebb.io/v1alpha1", "kind": "Journal", "engines": {"a": {"images": {"x": {}}}}}`,
		"two documents":   `{"apiVersion": "ebb.io/v1alpha1", "kind": "Journal", "engines": {}}{}`,
	} {
		t.Run(name, func(t *testing.T) {
			d := open(t)
			if err := os.WriteFile(d.file(journalFile), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, lost, err := d.Load("a"); lost == nil || err != nil {
				t.Errorf("%v, %v", lost, err)
			}
		})
	}
}

func TestTooLarge(t *testing.T) {
	d := open(t)
	if err := os.WriteFile(d.file(journalFile), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(d.file(journalFile), maxBytes+1); err != nil {
		t.Fatal(err)
	}
	if _, lost, err := d.Load("a"); lost == nil || err != nil || !strings.Contains(lost.Error(), "larger") {
		t.Errorf("%v, %v", lost, err)
	}
}

// What another wrote in its place is not followed, nor waited for.
func TestOddFiles(t *testing.T) {
	for name, make := range map[string]func(path string) error{
		"a link":   func(path string) error { return os.Symlink("/etc/hostname", path) },
		"a folder": func(path string) error { return os.Mkdir(path, 0o700) },
		"a pipe":   func(path string) error { return unix.Mkfifo(path, 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			d := open(t)
			if err := errors.Join(make(d.file(journalFile)), make(d.file(lockName("e")))); err != nil {
				t.Fatal(err)
			}
			if _, _, err := d.Load("a"); err == nil {
				t.Error("the journal is read")
			}
			if _, err := d.Lock("e"); err == nil {
				t.Error("the lock is taken")
			}
		})
	}
}

// TestOddFilesInPlaceOfTheNextJournal: nothing is written through them, nor
// waited for, and they stay.
func TestOddFilesInPlaceOfTheNextJournal(t *testing.T) {
	for name, make := range map[string]func(path, other string) error{
		"a link":   func(path, other string) error { return os.Symlink(other, path) },
		"a folder": func(path, _ string) error { return os.Mkdir(path, 0o700) },
		"a pipe":   func(path, _ string) error { return unix.Mkfifo(path, 0o600) },
		"a pipe that is read": func(path, _ string) error {
			err := unix.Mkfifo(path, 0o600)
			reader, failed := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
			t.Cleanup(func() { _ = reader.Close() })
			return errors.Join(err, failed)
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := open(t)
			put(t, d, "a", record(1))
			other := filepath.Join(t.TempDir(), "other")
			if err := errors.Join(os.WriteFile(other, []byte("kept"), 0o600), make(d.file(nextFile), other)); err != nil {
				t.Fatal(err)
			}
			done := goUpdate(t, d)
			select {
			case err := <-done:
				if err == nil || !strings.Contains(err.Error(), d.file(nextFile)) {
					t.Errorf("%v, want an error that names the file", err)
				}
			case <-time.After(5 * time.Second):
				t.Fatal("it waits")
			}
			if data, err := os.ReadFile(other); err != nil || string(data) != "kept" {
				t.Errorf("%q, %v", data, err)
			}
			if info, err := os.Lstat(d.file(nextFile)); err != nil || info.Mode().IsRegular() {
				t.Errorf("%v, %v: it is gone", info, err)
			}
			if got, lost, err := d.Load("a"); got.NumImages != 1 || lost != nil || err != nil {
				t.Errorf("%+v, %v, %v", got, lost, err)
			}
		})
	}
}

// goUpdate changes a record, and does not wait for it.
func goUpdate(t *testing.T, d *Dir) <-chan error {
	t.Helper()
	done := make(chan error, 1)
	go func() {
		_, err := d.Update(context.Background(), "a", func(journal.Record) (journal.Record, error) { return record(2), nil })
		done <- err
	}()
	return done
}

func TestFailedChangeWritesNothing(t *testing.T) {
	d := open(t)
	put(t, d, "a", record(1))
	broken := errors.New("broken")
	if _, err := d.Update(t.Context(), "a", func(journal.Record) (journal.Record, error) { return record(7), broken }); !errors.Is(err, broken) {
		t.Error(err)
	}
	if got, _, _ := d.Load("a"); got.NumImages != 1 {
		t.Errorf("%+v", got)
	}
}

// TestFullDisk: it is told, and what was there stays.
func TestFullDisk(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("NOT TESTED: a small file system needs root")
	}
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=64k"); err != nil {
		t.Skip("NOT TESTED: this machine mounts nothing: " + err.Error())
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, 0) })
	d, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	put(t, d, "a", record(1))
	if err := os.WriteFile(filepath.Join(dir, "full"), bytes.Repeat([]byte("x"), 1<<20), 0o600); err == nil {
		t.Fatal("the disk is not full")
	}
	big := record(9)
	for n := range 2000 {
		big.Stacks[fmt.Sprint(n)] = journal.Stack{LastSeen: time.Unix(0, 0)}
	}
	if _, err := d.Update(t.Context(), "a", func(journal.Record) (journal.Record, error) { return big, nil }); !errors.Is(err, unix.ENOSPC) {
		t.Errorf("got %v", err)
	}
	if got, lost, err := d.Load("a"); got.NumImages != 1 || lost != nil || err != nil {
		t.Errorf("%+v, %v, %v", got, lost, err)
	}
	if left, _ := filepath.Glob(d.file(journalFile + ".*")); len(left) > 0 {
		t.Errorf("left over: %v", left)
	}
}

func TestFolderThatCanNotBeMade(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	d, err := Open(filepath.Join(file, "state"))
	if err == nil || d == nil {
		t.Fatalf("%v, %v: want an error, and a folder of which each use is one", d, err)
	}
	called := false
	if _, err := d.Update(t.Context(), "a", func(r journal.Record) (journal.Record, error) { called = true; return r, nil }); err == nil || called {
		t.Errorf("%v, called %v", err, called)
	}
}

// TestTwoProcesses: neither loses what the other wrote.
func TestTwoProcesses(t *testing.T) {
	if dir := os.Getenv("EBB_TEST_STATE"); dir != "" {
		d, err := Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		count(t, d, os.Getenv("EBB_TEST_KEY"))
		return
	}
	d := open(t)
	other := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestTwoProcesses$")
	other.Env = append(os.Environ(), "EBB_TEST_STATE="+d.path, "EBB_TEST_KEY=both")
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	count(t, d, "both")
	if err := other.Wait(); err != nil {
		t.Fatal(err)
	}
	if got, _, err := d.Load("both"); err != nil || got.NumImages != 2*times {
		t.Errorf("%d of %d counted, %v", got.NumImages, 2*times, err)
	}
}

const times = 30

func count(t *testing.T, d *Dir, key string) {
	t.Helper()
	for range times {
		_, err := d.Update(t.Context(), key, func(r journal.Record) (journal.Record, error) { r.NumImages++; return r, nil })
		if err != nil {
			t.Fatal(err)
		}
	}
}
