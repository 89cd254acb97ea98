package faults

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	app "github.com/ebb-io/ebb/internal/app/registry"
	"github.com/ebb-io/ebb/internal/repair"
	"github.com/ebb-io/ebb/internal/store/blob/mem"
	"github.com/ebb-io/ebb/internal/store/registry"
	"github.com/ebb-io/ebb/internal/testkit/trial"
	"github.com/ebb-io/ebb/internal/testkit/world"
)

const (
	uuid    = ".0198c9a2-7b1e-7c3d-9f4a-1234567890ab.tmp" // as distribution v3.1 ends a name
	ebbTemp = "/.ebb-ABCDEFGHIJKLMNOPQRSTUVWXYZ.tmp"      // as Ebb's own driver names one
)

// ruin is a world with one of every damage, and what a repair makes of it.
type ruin struct {
	*world.World
	// want are the actions as "Kind path", remaining the problems as "Code path",
	// paths below the registry's root.
	want, remaining []string
}

func (r *ruin) mends(kind repair.Kind, path string) {
	r.want = append(r.want, string(kind)+" "+strings.TrimPrefix(path, world.Root+"/"))
}

func (r *ruin) remains(code, path string) {
	r.remaining = append(r.remaining, code+" "+strings.TrimPrefix(path, world.Root+"/"))
}

func dirOf(link string) string { return strings.TrimSuffix(link, "/link") }

// newRuin writes whole images, and beside them what is damaged.
func newRuin(store world.Store) *ruin {
	r := &ruin{World: world.New(store)}
	base := r.Layer("base")
	child := r.Image("whole/index", world.Layers(base, r.Layer("child")))
	r.Index("whole/index", []world.Image{child}, world.Tag("v1"), world.Sparse(world.Digest("elsewhere")))
	for i := range 6 {
		r.Image("whole/app", world.Layers(base, r.Layer(fmt.Sprint("app ", i))), world.ConfigText(fmt.Sprint(i)), world.Tag(fmt.Sprint("v", i)))
	}
	r.Image("whole/long", world.Layers(r.Layer("long", world.SHA512Alias)), world.Tag("v1"))
	r.Schema1("whole/old", "v1")
	r.lostNames(base)
	r.links(base)
	r.layers(base)
	r.strays(base)
	r.hollow()
	return r
}

// lostNames are names whose manifests are gone.
func (r *ruin) lostNames(base world.Blob) {
	lost := r.Image("lost/manifest", world.Layers(base), world.ConfigText("lost"), world.Tag("v1"), world.Tag("v2"))
	r.Image("lost/manifest", world.Layers(base), world.ConfigText("beside"), world.Tag("v3"))
	r.RemoveBlob(lost.Digest)
	r.mends(repair.RemoveRevision, dirOf(world.RevisionLink("lost/manifest", lost.Digest)))
	r.mends(repair.RemoveTag, world.TagPath("lost/manifest", "v1"))
	r.mends(repair.RemoveTag, world.TagPath("lost/manifest", "v2"))

	both := r.Image("lost/both", world.Layers(base), world.ConfigText("both"), world.Tag("ok"))
	r.Tag("lost/both", "gone", world.Digest("a manifest that never was"))
	r.mends(repair.RemoveTag, world.TagPath("lost/both", "gone"))
	r.Tag("lost/both", "old", both.Digest)

	unlinked := r.Image("lost/link", world.Layers(base), world.ConfigText("unlinked"), world.Tag("v1"))
	r.RemoveRevisionLink("lost/link", unlinked.Digest)
	r.remains("TagDangling", world.TagLink("lost/link", "v1"))

	r.Image("lost/tag", world.Layers(base), world.ConfigText("tag"), world.Tag("v1"))
	r.EmptyTagLink("lost/tag", "v1")
	r.remains("TagUnread", world.TagLink("lost/tag", "v1"))

	all := r.Image("lost/all", world.Layers(r.Layer("of a lost image")), world.ConfigText("all"), world.Tag("v1"))
	r.RemoveBlob(all.Digest)
	r.RemoveBlob(all.Layers[0])
	r.RemoveBlob(all.Config)
	r.mends(repair.RemoveTag, world.TagPath("lost/all", "v1"))
	r.mends(repair.RemoveRevision, dirOf(world.RevisionLink("lost/all", all.Digest)))
	r.mends(repair.RemoveLayerLink, dirOf(world.LayerLink("lost/all", all.Layers[0])))
	r.mends(repair.RemoveLayerLink, dirOf(world.LayerLink("lost/all", all.Config)))
	r.mends(repair.RemoveFolder, world.RepositoryPath("lost/all"))
}

