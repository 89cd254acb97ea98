package faults

import (
	"fmt"
	"slices"
	"testing"

	"github.com/ebb-io/ebb/internal/store/blob/fault"
	"github.com/ebb-io/ebb/internal/store/blob/mem"
	"github.com/ebb-io/ebb/internal/testkit/trial"
	"github.com/ebb-io/ebb/internal/testkit/world"
)

// TestFailEveryDelete lets every single deletion fail once. What then stands
// keeps all it needs, the failure is told, and the next run finishes the work.
func TestFailEveryDelete(t *testing.T) {
	t.Parallel()
	m := richMemory(t)
	t.Logf("%d deletions", m.deletes)
	for n := 1; n <= m.deletes; n++ {
		m.failDelete(t, n)
	}
}

func (m *memory) failDelete(t *testing.T, n int) {
	t.Helper()
	store := m.store.Clone()
	driver := fault.New(store, fault.FailDelete(n))
	result, err := m.question.Run(t.Context(), driver)
	rest := minus(store.Paths(), m.after)
	if err != nil || !driver.Fired() || (len(result.Outcome.Failed) == 0 && len(rest) > 0) {
		t.Fatalf("deletion %d failed, and the run says %v, %v", n, err, result.Outcome.Failed)
	}
	name := fmt.Sprintf("deletion %d (%v)", n, result.Outcome.Failed)
	sound(t, name, m.before, m.view(t, store), m.kept)
	for _, ask := range []bool{false, true} {
		q := m.question
		q.Policy.DeleteUntagged = ask // see stage.finish
		if rest = minus(store.Paths(), m.after); len(rest) == 0 {
			break
		}
		if result, err := q.Run(t.Context(), store); err != nil || len(result.Outcome.Failed) > 0 {
			t.Errorf("%s: the next run: %v, failed: %v", name, err, result.Outcome.Failed)
		}
	}
	if rest = minus(store.Paths(), m.after); len(rest) > 0 {
		t.Errorf("%s: the next run leaves %v", name, rest)
	}
}

// TestFailEveryDeleteOnDisk is the same on a folder, where there are folders to
// delete as well.
func TestFailEveryDeleteOnDisk(t *testing.T) {
	t.Parallel()
	s := richStage(t)
	for n := 1; n <= s.deletes; n++ {
		if long() || n%4 == 0 {
			t.Run(fmt.Sprint(n), func(t *testing.T) { s.failDelete(t, n) })
		}
	}
}

func (s *stage) failDelete(t *testing.T, n int) {
	t.Parallel()
	dir := s.copy(t)
	var failed string
	driver := fault.New(open(t, dir), fault.FailDelete(n))
	result, err := s.question.Run(t.Context(), driver)
	if err != nil {
		t.Fatal(err)
	}
	// A folder above one that went is tried and may stay.
	if !sawDamage(result) || (driver.Fired() && len(result.Outcome.Failed) == 0 && len(s.rest(trial.Tree(t, dir))) > 0) {
		t.Errorf("nothing is said of the deletion that failed: %v", result.Outcome.Failed)
	}
	for _, f := range result.Outcome.Failed {
		failed += f.Err.Error() + "; "
	}
	s.whole(t, dir, "after "+failed, long() || n%20 == 0)
	s.finish(t, dir, failed)
}

// memory is a world in memory, with what a run without faults keeps of it.
type memory struct {
	store    *mem.Store
	question trial.Question
	before   *trial.Known
	kept     []trial.Ref
	after    []string // the paths that such a run leaves
	reads    int
	deletes  int
}

func richMemory(t *testing.T) *memory {
	t.Helper()
	m := &memory{store: mem.New()}
	w := world.New(world.Mem(m.store))
	m.question = unlimited(t, w, rich(w))
	m.before = trial.Remember(m.view(t, m.store))
	clean := m.store.Clone()
	driver := fault.New(clean)
	result, err := m.question.Run(t.Context(), driver)
	if err != nil || len(result.Outcome.Failed) > 0 {
		t.Fatalf("a run without faults: %v, failed: %v", err, result.Outcome.Failed)
	}
	m.reads, m.after = len(driver.Ops()), clean.Paths()
	m.deletes = driver.Counts().DeletePaths
	m.kept = kept(result.Plan)
	return m
}

