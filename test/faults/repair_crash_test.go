package faults

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ebb-io/ebb/internal/repair"
	"github.com/ebb-io/ebb/internal/store/blob/fault"
	"github.com/ebb-io/ebb/internal/store/blob/mem"
	"github.com/ebb-io/ebb/internal/testkit/trial"
	"github.com/ebb-io/ebb/internal/testkit/world"
)

// TestRepairCrashesAtEveryWrite stops a repair at every single write, in memory
// and on disk. What was whole is whole at once, and the next repair leaves what
// one without a crash leaves.
func TestRepairCrashesAtEveryWrite(t *testing.T) {
	t.Parallel()
	store := mem.New()
	r := newRuin(world.Mem(store))
	before := trial.Remember(memView(t, store))
	clean := store.Clone()
	mendAll(t, clean.Writable(), damages(r.Now()))
	n := 1
	for ; ; n++ {
		crashed := store.Clone()
		driver := fault.NewMender(crashed.Writable(), fault.CrashAtDelete(n))
		if _, err := mend(t, driver, damages(r.Now())); driver.Fired() != errors.Is(err, fault.ErrCrashed) {
			t.Fatalf("crash at %d: %v", n, err)
		}
		if !driver.Fired() {
			break
		}
		mended(t, before, memView(t, crashed))
		if result, err := mend(t, crashed.Writable(), damages(r.Now())); err != nil || len(result.Failed) > 0 {
			t.Errorf("crash at %d, then: %v, failed: %v", n, err, result.Failed)
		}
		same(t, "after a crash and a second repair, files", crashed.Paths(), clean.Paths())
		mended(t, before, memView(t, crashed))
	}
	t.Logf("%d writes", n-1)
}

// ruinOnDisk is a ruin in a folder, with what a repair leaves of it.
func ruinOnDisk(t *testing.T) (r *ruin, dir string, after []string) {
	t.Helper()
	dir = tempDir(t)
	r = newRuin(world.Folder(dir))
	r.folders(t, dir)
	clean := r.copy(t, dir)
	mendAll(t, open(t, clean), damages(r.Now()))
	return r, dir, trial.Tree(t, clean)
}

// copy makes another folder whose folders are as old.
func (r *ruin) copy(t *testing.T, from string) string {
	t.Helper()
	to := tempDir(t)
	trial.Copy(t, from, to)
	backdate(t, to, r.Now().Add(-300*day))
	return to
}

func TestRepairCrashesAtEveryWriteOnDisk(t *testing.T) {
	t.Parallel()
	r, dir, after := ruinOnDisk(t)
	before := trial.Remember(mustView(t, dir))
	for n := 1; ; n++ {
		crashed := r.copy(t, dir)
		driver := fault.NewMender(open(t, crashed), fault.CrashAtDelete(n))
		_, err := mend(t, driver, damages(r.Now()))
		if !driver.Fired() {
			break
		}
		if !errors.Is(err, fault.ErrCrashed) {
			t.Errorf("crash at %d: %v", n, err)
		}
		mended(t, before, mustView(t, crashed))
		backdate(t, crashed, r.Now().Add(-2*day)) // the next repair comes later
		if result, err := mend(t, open(t, crashed), damages(r.Now())); err != nil || len(result.Failed) > 0 {
			t.Errorf("crash at %d, then: %v, failed: %v", n, err, result.Failed)
		}
		same(t, "after a crash and a second repair, files", trial.Tree(t, crashed), after)
	}
}

// TestRepairFailsEveryWrite lets every single write fail once: what it is about
// stays, the rest is done, and the next repair finishes it.
func TestRepairFailsEveryWrite(t *testing.T) {
	t.Parallel()
	store := mem.New()
	r := newRuin(world.Mem(store))
	before := trial.Remember(memView(t, store))
	clean := store.Clone()
	mendAll(t, clean.Writable(), damages(r.Now()))
	for n := 1; ; n++ {
		failing := store.Clone()
		driver := fault.NewMender(failing.Writable(), fault.FailDelete(n))
		result, err := mend(t, driver, damages(r.Now()))
		if err != nil {
			t.Fatalf("write %d failed: %v", n, err)
		}
		if !driver.Fired() {
			break
		}
		if rest := minus(failing.Paths(), clean.Paths()); len(result.Failed) == 0 && len(rest) > 0 {
			t.Errorf("write %d failed, and nothing is said of it: %v", n, rest)
		}
		mended(t, before, memView(t, failing))
		mendAll(t, failing.Writable(), damages(r.Now()))
		same(t, "after a failure and a second repair, files", failing.Paths(), clean.Paths())
	}
}