// hollow are repositories that lose their only image, and still hold something.
func (r *ruin) hollow() {
	for _, name := range []string{"hollow/odd", "hollow/upload", "hollow/tag"} {
		image := r.Image(name, world.ConfigText(name))
		r.RemoveBlob(image.Digest)
		r.RemoveBlob(image.Config)
		r.mends(repair.RemoveRevision, dirOf(world.RevisionLink(name, image.Digest)))
		r.mends(repair.RemoveLayerLink, dirOf(world.LayerLink(name, image.Config)))
	}
	r.File(world.RepositoryPath("hollow/odd")+"/_layers/note", "somebody's")
	r.Upload("hollow/upload", "0aa8ed90-upload", r.Now().Add(-30*day), "half")
	r.Tag("hollow/tag", "v1", world.Digest("anything"))
	r.EmptyTagLink("hollow/tag", "v1")
	r.remains("TagUnread", world.TagLink("hollow/tag", "v1"))
}

// links are files that do not hold their digest.
func (r *ruin) links(base world.Blob) {
	image := func(text string) world.Image {
		return r.Image("links", world.Layers(base, r.Layer("of "+text)), world.ConfigText(text), world.Tag(text))
	}
	for _, torn := range []struct{ text, content string }{
		{"empty", ""}, {"short", "sha256:"}, {"zeros", strings.Repeat("\x00", 71)}, {"break", "\n"},
	} {
		i := image(torn.text)
		content := torn.content
		if torn.text == "break" {
			content = i.Digest + "\n"
		}
		for _, link := range []string{
			world.RevisionLink("links", i.Digest), world.LayerLink("links", i.Layers[1]),
		} {
			if torn.text != "break" || strings.Contains(link, "revisions") {
				r.Rewrite(link, content)
				r.mends(repair.WriteLink, link)
			}
		}
	}
	history := image("history")
	r.Rewrite(world.TagIndexLink("links", "history", history.Digest), "")
	r.mends(repair.WriteLink, world.TagIndexLink("links", "history", history.Digest))

	other := image("foreign")
	r.Rewrite(world.RevisionLink("links", other.Digest), history.Digest)
	r.remains("LinkDamaged", world.RevisionLink("links", other.Digest))
	text := image("text")
	r.Rewrite(world.LayerLink("links", text.Layers[1]), "somebody's note")
	r.remains("LinkDamaged", world.LayerLink("links", text.Layers[1]))

	lost := image("torn and lost")
	r.EmptyRevisionLink("links", lost.Digest)
	r.RemoveBlob(lost.Digest)
	r.mends(repair.RemoveRevision, dirOf(world.RevisionLink("links", lost.Digest)))
	r.mends(repair.RemoveTag, world.TagPath("links", "torn and lost"))

	alias := r.Layer("alias", world.SHA512Alias)
	r.Image("links/long", world.Layers(alias), world.Tag("v1"))
	r.EmptyLayerLink("links/long", alias.Digest)
	r.remains("LinkDamaged", world.LayerLink("links/long", alias.Digest))
	r.remains("BlobMissing", world.BlobPath(alias.Digest))
}

// layers are links to contents that are gone.
func (r *ruin) layers(base world.Blob) {
	r.Image("layers", world.Layers(base), world.ConfigText("layers"), world.Tag("v1"))
	r.OrphanLayerLink("layers", world.Digest("gone long ago"))
	r.mends(repair.RemoveLayerLink, dirOf(world.LayerLink("layers", world.Digest("gone long ago"))))

	needs := r.Image("layers/needed", world.Layers(base, r.Layer("needed")), world.ConfigText("needs"), world.Tag("v1"))
	r.RemoveBlob(needs.Layers[1])
	r.remains("BlobMissing", world.BlobPath(needs.Layers[1]))

	torn := r.Image("layers/torn", world.Layers(base, r.Layer("torn")), world.ConfigText("torn"), world.Tag("v1"))
	r.RemoveBlob(torn.Layers[1])
	r.EmptyLayerLink("layers/torn", torn.Layers[1])
	r.remains("BlobMissing", world.BlobPath(torn.Layers[1]))
	r.remains("LinkDamaged", world.LayerLink("layers/torn", torn.Layers[1]))

	r.Image("layers/long", world.Layers(r.Layer("long and lost", world.SHA512Alias)), world.ConfigText("long"), world.Tag("v1"))
	r.RemoveBlob(world.Digest("long and lost")) // both links that lead to it are needed
	r.remains("BlobMissing", world.BlobPath(world.Digest("long and lost")))

	doubt := r.Image("layers/doubt", world.Layers(base), world.ConfigText("doubt"), world.Tag("v1"))
	r.OrphanLayerLink("layers/doubt", world.Digest("who knows"))
	r.CorruptBlob(doubt.Digest)
	r.remains("ManifestUnread", world.BlobPath(doubt.Digest))
}

