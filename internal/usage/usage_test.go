package usage_test

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ebb-io/ebb/internal/inventory"
	"github.com/ebb-io/ebb/internal/plan"
	"github.com/ebb-io/ebb/internal/policy"
	"github.com/ebb-io/ebb/internal/refs"
	"github.com/ebb-io/ebb/internal/store/blob/mem"
	"github.com/ebb-io/ebb/internal/store/registry"
	"github.com/ebb-io/ebb/internal/testkit/world"
	"github.com/ebb-io/ebb/internal/usage"
)

// planOf plans for a world in which things own the repositories below own/ and
// own/NAMESPACE/, and none of them lives.
func planOf(t *testing.T, fill func(*world.World)) *plan.Plan {
	t.Helper()
	driver := mem.New()
	fill(world.New(world.Mem(driver), world.At(clock)))
	inv, err := registry.New(driver, nil).Snapshot(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	var rules []refs.Rule
	for _, r := range []struct{ kind, repository string }{{"Thing", "own/{name}"}, {"Other", "own/{namespace}/{name}"}} {
		pattern, err := refs.ParsePattern(r.repository)
		if err != nil {
			t.Fatal(err)
		}
		rules = append(rules, refs.Rule{Name: r.kind, Kind: r.kind, Repository: pattern, Objects: 1})
	}
	return plan.Build(plan.Input{Inventory: inv, Refs: refs.NewIndex(refs.Set{Rules: rules}), Policy: policy.Default(), Now: clock})
}

// size is what the storage has of a digest.
func size(t *testing.T, p *plan.Plan, ids ...inventory.ID) (bytes int64) {
	t.Helper()
	for _, id := range ids {
		bytes += max(p.Inventory().Contents.At(id).Size, 0)
	}
	return bytes
}

type row struct {
	Class  usage.Class
	Name   string
	Images int
}

func rows(u *usage.Usage) []row {
	var found []row
	for _, g := range u.Groups.Items {
		found = append(found, row{g.Class, g.Name, g.Images})
	}
	return found
}

func TestGroups(t *testing.T) {
	layer := func(w *world.World, seed uint64, size int) world.Option {
		return world.Layers(w.Layer(world.Random(seed, size)))
	}
	p := planOf(t, func(w *world.World) {
		w.Image("own/a", world.Tag("v1"), layer(w, 1, 60_000))
		w.Image("own/ns/b", world.Tag("v1"), layer(w, 2, 50_000))
		w.Image("own/ns/c", world.Tag("v1"), layer(w, 3, 40_000), world.Docker)
		child := w.Image("free", layer(w, 4, 30_000))
		w.Index("free", []world.Image{child}, world.Tag("v1"))
		w.Schema1("old", "v1")
		w.OrphanBlob(world.Random(5, 20_000))
	})
	for _, test := range []struct {
		by     usage.By
		want   []row
		reason string
	}{
		{usage.Repository, []row{
			{usage.Named, "own/a", 1},
			{usage.Named, "own/ns/b", 1},
			{usage.Named, "own/ns/c", 1},
			{usage.Named, "free", 2},
			{usage.Unreferenced, "", 0},
			{usage.Named, "old", 1},
		}, "a child is an image, and what no image needs is no repository's"},
		{usage.Owner, []row{
			{usage.Named, "Thing a", 1},
			{usage.Named, "Other ns/b", 1},
			{usage.Named, "Other ns/c", 1},
			{usage.NoOwner, "", 3},
			{usage.Unreferenced, "", 0},
		}, "an owner need not live"},
		{usage.Kind, []row{
			{usage.Named, "Other", 2},
			{usage.Named, "Thing", 1},
			{usage.NoOwner, "", 3},
			{usage.Unreferenced, "", 0},
		}, "kinds of owners"},
		{usage.Namespace, []row{
			{usage.Named, "ns", 2},
			{usage.NoNamespace, "", 1},
			{usage.NoOwner, "", 3},
			{usage.Unreferenced, "", 0},
		}, "an owner without a namespace is no image without an owner"},
		{usage.MediaType, []row{
			{usage.Named, "application/vnd.oci.image.manifest.v1+json", 3},
			{usage.Named, "application/vnd.docker.distribution.manifest.v2+json", 1},
			{usage.Unreferenced, "", 0},
			{usage.Named, "application/vnd.oci.image.index.v1+json", 1},
			{usage.NotUnderstood, "", 1},
		}, "what a manifest is, not what its layers are"},
	} {
		if diff := cmp.Diff(test.want, rows(usage.Of(p, test.by, 0))); diff != "" {
			t.Errorf("by %s: %s (-want +got):\n%s", test.by, test.reason, diff)
		}
	}
}

// TestRestOfADivision: of a blob of 11 bytes that four repositories need, the
// first three by name bear three, and the last two.
func TestRestOfADivision(t *testing.T) {
	p := planOf(t, func(w *world.World) {
		for _, name := range []string{"d", "b", "c", "a"} {
			w.Image(name, world.Tag("v1"), world.ConfigText(name), world.Layers(w.Layer("11 bytes in")))
		}
	})
	got := map[string]int64{}
	for _, g := range usage.Of(p, usage.Repository, 0).Groups.Items {
		got[g.Name] = g.Bytes.Shared
	}
	if diff := cmp.Diff(map[string]int64{"a": 3, "b": 3, "c": 3, "d": 2}, got); diff != "" {
		t.Error(diff)
	}
}

// TestContentUnderAnotherDigest: an upload by its sha512 digest lies under its
// sha256 digest, and is needed there.
func TestContentUnderAnotherDigest(t *testing.T) {
	p := planOf(t, func(w *world.World) {
		for _, name := range []string{"a", "b"} {
			w.Image(name, world.Tag("v1"), world.ConfigText(name), world.Layers(w.Layer(world.Random(1, 5000), world.SHA512Alias)))
		}
	})
	u := usage.Of(p, usage.Repository, 0)
	if u.Totals.Unreferenced != 0 || u.Totals.Shared != 5000 {
		t.Errorf("%+v", u.Totals)
	}
	want := []usage.Layer{{Size: 5000, Images: 2, Repositories: 2, Saved: 5000}}
	for i := range u.Layers.Items {
		if got := u.Layers.Items[i].Digest.String(); got != world.Digest(world.Random(1, 5000)) {
			t.Errorf("the layer is %s, which is not what lies there", got)
		}
		want[0].Digest = u.Layers.Items[i].Digest
	}
	if diff := cmp.Diff(want, u.Layers.Items, cmp.Comparer(func(a, b usage.Layer) bool { return a == b })); diff != "" {
		t.Error(diff)
	}
}

// TestChildWithoutARevision: what only an index names is needed by the index.
func TestChildWithoutARevision(t *testing.T) {
	p := planOf(t, func(w *world.World) {
		child := w.Image("a", world.Layers(w.Layer(world.Random(1, 5000))))
		inner := w.Index("a", []world.Image{child})
		w.Index("a", []world.Image{inner}, world.Tag("v1"))
		for _, lost := range []world.Image{child, inner} {
			w.Remove(world.RevisionLink("a", lost.Digest))
		}
	})
	if len(p.Decisions) != 1 {
		t.Fatalf("%d images", len(p.Decisions))
	}
	u := usage.Of(p, usage.MediaType, 0)
	if len(u.Groups.Items) != 1 || u.Totals.Unreferenced != 0 || u.Totals.Exclusive != p.Totals.Bytes {
		t.Errorf("%+v of %+v", u.Groups.Items, u.Totals)
	}
}

// TestAbsentContentCountsNothing, whoever needs it.
func TestAbsentContentCountsNothing(t *testing.T) {
	p := planOf(t, func(w *world.World) {
		lost := w.Layer(world.Random(1, 5000))
		for _, name := range []string{"a", "b"} {
			w.Image(name, world.Tag("v1"), world.ConfigText(name), world.Layers(lost))
		}
		w.RemoveBlob(lost.Digest)
	})
	u := usage.Of(p, usage.Repository, 0)
	if u.Totals.Shared != 0 || len(u.Layers.Items) != 0 || u.Totals.Bytes != p.Totals.Bytes {
		t.Errorf("%+v, %+v", u.Totals, u.Layers)
	}
}

// TestReclaimable: what goes of a blob that two need goes from both, and a blob
// that one of them still needs goes from neither.
func TestReclaimable(t *testing.T) {
	p := planOf(t, func(w *world.World) {
		both, one := w.Layer(world.Random(1, 5001)), w.Layer(world.Random(2, 3000))
		w.Image("own/a", world.Tag("v1"), world.ConfigText("a"), world.Layers(both, one))
		w.Image("own/b", world.Tag("v1"), world.ConfigText("b"), world.Layers(both))
		w.Image("free", world.Tag("v1"), world.ConfigText("c"), world.Layers(one))
		w.OrphanBlob(world.Random(3, 700))
		w.OrphanBlob(world.Random(4, 500), world.Age(0)) // too young to go
		w.Upload("free", "gone", clock.Add(-30*24*time.Hour), world.Random(5, 900))
		w.Upload("free", "fresh", clock, world.Random(6, 800))
	})
	got := map[string]usage.Bytes{}
	own := map[string]int64{} // manifest and config
	for _, g := range usage.Of(p, usage.Repository, 0).Groups.Items {
		got[string(g.Class)+" "+g.Name] = g.Bytes
	}
	for i, d := range p.Decisions {
		_, id := p.Image(i)
		own[d.Repository] = size(t, p, id, p.Inventory().Manifests[id].Needs[0].ID)
	}
	want := map[string]usage.Bytes{
		"Named own/a":   {Exclusive: own["own/a"], Shared: 2501 + 1500, Size: own["own/a"] + 8001, Reclaimable: own["own/a"] + 2501},
		"Named own/b":   {Exclusive: own["own/b"], Shared: 2500, Size: own["own/b"] + 5001, Reclaimable: own["own/b"] + 2500},
		"Named free":    {Exclusive: own["free"], Shared: 1500, Size: own["free"] + 3000},
		"Unreferenced ": {Exclusive: 1200, Size: 1200, Reclaimable: 700},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	uploads := usage.Of(p, usage.Repository, 1).Totals.Uploads
	if uploads.Count != 2 || uploads.Bytes-uploads.Reclaimable < 800 || uploads.Reclaimable < 900 {
		t.Errorf("%+v", uploads)
	}
}

// TestLists are in the order of what they are for.
func TestLists(t *testing.T) {
	p := planOf(t, func(w *world.World) {
		large, small := w.Layer(world.Random(1, 3000)), w.Layer(world.Random(2, 2000))
		for i, name := range []string{"a", "b", "c"} {
			layers := []world.Blob{small, w.Layer(world.Random(uint64(10+i), 1000*(i+1)))}
			if i < 2 {
				layers = append(layers, large)
			}
			w.Image(name, world.Tag("v1"), world.ConfigText(name), world.Layers(layers...))
		}
	})
	u := usage.Of(p, usage.Repository, 2)
	if len(u.Layers.Items) != 2 || u.Layers.Items[0].Saved != 4000 || u.Layers.Items[1].Saved != 3000 {
		t.Errorf("a small layer of three saves more than a large one of two: %+v", u.Layers.Items)
	}
	if u.Images.Items[0].Repository != "b" || u.Images.Items[1].Repository != "a" || u.Images.More != 1 || u.Groups.More != 1 {
		t.Errorf("images %+v, %d more; %d more groups", u.Images.Items, u.Images.More, u.Groups.More)
	}
}

// TestSparseFilesOfAnySize: what is saved never turns negative.
func TestSparseFilesOfAnySize(t *testing.T) {
	blobs := []inventory.Content{{Digest: numbered(1), Size: math.MaxInt64 / 2}}
	inv := &inventory.Inventory{Contents: inventory.NewContents(blobs, nil), Manifests: map[inventory.ID]*inventory.Manifest{}}
	for i, name := range []string{"a", "b", "c", "d"} {
		id := inv.Contents.Intern(numbered(10 + i))
		inv.Manifests[id] = &inventory.Manifest{Needs: []inventory.Need{{ID: 0}, {ID: 0, Role: 1}}}
		inv.Repositories = append(inv.Repositories, inventory.Repository{Name: name, Images: []inventory.Image{{ID: id, Linked: true}}})
	}
	p := plan.Build(plan.Input{Inventory: inv, Refs: refs.NewIndex(refs.Set{}), Policy: policy.Default(), Now: clock})
	u := usage.Of(p, usage.Repository, 0)
	if u.Layers.Items[0].Saved != math.MaxInt64 || u.Totals.Bytes != math.MaxInt64/2 {
		t.Errorf("%+v, %+v", u.Layers.Items, u.Totals)
	}
}