// TestRepairFailsEveryRead lets every single read fail once. Whatever is doubted
// stays: nothing is written or removed that a repair without the failure leaves.
func TestRepairFailsEveryRead(t *testing.T) {
	t.Parallel()
	store := mem.New()
	r := newRuin(world.Mem(store))
	before := trial.Remember(memView(t, store))
	clean := store.Clone()
	mendAll(t, clean.Writable(), damages(r.Now()))
	n := 1
	for ; ; n++ {
		failing := store.Clone()
		driver := fault.NewMender(failing.Writable(), fault.FailRead(n))
		result, err := mend(t, driver, damages(r.Now()))
		if !driver.Fired() {
			break
		}
		ops := driver.Ops()
		op := ops[min(n, len(ops))-1]
		if err == nil && !damageRemains(result) {
			t.Errorf("nothing is said of %v", op)
		}
		if gone := minus(clean.Paths(), failing.Paths()); len(gone) > 0 {
			t.Errorf("%v failed, and these went: %v", op, gone)
		}
		if wrote := driver.Written(); !within(wrote, r.want) {
			t.Errorf("%v failed, and these were written: %v", op, wrote)
		}
		mended(t, before, memView(t, failing))
	}
	t.Logf("%d reads", n-1)
}

// within tells whether each path is one of the links that shall be written.
func within(written, want []string) bool {
	return !slices.ContainsFunc(written, func(path string) bool {
		return !slices.Contains(want, string(repair.WriteLink)+" "+strings.TrimPrefix(path, world.Root+"/"))
	})
}

// TestRepairFailsEveryReadOnDisk is the same on a folder, each operation by its
// name.
func TestRepairFailsEveryReadOnDisk(t *testing.T) {
	t.Parallel()
	r, dir, after := ruinOnDisk(t)
	before := trial.Remember(mustView(t, dir))
	rehearsal := fault.NewMender(open(t, r.copy(t, dir)))
	if _, err := mend(t, rehearsal, damages(r.Now())); err != nil {
		t.Fatal(err)
	}
	ops := rehearsal.Ops()
	slices.SortFunc(ops, func(a, b fault.Op) int { return compare(a, b) })
	for i, op := range slices.Compact(ops) {
		if !long() && i%16 != 0 {
			continue
		}
		failing := r.copy(t, dir)
		driver := fault.NewMender(open(t, failing), fault.FailReadWhere(func(o fault.Op) bool { return o == op }))
		_, err := mend(t, driver, damages(r.Now()))
		if gone := minus(after, trial.Tree(t, failing)); len(gone) > 0 {
			t.Errorf("%v failed (%v), and these went: %v", op, err, gone)
		}
		mended(t, before, mustView(t, failing))
	}
}

// TestRepairOfItsOwnRemains: a repair that was killed while it wrote leaves a
// temporary file, which the next one takes away when it is old.
func TestRepairOfItsOwnRemains(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	w := world.New(world.Folder(dir))
	image := w.Image("a", world.Tag("v1"))
	path := filepath.Join(dir, filepath.Dir(world.RevisionLink("a", image.Digest)), ebbTemp)
	for _, c := range []struct {
		age  time.Duration
		gone bool
	}{{time.Hour, false}, {2 * day, true}} {
		w.File(strings.TrimPrefix(path, dir+"/"), "sha256:", world.Age(c.age))
		mendAll(t, open(t, dir), damages(w.Now()))
		if _, err := os.Stat(path); os.IsNotExist(err) != c.gone {
			t.Errorf("%v old: %v", c.age, err)
		}
	}
}

// backdate gives every folder an age.
func backdate(t *testing.T, dir string, at time.Time) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return err
		}
		return os.Chtimes(path, at, at)
	})
	if err != nil {
		t.Fatal(err)
	}
}