// strays are temporary files, and what only looks like one.
func (r *ruin) strays(base world.Blob) {
	image := r.Image("strays", world.Layers(base), world.ConfigText("strays"), world.Tag("v1"))
	for _, path := range []string{
		world.RevisionLink("strays", image.Digest) + uuid, world.TagLink("strays", "v1") + uuid,
		world.TagIndexLink("strays", "v1", image.Digest) + uuid, world.LayerLink("strays", image.Config) + uuid,
		world.BlobPath(image.Config) + uuid, dirOf(world.LayerLink("strays", image.Config)) + ebbTemp,
		world.BlobPath(world.Digest("never finished")) + uuid,
		world.RevisionLink("strays", world.Digest("never finished")) + uuid,
	} {
		r.File(path, "left")
		r.mends(repair.RemoveTemporary, path)
	}
	for _, path := range []string{
		world.LayerLink("strays", image.Config) + ".tmp", world.LayerLink("strays", image.Config) + strings.ToUpper(uuid),
		dirOf(world.LayerLink("strays", image.Config)) + "/old-link" + uuid,
		dirOf(world.LayerLink("strays", image.Config)) + "/data" + uuid, world.BlobPath(image.Config) + uuid + ".bak",
		world.RepositoryPath("strays") + "/_manifests/tags/v1/link" + uuid,
	} {
		r.File(path, "not a temporary file of ours")
	}
	r.File(world.RevisionLink("strays", world.Digest("just now"))+uuid, "young", world.Age(time.Hour))
	r.Upload("strays", "0aa8ed90-upload", r.Now().Add(-30*day), "half")
	r.File(world.UploadPath("strays", "0aa8ed90-upload")+"/startedat"+uuid, "")
}

