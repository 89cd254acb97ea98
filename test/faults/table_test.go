package faults

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/ebb-io/ebb/internal/inventory"
	"github.com/ebb-io/ebb/internal/store/blob/fault"
	"github.com/ebb-io/ebb/internal/testkit/trial"
	"github.com/ebb-io/ebb/internal/testkit/world"
)

// condition is something wrong with a storage. It returns what must be said.
type condition struct {
	name string
	make func(t *testing.T, w *town) []damage
}

// TestFaultTable has a test for each fault that was seen to stop or mislead the
// registry's own collector, distribution v3.1.1.
func TestFaultTable(t *testing.T) {
	t.Parallel()
	for _, c := range append(brokenParts, brokenManifests...) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newTown(t)
			w.survives(t, c.make(t, w)...)
		})
	}
}

// ill is an image to break.
func (w *town) ill() world.Image {
	return w.Image("ill", world.Layers(w.base, w.Layer("of the ill")), world.Tag("v1"))
}

var brokenParts = []condition{
	{"row 1, a tag and neither revisions nor _layers", func(_ *testing.T, w *town) []damage {
		image := w.ill()
		w.RemoveRevisionsDir("ill")
		w.RemoveLayersDir("ill")
		w.left = append(w.left, world.BlobPath(image.Digest), world.BlobPath(image.Layers[1]), world.TagLink("ill", "v1"))
		return []damage{
			{world.TagLink("ill", "v1"), inventory.TagDangling},
			{world.LayerLink("ill", image.Config), inventory.LayerLinkMissing},
			{world.LayerLink("ill", image.Layers[0]), inventory.LayerLinkMissing},
			{world.LayerLink("ill", image.Layers[1]), inventory.LayerLinkMissing},
		}
	}},
	{"row 2, no _layers", func(_ *testing.T, w *town) []damage {
		image := w.keeps(w.ill(), "v1")
		w.RemoveLayersDir("ill")
		w.left = append(w.left, world.BlobPath(image.Layers[1]))
		return []damage{
			{world.LayerLink("ill", image.Config), inventory.LayerLinkMissing},
			{world.LayerLink("ill", image.Layers[0]), inventory.LayerLinkMissing},
			{world.LayerLink("ill", image.Layers[1]), inventory.LayerLinkMissing},
		}
	}},
	{"row 3, an empty _manifests and _layers", func(t *testing.T, w *town) []damage {
		image := w.ill()
		w.RemoveManifestsDir("ill")
		if err := os.Mkdir(filepath.Join(w.dir, world.RepositoryPath("ill"), "_manifests"), 0o755); err != nil {
			t.Fatal(err)
		}
		w.gone = append(w.gone, world.BlobPath(image.Layers[1]), world.BlobPath(image.Digest), world.RepositoryPath("ill"))
		return nil
	}},
	{"row 4, an empty revision link", func(_ *testing.T, w *town) []damage {
		image := w.keeps(w.ill(), "v1")
		w.EmptyRevisionLink("ill", image.Digest)
		w.left = append(w.left, world.BlobPath(image.Layers[1]), world.BlobPath(image.Digest))
		return []damage{{world.RevisionLink("ill", image.Digest), inventory.LinkDamaged}}
	}},
	{"row 5, an empty layer link", func(_ *testing.T, w *town) []damage {
		image := w.keeps(w.ill(), "v1")
		w.EmptyLayerLink("ill", image.Layers[1])
		w.left = append(w.left, world.BlobPath(image.Layers[1]))
		return []damage{{world.LayerLink("ill", image.Layers[1]), inventory.LinkDamaged}}
	}},
	{"row 6, an empty tag link", func(_ *testing.T, w *town) []damage {
		w.keeps(w.ill())
		w.OrphanLayerLink("ill", w.OrphanBlob("what the broken tag may need").Digest)
		w.left = append(w.left, world.BlobPath(world.Digest("what the broken tag may need")))
		w.EmptyTagLink("ill", "v1")
		return []damage{{world.TagLink("ill", "v1"), inventory.TagUnread}}
	}},
	{"row 7, a tag folder without current/link", func(_ *testing.T, w *town) []damage {
		w.keeps(w.ill())
		w.RemoveTagLink("ill", "v1")
		return []damage{{world.TagLink("ill", "v1"), inventory.TagUnread}}
	}},
	{"row 8, no tags folder", func(_ *testing.T, w *town) []damage {
		w.keeps(w.ill())
		w.RemoveTagsDir("ill")
		return nil
	}},
	{"row 9, a revision link without its manifest blob", func(_ *testing.T, w *town) []damage {
		image := w.ill()
		w.RemoveBlob(image.Digest)
		w.left = append(w.left, world.BlobPath(image.Layers[1]), world.RevisionLink("ill", image.Digest))
		return []damage{{world.RevisionLink("ill", image.Digest), inventory.ManifestMissing}}
	}},
	{"row 13, a blob folder that is no digest", func(_ *testing.T, w *town) []damage {
		w.StrayBlobDir("blobs/sha256/ab/not-a-digest/data")
		w.left = append(w.left, world.Root+"/blobs/sha256/ab/not-a-digest/data")
		return []damage{{"blobs/sha256/ab/not-a-digest", inventory.UnexpectedContent}}
	}},
}