func (m *memory) view(t *testing.T, store *mem.Store) trial.View {
	t.Helper()
	v, err := trial.Mem(store)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestFailEveryRead lets every single read of a run fail once, in the scan and
// while it deletes. Nothing that a run without the fault keeps loses anything,
// and what is still listed is whole.
func TestFailEveryRead(t *testing.T) {
	t.Parallel()
	m := richMemory(t)
	t.Logf("%d reads", m.reads)
	for n := 1; n <= m.reads; n++ {
		store := m.store.Clone()
		driver := fault.New(store, fault.FailRead(n))
		_, err := m.question.Run(t.Context(), driver)
		ops := driver.Ops()
		name := fmt.Sprintf("read %d (%v), run: %v", n, ops[min(n, len(ops))-1], err)
		sound(t, name, m.before, m.view(t, store), m.kept)
	}
}

// TestFailEveryReadOnDisk is the same on a folder, where the walk is parallel:
// each operation by its name.
func TestFailEveryReadOnDisk(t *testing.T) {
	t.Parallel()
	s := richStage(t)
	driver := fault.New(open(t, s.copy(t)))
	if _, err := s.question.Run(t.Context(), driver); err != nil {
		t.Fatal(err)
	}
	ops := driver.Ops()
	slices.SortFunc(ops, func(a, b fault.Op) int { return compare(a, b) })
	for i, op := range slices.Compact(ops) {
		if long() || i%8 == 0 {
			s.failRead(t, i, op)
		}
	}
}

func compare(a, b fault.Op) int {
	if a.Path != b.Path {
		return map[bool]int{true: -1, false: 1}[a.Path < b.Path]
	}
	return map[bool]int{true: -1, false: 1}[a.Kind < b.Kind]
}

func (s *stage) failRead(t *testing.T, i int, op fault.Op) {
	t.Helper()
	dir := s.copy(t)
	driver := fault.New(open(t, dir), fault.FailReadWhere(func(o fault.Op) bool { return o == op }))
	result, err := s.question.Run(t.Context(), driver)
	name := fmt.Sprintf("%s of %s failed (run: %v)", op.Kind, op.Path, err)
	if err == nil && !sawDamage(result) {
		t.Errorf("%s: nothing is said of it", name)
	}
	s.whole(t, dir, name, long() || i%40 == 0)
}

// sound proves laws 1 and 3 by the files alone.
func sound(t *testing.T, name string, before *trial.Known, after trial.View, kept []trial.Ref) {
	t.Helper()
	for _, ref := range kept {
		if lost := trial.Lost(before, after, ref); len(lost) > 0 {
			t.Errorf("%s: kept %s lost %v", name, ref, lost)
		}
	}
	for _, ref := range after.Refs() {
		if !before.Whole(ref) {
			continue
		}
		if lost := trial.Lost(before, after, ref); len(lost) > 0 {
			t.Errorf("%s: %s is listed and lost %v", name, ref, lost)
		}
	}
}

// TestOracle proves that the reading of the files that these tests trust
// agrees with a real server on every image of the rich world.
func TestOracle(t *testing.T) {
	t.Parallel()
	s := richStage(t)
	for _, ref := range s.refs {
		_, missing := s.before.Parts(ref)
		_, pulled := s.pullable[ref]
		notServed := ref.Repository == "old" || ref.Repository == "odd" // kinds that no server takes
		if whole := len(missing) == 0; whole != pulled && !(whole && notServed) {
			t.Errorf("%s: missing by the files: %v; served whole: %v", ref, missing, pulled)
		}
	}
	if len(s.refs) < 50 {
		t.Errorf("the rich world has %d images and tags", len(s.refs))
	}
}