// folders makes empty ones, which only a folder has.
func (r *ruin) folders(t *testing.T, dir string) {
	t.Helper()
	for _, path := range []string{
		world.TagPath("strays", "nothing") + "/current", world.TagPath("strays", "nothing") + "/index/sha256",
		dirOf(world.LayerLink("strays", world.Digest("no layer"))), filepath.Dir(world.BlobPath(world.Digest("no blob"))),
		dirOf(world.TagIndexLink("strays", "v1", world.Digest("no longer"))), world.RepositoryPath("above/nothing"),
		world.RepositoryPath("strays") + "/_uploads/just-begun", world.BlobPath(world.Digest("odd")) + uuid + "/",
	} {
		if err := os.MkdirAll(filepath.Join(dir, path), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	r.EmptyRepository("bare/one")
	r.mends(repair.RemoveFolder, world.TagPath("strays", "nothing"))
	r.mends(repair.RemoveFolder, dirOf(world.LayerLink("strays", world.Digest("no layer"))))
	r.mends(repair.RemoveFolder, filepath.Dir(world.BlobPath(world.Digest("no blob"))))
	r.mends(repair.RemoveFolder, dirOf(world.TagIndexLink("strays", "v1", world.Digest("no longer"))))
	r.mends(repair.RemoveFolder, world.RepositoryPath("above"))
	r.mends(repair.RemoveFolder, world.RepositoryPath("bare/one"))
	r.mends(repair.RemoveFolder, filepath.Dir(world.BlobPath(world.Digest("never finished"))))
	r.mends(repair.RemoveFolder, dirOf(world.RevisionLink("strays", world.Digest("never finished"))))
	backdate(t, dir, r.Now().Add(-300*day))
}

func damages(now time.Time) app.Damages {
	return app.Damages{LeftoverAge: day, MaxDeleteShare: 50, Now: now}
}

func mend(t *testing.T, driver app.MendingDriver, d app.Damages) (*app.Repaired, error) {
	t.Helper()
	return app.Repair(t.Context(), driver, nil, app.RepairRequest{Damages: d, Clock: func() time.Time { return d.Now }})
}

// mendAll mends and wants no failure.
func mendAll(t *testing.T, driver app.MendingDriver, d app.Damages) *app.Repaired {
	t.Helper()
	result, err := mend(t, driver, d)
	if err != nil || len(result.Failed) > 0 {
		t.Fatalf("repair: %v, failed: %v", err, result.Failed)
	}
	if i := slices.Index(result.Done, false); i >= 0 {
		t.Errorf("not done: %+v", result.Plan.Actions[i])
	}
	return result
}

// told compares a plan with what it must be.
func (r *ruin) told(t *testing.T, p *repair.Plan) {
	t.Helper()
	var actions, remaining []string
	for _, a := range p.Actions {
		actions = append(actions, string(a.Kind)+" "+strings.TrimPrefix(a.Path, world.Root+"/"))
		loses := a.Kind == repair.RemoveTag || a.Kind == repair.RemoveRevision || a.Kind == repair.RemoveLayerLink
		if (a.Loses != "") != loses || a.Reason == "" {
			t.Errorf("%s %s: reason %q, loses %q", a.Kind, a.Path, a.Reason, a.Loses)
		}
	}
	for _, p := range p.Remaining {
		remaining = append(remaining, string(p.Code)+" "+strings.TrimPrefix(p.Path, world.Root+"/"))
		if p.Remedy == "" {
			t.Errorf("%s: nothing is said of what to do", p.Path)
		}
	}
	same(t, "actions", actions, r.want)
	same(t, "remaining", remaining, r.remaining)
}

func same(t *testing.T, what string, got, want []string) {
	t.Helper()
	got, want = slices.Clone(got), slices.Clone(want)
	slices.Sort(got)
	slices.Sort(want)
	if more, less := minus(got, want), minus(want, got); len(more)+len(less) > 0 || len(got) != len(want) {
		t.Errorf("%s too many:\n  %s\nmissing:\n  %s", what, strings.Join(more, "\n  "), strings.Join(less, "\n  "))
	}
}

// TestRepairInMemory mends every kind of damage in a store without folders.
func TestRepairInMemory(t *testing.T) {
	t.Parallel()
	store := mem.New()
	r := newRuin(world.Mem(store))
	before := trial.Remember(memView(t, store))
	result := mendAll(t, store.Writable(), damages(r.Now()))
	r.told(t, result.Plan)
	after := memView(t, store)
	mended(t, before, after)
	r.idle(t, store.Writable())
}

func memView(t *testing.T, store *mem.Store) trial.View {
	t.Helper()
	v, err := trial.Mem(store)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// complainer is a test, or a property.
type complainer interface {
	Helper()
	Errorf(format string, args ...any)
}

// mended proves that what was whole is whole, and that no content was invented.
func mended(t complainer, before *trial.Known, after trial.View) {
	t.Helper()
	for _, ref := range before.Refs() {
		if !before.Whole(ref) {
			continue
		}
		if lost := trial.Lost(before, after, ref); len(lost) > 0 {
			t.Errorf("%s lost %v", ref, lost)
		}
	}
	for path, data := range after {
		if was, there := before.View[path]; there && string(was) == string(data) || path == registry.LockFile {
			continue
		}
		algorithm, hex := filepath.Base(filepath.Dir(filepath.Dir(path))), filepath.Base(filepath.Dir(path))
		if !strings.HasSuffix(path, "/link") || string(data) != algorithm+":"+hex {
			t.Errorf("%s was written: %q", path, data)
		}
	}
}

// idle proves that nothing is left to mend, and that verify agrees on the rest.
func (r *ruin) idle(t *testing.T, driver app.MendingDriver) {
	t.Helper()
	p, err := app.PlanRepair(t.Context(), registry.New(driver, nil), damages(r.Now()))
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range p.Actions {
		t.Errorf("the second repair would %s %s: %s", a.Kind, a.Path, a.Reason)
	}
	v, err := app.Verify(t.Context(), registry.New(driver, nil), false)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, p := range v.Problems {
		if p.Damage() {
			found = append(found, string(p.Code)+" "+strings.TrimPrefix(p.Path, world.Root+"/"))
		}
	}
	same(t, "verify finds", found, r.remaining)
}

// TestRepairOnDisk mends every kind of damage in a folder, and has a real
// registry serve what was whole.
func TestRepairOnDisk(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	r := newRuin(world.Folder(dir))
	r.folders(t, dir)
	before := trial.Remember(mustView(t, dir))
	refs := before.Refs()
	pullable := trial.Pullable(t, dir, refs)
	result := mendAll(t, open(t, dir), damages(r.Now()))
	r.told(t, result.Plan)
	mended(t, before, mustView(t, dir))
	r.idle(t, open(t, dir))
	pulled := trial.Pullable(t, dir, refs)
	for _, ref := range refs {
		strict, was := pullable[ref]
		if got, is := pulled[ref]; was && (!is || got != strict) {
			t.Errorf("a real server no longer serves %s", ref)
		}
	}
	for _, tag := range []string{"empty", "short", "zeros"} {
		if !pulled[trial.Ref{Repository: "links", Name: tag}] || pullable[trial.Ref{Repository: "links", Name: tag}] {
			t.Errorf("links:%s: served before %v, after %v", tag, pullable[trial.Ref{Repository: "links", Name: tag}], pulled[trial.Ref{Repository: "links", Name: tag}])
		}
	}
}

// damageRemains tells whether damage remains after a repair, or something failed.
func damageRemains(r *app.Repaired) bool { return len(r.Failed)+len(r.Plan.Remaining) > 0 }
