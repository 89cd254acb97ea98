package faults

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	app "github.com/ebb-io/ebb/internal/app/registry"
	"github.com/ebb-io/ebb/internal/store/blob/fault"
	"github.com/ebb-io/ebb/internal/testkit/trial"
	"github.com/ebb-io/ebb/internal/testkit/world"
)

// TestCrashAtEveryDelete stops a run at every single deletion. What is left is
// sound at once, and the next run finishes the work.
func TestCrashAtEveryDelete(t *testing.T) {
	t.Parallel()
	s := richStage(t)
	t.Logf("%d deletions, %d images kept", s.deletes, len(s.kept))
	for n := 1; n <= s.deletes; n++ {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			s.crash(t, n)
		})
	}
}

func (s *stage) crash(t *testing.T, n int) {
	dir := s.copy(t)
	driver := fault.New(open(t, dir), fault.CrashAtDelete(n))
	_, err := s.question.Run(t.Context(), driver)
	if !driver.Fired() {
		t.Fatal("it did not crash")
	}
	if !errors.Is(err, fault.ErrCrashed) {
		t.Errorf("error is %v, want the crash", err)
	}
	if _, err := os.Stat(filepath.Join(dir, world.Root, ".ebb-lock")); err != nil {
		t.Errorf("a crash leaves its lock: %v", err)
	}
	last := "nothing"
	if deleted := driver.Deleted(); len(deleted) > 0 {
		last = deleted[len(deleted)-1]
	}
	s.whole(t, dir, "after the crash (last was "+last+")", long() || n%10 == 0)
	s.finish(t, dir, last)
	if long() || n%20 == 0 {
		s.whole(t, dir, "after the second run", true)
	}
}

// finish runs again and compares with what a run without a crash leaves.
// There are two exceptions. A tag that says what its image describes may be
// gone before the image: where no rule claims the repository, the image is
// then an untagged one like any other, and waits for --delete-untagged. And
// folders above a repository that is gone may stay, empty.
func (s *stage) finish(t *testing.T, dir, last string) {
	t.Helper()
	s.again(t, dir, s.question)
	tree := trial.Tree(t, dir)
	if len(s.rest(tree)) > 0 {
		asked := s.question
		asked.Policy.DeleteUntagged = true
		s.again(t, dir, asked)
		tree = trial.Tree(t, dir)
	}
	if rest := s.rest(tree); len(rest) > 0 {
		t.Errorf("the second run does not finish the work, last was %s, rest:\n%s", last, strings.Join(rest, "\n"))
	}
	if missing := minus(s.after, tree); len(missing) > 0 {
		t.Errorf("the second run deletes more, last was %s, missing:\n%s", last, strings.Join(missing, "\n"))
	}
}

// minus is what is in a and not in b.
func minus(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(path string) bool {
		_, found := slices.BinarySearch(b, path)
		return found
	})
}

func (s *stage) again(t *testing.T, dir string, q trial.Question) {
	t.Helper()
	result, err := q.Run(t.Context(), open(t, dir))
	if err != nil || len(result.Outcome.Failed) > 0 {
		t.Fatalf("the run after the crash: %v, failed: %v", err, result.Outcome.Failed)
	}
}

// rest is what a tree has beyond what a run without a crash leaves, but for
// folders that hold nothing.
func (s *stage) rest(tree []string) []string {
	return slices.DeleteFunc(minus(tree, s.after), func(path string) bool {
		return strings.HasSuffix(path, "/") && strings.HasPrefix(path, world.Root+"/repositories/") && !strings.Contains(path, "/_")
	})
}

// TestCrashUnderTheLimit has nearly all images go because their owners are
// done with them, which the limit lets pass. Where a crash cut this short, the
// next run is not stopped by the limit on images either. Once the images are
// gone nothing tells whose their blobs were, so the limit on bytes may hold: a
// volume of repositories that is not mounted looks the same.
func TestCrashUnderTheLimit(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	w := world.New(world.Folder(dir))
	w.Image("apps/web", world.Layers(w.Layer("web")), world.Tag("v1"))
	objects := "apiVersion: v1\nitems:\n"
	for i := range 4 {
		w.Image(fmt.Sprintf("vd/ns/disk-%d", i), world.Layers(w.Layer(world.Random(uint64(i), 4000))), world.Tag(uid(i)))
		objects += fmt.Sprintf("- {apiVersion: virtualization.deckhouse.io/v1alpha2, kind: VirtualDisk, "+
			"metadata: {name: disk-%d, namespace: ns, uid: %s}, status: {phase: Ready}}\n", i, uid(i))
	}
	q := trial.Ask(trial.Owners(t, objects+"kind: List\n"), w.Now())
	s := newStage(t, dir, q)
	for n := 1; n <= s.deletes; n++ {
		s.crashUnderTheLimit(t, n)
	}
}

func (s *stage) crashUnderTheLimit(t *testing.T, n int) {
	t.Helper()
	dir := s.copy(t)
	driver := fault.New(open(t, dir), fault.CrashAtDelete(n))
	_, _ = s.question.Run(t.Context(), driver)
	result, err := s.question.Run(t.Context(), open(t, dir))
	bytes := err != nil && len(result.Plan.Exceeded) == 1 && result.Plan.Exceeded[0].What == "bytes"
	revisions := slices.ContainsFunc(driver.Deleted(), func(path string) bool { return strings.Contains(path, "/revisions/") })
	if err != nil && !(errors.Is(err, app.ErrLimit) && bytes && revisions) {
		t.Errorf("after a crash at %d: %v", n, err)
	}
}

// TestCrashInACircle has an index and an image describe each other by tags. The
// index still goes before its child.
func TestCrashInACircle(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	w := world.New(world.Folder(dir))
	var child, index world.Image
	for i := 0; i == 0 || child.Digest > index.Digest; i++ { // or the order of digests hides it
		child = w.Image("vi/ns/gone", world.Layers(w.Layer(fmt.Sprint("child ", i))))
		index = w.Index("vi/ns/gone", []world.Image{child}, world.Tag("latest"))
	}
	signature := w.CosignTag("vi/ns/gone", index.Digest, ".sig")
	w.Tag("vi/ns/gone", world.SubjectTag(signature.Digest, ".att"), index.Digest)
	w.Image("vi/ns/alive", world.Layers(w.Layer("alive")), world.Tag(uid(1)))
	s := newStage(t, dir, unlimited(t, w, richOwners(world.Digest("none"))))
	for n := 1; n <= s.deletes; n++ {
		s.crash(t, n)
	}
}
