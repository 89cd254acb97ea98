package faults

import (
	"cmp"
	"os"
	"slices"
	"testing"

	"github.com/ebb-io/ebb/internal/plan"
	"github.com/ebb-io/ebb/internal/store/blob/fault"
	"github.com/ebb-io/ebb/internal/store/blob/fs"
	"github.com/ebb-io/ebb/internal/testkit/trial"
	"github.com/ebb-io/ebb/internal/testkit/world"
)

// stage is a world on disk, with all that is known of it before a run.
type stage struct {
	dir      string
	question trial.Question
	before   *trial.Known
	refs     []trial.Ref
	pullable map[trial.Ref]bool // by a real server, before the run
	kept     []trial.Ref        // what a run without faults keeps
	after    []string           // the tree that a run without faults leaves
	deletes  int                // paths that it deletes
}

func newStage(t *testing.T, dir string, q trial.Question) *stage {
	t.Helper()
	s := &stage{dir: dir, question: q, before: trial.Remember(mustView(t, dir))}
	s.refs = s.before.Refs()
	s.pullable = trial.Pullable(t, dir, s.refs)
	clean := s.copy(t)
	driver := fault.New(open(t, clean))
	result, err := q.Run(t.Context(), driver)
	if err != nil || len(result.Outcome.Failed) > 0 {
		t.Fatalf("a run without faults: %v, failed: %v", err, result.Outcome.Failed)
	}
	s.after = trial.Tree(t, clean)
	s.deletes = driver.Counts().DeletePaths
	s.kept = kept(result.Plan)
	s.whole(t, clean, "after a run without faults", true)
	return s
}

// kept are the images that a plan keeps, by their digests and tags.
func kept(p *plan.Plan) []trial.Ref {
	var refs []trial.Ref
	for _, d := range p.Decisions {
		if d.Delete {
			continue
		}
		refs = append(refs, trial.Ref{Repository: d.Repository, Name: d.Digest.String()})
		for _, tag := range d.Tags {
			refs = append(refs, trial.Ref{Repository: d.Repository, Name: tag})
		}
	}
	return refs
}

func richStage(t *testing.T) *stage {
	t.Helper()
	dir := tempDir(t)
	w := world.New(world.Folder(dir))
	owners := rich(w)
	return newStage(t, dir, unlimited(t, w, owners))
}

// long asks for all that takes its time.
func long() bool { return os.Getenv("EBB_LONG") != "" }

// tempDir is a folder in memory where there is one: these tests make hundreds
// of thousands of files.
func tempDir(t *testing.T) string {
	t.Helper()
	parent := "/dev/shm"
	if _, err := os.Stat(parent); err != nil {
		return t.TempDir()
	}
	dir, err := os.MkdirTemp(parent, "ebb-faults-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func (s *stage) copy(t *testing.T) string {
	t.Helper()
	dir := tempDir(t)
	trial.Copy(t, s.dir, dir)
	return dir
}

func open(t *testing.T, dir string) *fs.Writable {
	t.Helper()
	driver, err := fs.OpenWritable(dir)
	if err != nil {
		t.Fatal(err)
	}
	return driver
}

func mustView(t *testing.T, dir string) trial.View {
	t.Helper()
	v, err := trial.Folder(dir)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// whole proves law 1 and law 3 on a folder: what is kept lost nothing, and
// what is still listed and was whole is whole. It asks the files, and a real
// server for what it served before.
func (s *stage) whole(t *testing.T, dir, when string, serve bool) {
	t.Helper()
	after := mustView(t, dir)
	sound(t, when, s.before, after, s.kept)
	if serve && !t.Failed() {
		s.served(t, dir, when, after)
	}
}

// served asks a real server for what it served whole before, each image once.
func (s *stage) served(t *testing.T, dir, when string, after trial.View) {
	t.Helper()
	var ask []trial.Ref
	seen := map[trial.Ref]bool{}
	refs := slices.Concat(s.kept, after.Refs())
	slices.SortFunc(refs, func(a, b trial.Ref) int { return cmp.Compare(len(a.Name), len(b.Name)) }) // tags before digests
	for _, ref := range refs {
		image := trial.Ref{Repository: ref.Repository, Name: after.Target(ref)}
		if _, pulled := s.pullable[ref]; pulled && !seen[image] {
			seen[image] = true
			ask = append(ask, ref)
		}
	}
	pulled := trial.Pullable(t, dir, ask)
	for _, ref := range ask {
		if strict, ok := pulled[ref]; !ok || strict != s.pullable[ref] {
			t.Errorf("%s: a real server no longer serves %s whole", when, ref)
		}
	}
}
