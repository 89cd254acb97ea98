package world_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ebb-io/ebb/internal/store/blob"
	"github.com/ebb-io/ebb/internal/store/blob/mem"
	"github.com/ebb-io/ebb/internal/testkit/world"
)

func rich(w *world.World) {
	base := w.Layer("base", world.Age(48*time.Hour))
	web := w.Image("apps/web", world.Layers(base), world.Tag("v1"), world.Age(time.Hour))
	w.Referrer("apps/web", web.Digest)
	w.CosignTag("apps/web", web.Digest, ".sig")
	w.Schema1("old", "v1")
	w.UnknownType("odd", "v1")
	w.OrphanBlob(world.Random(7, 100))
	w.OrphanLayerLink("apps/web", world.Digest("absent"))
	w.Upload("apps/web", "an-id", w.Now().Add(-time.Hour), "data")
	w.EmptyRepository("nothing")
	w.StrayBlobDir("blobs/sha256/ab/not-a-digest/data")
	w.Push("apps/mirror", web, world.Tag("v1"), world.Age(0))
	w.TruncateBlob(base.Digest)
	w.RemoveTagLink("apps/mirror", "v1")
	w.RemoveRevisionsDir("odd")
}

func TestDeterministic(t *testing.T) {
	one, two := t.TempDir(), t.TempDir()
	rich(world.New(world.Folder(one)))
	rich(world.New(world.Folder(two)))
	if diff := cmp.Diff(tree(t, one), tree(t, two)); diff != "" {
		t.Errorf("two worlds of the same calls differ (-one +two):\n%s", diff)
	}
}

func TestFilesAreThoseOfTheFolder(t *testing.T) {
	dir := t.TempDir()
	w := world.New(world.Folder(dir))
	rich(w)
	found := []string{}
	for _, path := range w.Files() {
		found = append(found, path)
		if _, err := os.Stat(filepath.Join(dir, path)); err != nil {
			t.Error(err)
		}
	}
	if got, want := len(found), len(tree(t, dir)); got != want {
		t.Errorf("the world knows %d files, the folder holds %d", got, want)
	}
	for _, path := range []string{"_layers/sha256", "_manifests/revisions/sha256", "_manifests/tags", "_uploads"} {
		if _, err := os.Stat(filepath.Join(dir, world.RepositoryPath("nothing"), path)); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, world.RepositoryPath("odd"), "_manifests/revisions")); !os.IsNotExist(err) {
		t.Errorf("a removed directory is there: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, world.TagPath("apps/mirror", "v1"))); err != nil {
		t.Errorf("a tag's folder went with its link: %v", err)
	}
}

func TestTimes(t *testing.T) {
	now := time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)
	dir := t.TempDir()
	w := world.New(world.Folder(dir), world.At(now))
	layer := w.Layer("layer", world.Age(50*time.Hour))
	image := w.Image("a", world.Layers(layer), world.Tag("v1"), world.Age(48*time.Hour), world.LinkAge(time.Hour))
	w.Push("a", image, world.Tag("v2"), world.Age(time.Minute))
	w.Upload("a", "id", now.Add(-3*time.Hour), "data")
	old := w.Layer("old")
	w.Touch(world.TagLink("a", "v1"), world.Age(2*time.Hour))
	w.EmptyTagLink("a", "v1")
	for path, age := range map[string]time.Duration{
		world.BlobPath(layer.Digest):                50 * time.Hour,
		world.BlobPath(image.Digest):                48 * time.Hour,
		world.BlobPath(image.Config):                48 * time.Hour,
		world.TagIndexLink("a", "v1", image.Digest): time.Hour,
		world.TagLink("a", "v1"):                    2 * time.Hour,
		world.TagLink("a", "v2"):                    time.Minute,
		world.RevisionLink("a", image.Digest):       time.Minute,
		world.LayerLink("a", layer.Digest):          time.Minute,
		world.UploadPath("a", "id") + "/data":       3 * time.Hour,
		world.UploadPath("a", "id") + "/startedat":  3 * time.Hour,
		world.BlobPath(old.Digest):                  365 * 24 * time.Hour,
	} {
		info, err := os.Stat(filepath.Join(dir, path))
		if err != nil {
			t.Error(err)
			continue
		}
		if got := now.Sub(info.ModTime()); got != age {
			t.Errorf("%s is %s old, want %s", path, got, age)
		}
	}
}

func TestUnknownAge(t *testing.T) {
	store := mem.New()
	image := world.New(world.Mem(store)).Image("a", world.Tag("v1"), world.UnknownAge)
	for _, path := range []string{
		world.BlobPath(image.Digest), world.BlobPath(image.Config), world.RevisionLink("a", image.Digest), world.TagLink("a", "v1"),
	} {
		if entry, err := store.Stat(t.Context(), path); err != nil || !entry.ModTime.IsZero() {
			t.Errorf("%s: time stamp is %v, %v; want none", path, entry.ModTime, err)
		}
	}
}

func TestMovedTagKeepsItsIndex(t *testing.T) {
	w := world.New(world.Folder(t.TempDir()))
	one := w.Image("a", world.Tag("v1"), world.ConfigText("1"))
	two := w.Image("a", world.Tag("v1"), world.ConfigText("2"))
	var index int
	for _, path := range w.Files() {
		if strings.HasPrefix(path, world.TagPath("a", "v1")+"/index/") {
			index++
		}
	}
	if one.Digest == two.Digest || index != 2 {
		t.Errorf("digests %s and %s, %d index links; want two", one.Digest, two.Digest, index)
	}
}

func TestPanics(t *testing.T) {
	for name, f := range map[string]func(*world.World){
		"blob that was never written": func(w *world.World) { w.CorruptBlob(world.Digest("absent")) },
		"link that was never written": func(w *world.World) { w.EmptyLayerLink("a", world.Digest("absent")) },
		"no digest":                   func(w *world.World) { w.OrphanLayerLink("a", "latest") },
		"store that fails":            func(w *world.World) { w.File("file/below", "x"); w.File("file", "y") },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("it did not panic")
				}
			}()
			f(world.New(world.Folder(t.TempDir())))
		})
	}
}

func TestMemIsTheFolder(t *testing.T) {
	dir, store := t.TempDir(), mem.New()
	rich(world.New(world.Folder(dir)))
	rich(world.New(world.Mem(store)))
	folder := map[string]string{}
	for path := range tree(t, dir) {
		data, err := os.ReadFile(filepath.Join(dir, path))
		if err != nil {
			t.Fatal(err)
		}
		folder[path] = string(data)
	}
	memory := map[string]string{}
	for _, path := range store.Paths() {
		data, _, err := blob.ReadFile(t.Context(), store, path, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		memory[path] = string(data)
	}
	if diff := cmp.Diff(folder, memory); diff != "" {
		t.Errorf("files (-folder +mem):\n%s", diff)
	}
}

func BenchmarkMem(b *testing.B) {
	for b.Loop() {
		rich(world.New(world.Mem(mem.New())))
	}
}
