package faults

import (
	"slices"
	"strings"
	"testing"

	app "github.com/ebb-io/ebb/internal/app/registry"
	"github.com/ebb-io/ebb/internal/inventory"
	"github.com/ebb-io/ebb/internal/testkit/trial"
	"github.com/ebb-io/ebb/internal/testkit/world"
)

// town is a small world with what must stay and what must go. A fault is done
// to a part of it; the rest must fare as if nothing had happened.
type town struct {
	*world.World
	dir  string
	base world.Blob
	// keep must lose nothing, lose must be gone with all that is theirs alone.
	keep, lose []trial.Ref
	// gone and left are paths below the registry's root.
	gone, left []string
	owners     string
	question   func(*trial.Question)
}

func newTown(t *testing.T) *town {
	t.Helper()
	dir := tempDir(t)
	w := &town{World: world.New(world.Folder(dir)), dir: dir, owners: richOwners(world.Digest("none"))}
	w.base = w.Layer("base of the town")
	w.keeps(w.Image("town/web", world.Layers(w.base, w.Layer("town web")), world.Tag("v1")), "v1")
	w.keeps(w.Image("vi/ns/alive", world.Layers(w.base, w.Layer("town machine")), world.Tag(uid(1))), uid(1))
	layer := w.Layer("of a machine that is gone")
	w.loses(w.Image("vi/ns/gone", world.Layers(w.base, layer), world.Tag(uid(9))), uid(9))
	w.gone = append(w.gone, world.BlobPath(layer.Digest), world.RepositoryPath("vi/ns/gone"))
	return w
}

func (w *town) keeps(image world.Image, tags ...string) world.Image {
	w.keep = append(w.keep, refsOf(image, tags)...)
	return image
}

func (w *town) loses(image world.Image, tags ...string) world.Image {
	w.lose = append(w.lose, refsOf(image, tags)...)
	return image
}

func refsOf(image world.Image, tags []string) []trial.Ref {
	refs := []trial.Ref{{Repository: image.Repository, Name: image.Digest}}
	for _, tag := range tags {
		refs = append(refs, trial.Ref{Repository: image.Repository, Name: tag})
	}
	return refs
}

// damage is what must be said: the path below the registry's root, and a code.
type damage struct {
	path string
	code inventory.ProblemCode
}

func (w *town) run(t *testing.T, driver app.Driver) *app.Result {
	t.Helper()
	q := unlimited(t, w.World, w.owners)
	if w.question != nil {
		w.question(&q)
	}
	result, err := q.Run(t.Context(), driver)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// survives runs and proves what the fault must not change.
func (w *town) survives(t *testing.T, want ...damage) {
	t.Helper()
	before := trial.Remember(mustView(t, w.dir))
	pullable := trial.Pullable(t, w.dir, w.keep)
	result := w.run(t, open(t, w.dir))
	w.told(t, result, want)
	w.proven(t, before, pullable)
	if len(result.Outcome.Failed) > 0 {
		t.Errorf("failed: %v", result.Outcome.Failed)
	}
	w.settled(t)
}

// told compares the problems with what must be said, paths and all, and the
// verdict with both.
func (w *town) told(t *testing.T, result *app.Result, want []damage) {
	t.Helper()
	var got []damage
	damaged := len(result.Outcome.Failed) > 0
	for _, p := range result.Plan.Inventory().Problems {
		got = append(got, damage{strings.TrimPrefix(p.Path, world.Root+"/"), p.Code})
		damaged = damaged || p.Code != inventory.NotUnderstood
		if p.Detail == "" {
			t.Errorf("%s says nothing", p.Path)
		}
	}
	for i := range want {
		want[i].path = strings.TrimPrefix(want[i].path, world.Root+"/")
	}
	less := func(a, b damage) int { return strings.Compare(a.path+string(a.code), b.path+string(b.code)) }
	slices.SortFunc(want, less)
	slices.SortFunc(got, less)
	if got = slices.Compact(got); !slices.Equal(want, got) {
		t.Errorf("problems are\n %v, want\n %v", got, want)
	}
	if sawDamage(result) != damaged {
		t.Errorf("Damaged is %v with %v", sawDamage(result), got)
	}
}

func (w *town) proven(t *testing.T, before *trial.Known, pullable map[trial.Ref]bool) {
	t.Helper()
	after := mustView(t, w.dir)
	sound(t, "after the run", before, after, w.keep)
	pulled := trial.Pullable(t, w.dir, w.keep)
	for ref, strict := range pullable {
		if got, ok := pulled[ref]; !ok || got != strict {
			t.Errorf("a real server no longer serves %s whole", ref)
		}
	}
	listed := after.Refs()
	for _, ref := range w.lose {
		if slices.Contains(listed, ref) {
			t.Errorf("%s is still there", ref)
		}
	}
	tree := trial.Tree(t, w.dir)
	for _, path := range w.gone {
		if slices.Contains(tree, path) || slices.Contains(tree, path+"/") {
			t.Errorf("%s is still there", path)
		}
	}
	for _, path := range w.left {
		if !slices.Contains(tree, path) && !slices.Contains(tree, path+"/") {
			t.Errorf("%s is gone", path)
		}
	}
}

// settled proves that the work is done, and that a fresh server lists no
// repository that was emptied.
func (w *town) settled(t *testing.T) {
	t.Helper()
	w.idle(t)
	catalog, err := trial.Serve(t, w.dir).Catalog(t.Context())
	if err != nil {
		t.Error(err)
	}
	for _, path := range w.gone {
		if repo, ok := strings.CutPrefix(path, world.RepositoryPath("")+"/"); ok && slices.Contains(catalog, repo) {
			t.Errorf("the catalog still lists %s", repo)
		}
	}
}

// idle proves by a second run that the work is done.
func (w *town) idle(t *testing.T) {
	t.Helper()
	for number, phase := range w.run(t, open(t, w.dir)).Plan.Steps(nil) {
		if len(phase) > 0 {
			t.Errorf("the second run still deletes in phase %d: %v", number, phase)
		}
	}
}

// sawDamage tells whether the plan saw damage, or the run had failures.
func sawDamage(r *app.Result) bool {
	return len(r.Outcome.Failed) > 0 || inventory.Damaged(r.Plan.Inventory().Problems)
}
