package faults

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	app "github.com/ebb-io/ebb/internal/app/registry"
	"github.com/ebb-io/ebb/internal/policy"
	"github.com/ebb-io/ebb/internal/repair"
	"github.com/ebb-io/ebb/internal/store/registry"
	"github.com/ebb-io/ebb/internal/testkit/trial"
	"github.com/ebb-io/ebb/internal/testkit/world"
)

// TestRepairAndLinks: behind symbolic links inside of a repository nothing is
// touched, nor anything of that repository; a repository behind one is mended
// as the registry serves it, and its folder stays.
func TestRepairAndLinks(t *testing.T) {
	t.Parallel()
	dir, outside := tempDir(t), tempDir(t)
	w := world.New(world.Folder(dir))
	base := w.Layer("base")
	for _, repo := range []string{"shared/tags", "shared/layers", "moved", "sound", "sound/more"} {
		w.Image(repo, world.Layers(base), world.ConfigText(repo), world.Tag("v1"))
		w.OrphanLayerLink(repo, world.Digest("gone of "+repo))
		w.File(world.LayerLink(repo, world.Digest("gone of "+repo))+uuid, "stray")
	}
	move := func(path, name string) {
		t.Helper()
		if err := os.Rename(filepath.Join(dir, path), filepath.Join(outside, name)); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(filepath.Join(outside, name), filepath.Join(dir, path)); err != nil {
			t.Fatal(err)
		}
	}
	move(world.RepositoryPath("shared/tags")+"/_manifests/tags", "tags")
	move(world.RepositoryPath("shared/layers")+"/_layers", "layers")
	move(world.RepositoryPath("moved"), "moved")
	w.File(world.BlobPath(base.Digest)+uuid, "stray")
	move(filepath.Dir(world.BlobPath(base.Digest)), "blob")
	if err := os.MkdirAll(filepath.Join(outside, "empty/_manifests/tags/v1/current"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(outside, "empty"), filepath.Join(dir, world.RepositoryPath("empty"))); err != nil {
		t.Fatal(err)
	}
	backdate(t, dir, w.Now().Add(-9*day))
	backdate(t, outside, w.Now().Add(-9*day))
	before, beyond := trial.Tree(t, dir), trial.Tree(t, outside)
	d := damages(w.Now())
	d.MaxDeleteShare = 100
	result := mendAll(t, open(t, dir), d)
	if !damageRemains(result) {
		t.Error("nothing is said of the links")
	}
	var want []string
	for _, repo := range []string{"sound", "sound/more"} {
		link := world.LayerLink(repo, world.Digest("gone of "+repo))
		want = append(want, link, link+uuid, filepath.Dir(link)+"/")
	}
	same(t, "gone inside", minus(before, trial.Tree(t, dir)), want)
	hash := strings.TrimPrefix(world.Digest("gone of moved"), "sha256:")
	same(t, "gone outside", minus(beyond, trial.Tree(t, outside)), []string{
		"moved/_layers/sha256/" + hash + "/", "moved/_layers/sha256/" + hash + "/link", "moved/_layers/sha256/" + hash + "/link" + uuid,
		"empty/_manifests/tags/v1/", "empty/_manifests/tags/v1/current/",
	})
}

// TestRepairOfOddNames: names that nobody chose in good faith are names like
// any other, and what is neither file nor folder is in the way of no more than
// its own folder.
func TestRepairOfOddNames(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	w := world.New(world.Folder(dir))
	for _, name := range []string{"new\nline", "-rf", "a b", "\x1b[31mred"} {
		w.Image(name, world.ConfigText(name), world.Tag("keep"))
		w.Tag(name, name, world.Digest("nothing"))
	}
	w.Image("odd", world.Tag("v1"))
	pipe := filepath.Join(dir, world.TagPath("odd", "pipe"))
	if err := os.MkdirAll(pipe, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mkfifo(pipe+"/current", 0o644); err != nil {
		t.Fatal(err)
	}
	backdate(t, dir, w.Now().Add(-9*day))
	result, err := mend(t, open(t, dir), damages(w.Now()))
	if err != nil {
		t.Fatal(err)
	}
	for i, a := range result.Plan.Actions {
		if want := a.Kind == repair.RemoveTag; result.Done[i] != want || (result.Failed[i] == nil) != want {
			t.Errorf("%s %q: done %v, error %v", a.Kind, a.Path, result.Done[i], result.Failed[i])
		}
	}
	if len(result.Plan.Actions) != 5 {
		t.Errorf("%d actions, want four tags and a folder that is not empty", len(result.Plan.Actions))
	}
	if _, err := os.Lstat(pipe + "/current"); err != nil {
		t.Error(err)
	}
}

// TestRepairOfWhatMoves: what is not as it was when the plan was made is left,
// and told.
func TestRepairOfWhatMoves(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		// make does the damage, and returns what happens to it meanwhile.
		make func(t *testing.T, w *world.World, dir string, i world.Image) func()
		kind repair.Kind
		stay func(i world.Image) string // a path that must still be there
	}{
		{"the manifest comes back", func(_ *testing.T, w *world.World, _ string, i world.Image) func() {
			w.RemoveBlob(i.Digest)
			return func() { w.File(world.BlobPath(i.Digest), string(i.Raw)) }
		}, repair.RemoveRevision, func(i world.Image) string { return world.RevisionLink("a", i.Digest) }},
		{"its tag too", func(_ *testing.T, w *world.World, _ string, i world.Image) func() {
			w.RemoveBlob(i.Digest)
			return func() { w.File(world.BlobPath(i.Digest), string(i.Raw)) }
		}, repair.RemoveTag, func(i world.Image) string { return world.TagIndexLink("a", "v1", i.Digest) }},
		{"a tag names something else", func(_ *testing.T, w *world.World, _ string, i world.Image) func() {
			w.Tag("a", "lost", world.Digest("nothing"))
			return func() { w.Tag("a", "lost", i.Digest) }
		}, repair.RemoveTag, func(world.Image) string { return world.TagIndexLink("a", "lost", world.Digest("nothing")) }},
		{"a layer is uploaded", func(_ *testing.T, w *world.World, _ string, _ world.Image) func() {
			w.OrphanLayerLink("a", world.Digest("late"))
			return func() { w.OrphanBlob("late") }
		}, repair.RemoveLayerLink, func(world.Image) string { return world.LayerLink("a", world.Digest("late")) }},
		{"a link is written", func(_ *testing.T, w *world.World, _ string, i world.Image) func() {
			w.EmptyRevisionLink("a", i.Digest)
			return func() { w.Rewrite(world.RevisionLink("a", i.Digest), "somebody was here") }
		}, repair.WriteLink, func(i world.Image) string { return world.RevisionLink("a", i.Digest) }},
		{"a link's blob goes", func(_ *testing.T, w *world.World, _ string, i world.Image) func() {
			w.EmptyRevisionLink("a", i.Digest)
			return func() { w.RemoveBlob(i.Digest) }
		}, repair.WriteLink, func(i world.Image) string { return world.RevisionLink("a", i.Digest) }},
		{"a temporary file grows", func(_ *testing.T, w *world.World, _ string, i world.Image) func() {
			w.File(world.BlobPath(i.Digest)+uuid, "half")
			return func() { w.File(world.BlobPath(i.Digest)+uuid, "more than half") }
		}, repair.RemoveTemporary, func(i world.Image) string { return world.BlobPath(i.Digest) + uuid }},
		{"a folder is filled", func(t *testing.T, w *world.World, dir string, _ world.Image) func() {
			link := world.LayerLink("a", world.Digest("late"))
			if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(link)), 0o755); err != nil {
				t.Fatal(err)
			}
			return func() { w.OrphanLayerLink("a", world.Digest("late")) }
		}, repair.RemoveFolder, func(world.Image) string { return world.LayerLink("a", world.Digest("late")) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := tempDir(t)
			w := world.New(world.Folder(dir))
			image := w.Image("a", world.ConfigText("a"), world.Tag("v1"))
			w.Image("b", world.ConfigText("b"), world.Tag("v1"))
			do := c.make(t, w, dir, image)
			backdate(t, dir, w.Now().Add(-9*day))
			d := damages(w.Now())
			d.MaxDeleteShare = 100
			result, err := app.Repair(t.Context(), open(t, dir), nil, app.RepairRequest{
				Damages: d, Clock: w.Now, Planned: func(*repair.Plan) { do() },
			})
			if err != nil {
				t.Fatal(err)
			}
			i := slices.IndexFunc(result.Plan.Actions, func(a repair.Action) bool { return a.Kind == c.kind })
			if i < 0 || result.Failed[i] == nil || result.Done[i] || !damageRemains(result) {
				t.Errorf("action %d of %v, failed: %v", i, c.kind, result.Failed)
			}
			if _, err := os.Stat(filepath.Join(dir, c.stay(image))); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestRepairLimits: a volume of blobs that is not mounted, or half of it, looks
// as if everything were gone.
func TestRepairLimits(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	w := world.New(world.Folder(dir))
	var manifests []string
	for i := range 8 {
		manifests = append(manifests, w.Image("a", world.ConfigText(fmt.Sprint(i)), world.Tag(fmt.Sprint(i))).Digest)
	}
	for _, d := range manifests[:5] {
		w.RemoveBlob(d)
	}
	before := trial.Tree(t, dir)
	result, err := mend(t, open(t, dir), damages(w.Now()))
	if !errors.Is(err, app.ErrLimit) || len(result.Plan.Exceeded) != 2 || slices.Contains(result.Done, true) {
		t.Errorf("five of eight images: %v, %+v", err, result.Plan.Exceeded)
	}
	same(t, "after a refusal, files", trial.Tree(t, dir), before)
	confirmed, err := app.Repair(t.Context(), open(t, dir), nil, app.RepairRequest{
		Damages: damages(w.Now()), Clock: w.Now, Confirmed: true,
	})
	if err != nil || damageRemains(confirmed) {
		t.Errorf("confirmed: %v, %v", err, confirmed.Failed)
	}
	for _, path := range []string{"blobs", "repositories"} {
		gone := filepath.Join(dir, world.Root, path)
		if err := os.Rename(gone, gone+".elsewhere"); err != nil {
			t.Fatal(err)
		}
		result, err := app.Repair(t.Context(), open(t, dir), nil, app.RepairRequest{
			Damages: damages(w.Now()), Clock: w.Now, Confirmed: true,
		})
		if !errors.Is(err, app.ErrIncomplete) || result.Plan != nil {
			t.Errorf("without %s: %v", path, err)
		}
		if err := os.Rename(gone+".elsewhere", gone); err != nil {
			t.Fatal(err)
		}
	}
}

// TestRepairScope: what is out of scope, young or of no age is left.
func TestRepairScope(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	r := newRuin(world.Folder(dir))
	r.folders(t, dir)
	d := damages(r.Now())
	d.Scope.Include = globs(t, "nothing/at/all")
	p, err := app.PlanRepair(t.Context(), registry.New(open(t, dir), nil), d)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range p.Actions {
		if a.Repository != "" {
			t.Errorf("out of scope: %s %s", a.Kind, a.Path)
		}
	}
	young := r.Image("hollow/young", world.ConfigText("young"))
	r.RemoveBlob(young.Digest)
	r.RemoveBlob(young.Config)
	if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(world.LayerLink("hollow/young", world.Digest("coming")))), 0o755); err != nil {
		t.Fatal(err)
	}
	d = damages(r.Now())
	d.LeftoverAge = 1000 * day
	if p, err = app.PlanRepair(t.Context(), registry.New(open(t, dir), nil), d); err != nil {
		t.Fatal(err)
	}
	for _, a := range p.Actions {
		if a.Kind == repair.RemoveTemporary || a.Kind == repair.RemoveFolder && a.Path != world.RepositoryPath("lost/all") {
			t.Errorf("too young: %s %s: %s", a.Kind, a.Path, a.Reason)
		}
	}
	d.LeftoverAge = 0
	backdate(t, dir, time.Now())
	if p, err = app.PlanRepair(t.Context(), registry.New(open(t, dir), nil), d); err != nil {
		t.Fatal(err)
	}
	if n := slices.IndexFunc(p.Actions, func(a repair.Action) bool { return strings.HasSuffix(a.Path, "bare/one") }); n < 0 {
		t.Error("an age of nothing asks for one")
	}
}

func globs(t *testing.T, texts ...string) []policy.Glob {
	t.Helper()
	var all []policy.Glob
	for _, text := range texts {
		g, err := policy.ParseGlob(text)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, g)
	}
	return all
}