var brokenManifests = []condition{
	{"row 10, a truncated manifest", func(_ *testing.T, w *town) []damage {
		image := w.ill()
		w.TruncateBlob(image.Digest)
		w.keeps(w.Image("ill", world.Layers(w.Layer("beside it")), world.Tag("v2")), "v2")
		w.left = append(w.left, world.BlobPath(image.Layers[1]), world.LayerLink("ill", image.Layers[1]))
		return []damage{{world.BlobPath(image.Digest), inventory.ManifestUnread}}
	}},
	{"row 10, corrupt JSON", func(_ *testing.T, w *town) []damage {
		image := w.ill()
		w.CorruptBlob(image.Digest)
		w.left = append(w.left, world.BlobPath(image.Layers[1]), world.LayerLink("ill", image.Layers[1]))
		return []damage{{world.BlobPath(image.Digest), inventory.ManifestUnread}}
	}},
	{"row 11, a manifest of schema 1", func(_ *testing.T, w *town) []damage {
		image := w.keeps(w.Schema1("ill", "v1"), "v1")
		w.left = append(w.left, world.BlobPath(image.Layers[0]))
		return []damage{{world.BlobPath(image.Digest), inventory.NotUnderstood}}
	}},
	{"row 12, a manifest of an unknown kind", func(_ *testing.T, w *town) []damage {
		image := w.keeps(w.UnknownType("ill", "v1"), "v1")
		w.left = append(w.left, world.BlobPath(image.Layers[0]))
		return []damage{{world.BlobPath(image.Digest), inventory.NotUnderstood}}
	}},
	{"row 15, an index, a nested one, a missing child", func(_ *testing.T, w *town) []damage {
		child := w.keeps(w.Image("ill", world.Layers(w.base, w.Layer("child"))))
		inner := w.keeps(w.Index("ill", []world.Image{child}))
		w.keeps(w.Index("ill", []world.Image{inner}, world.Tag("nested")), "nested")
		w.keeps(w.Index("ill", []world.Image{child}, world.Sparse(world.Digest("absent")), world.Tag("sparse")), "sparse")
		return nil
	}},
	{"row 16, a referrer without a tag", func(_ *testing.T, w *town) []damage {
		image := w.keeps(w.ill(), "v1")
		w.keeps(w.Referrer("ill", image.Digest))
		return nil
	}},
	{"row 17, a signature of an image long gone", func(_ *testing.T, w *town) []damage {
		w.keeps(w.ill(), "v1")
		signature := w.CosignTag("ill", world.Digest("long gone"), ".sig")
		w.loses(signature, world.SubjectTag(world.Digest("long gone"), ".sig"))
		w.gone = append(w.gone, world.BlobPath(signature.Digest), world.BlobPath(signature.Layers[0]))
		return nil
	}},
}

// TestFaultTableEmptyRegistry is row 14: a registry that nothing was pushed to.
func TestFaultTableEmptyRegistry(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	if err := os.MkdirAll(filepath.Join(dir, world.Root), 0o755); err != nil {
		t.Fatal(err)
	}
	result, err := trial.Ask(trial.Owners(t, richOwners(world.Digest("none"))), world.New(world.Folder(dir)).Now()).Run(t.Context(), open(t, dir))
	if err != nil || sawDamage(result) || result.Outcome.FreedBytes != 0 {
		t.Errorf("error %v, result %+v; want a success that frees nothing", err, result)
	}
}

// TestFaultTableTransientError is row 18: each read of an index's child fails
// once. The child's layers stay, and it is told.
func TestFaultTableTransientError(t *testing.T) {
	t.Parallel()
	for _, what := range []string{"revision link", "manifest", "blob's presence"} {
		t.Run(what, func(t *testing.T) {
			w := newTown(t)
			child := w.keeps(w.Image("ill", world.Layers(w.base, w.Layer("child"))))
			w.keeps(w.Index("ill", []world.Image{child}, world.Tag("multi")), "multi")
			op := map[string]fault.Op{
				"revision link":   {Kind: fault.Leaf, Path: world.RevisionLink("ill", child.Digest)},
				"manifest":        {Kind: fault.Read, Path: world.BlobPath(child.Digest)},
				"blob's presence": {Kind: fault.Leaf, Path: world.BlobPath(child.Digest)},
			}[what]
			before, pullable := trial.Remember(mustView(t, w.dir)), trial.Pullable(t, w.dir, w.keep)
			driver := fault.New(open(t, w.dir), fault.FailReadWhere(func(o fault.Op) bool { return o == op }))
			result := w.run(t, driver)
			w.told(t, result, []damage{{op.Path, inventory.NotListed}})
			if what == "revision link" {
				w.gone = nil // where a listing failed, no blob is swept
			}
			w.proven(t, before, pullable)
			if !driver.Fired() {
				t.Error("nothing failed")
			}
		})
	}
}
