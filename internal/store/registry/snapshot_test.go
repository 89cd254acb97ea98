package registry_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ebb-io/ebb/internal/inventory"
	"github.com/ebb-io/ebb/internal/store/blob"
	"github.com/ebb-io/ebb/internal/store/blob/fault"
	"github.com/ebb-io/ebb/internal/store/blob/fs"
	"github.com/ebb-io/ebb/internal/store/blob/mem"
	"github.com/ebb-io/ebb/internal/store/registry"
	"github.com/ebb-io/ebb/internal/testkit/world"
)

const (
	repositoryCount = 3
	imageCount      = 4 // of each repository, with a layer of its own and one that all share
)

// plain writes the repositories; one image stands in all of them.
func plain(w *world.World) {
	shared := w.Layer("shared")
	everywhere := w.Image("team/r0", world.Layers(shared), world.ConfigText("config everywhere"), world.Tag("everywhere"))
	for r := range repositoryCount {
		repository := fmt.Sprintf("team/r%d", r)
		w.Push(repository, everywhere, world.Tag("everywhere"))
		for i := range imageCount {
			w.Image(repository, world.Layers(shared, w.Layer(fmt.Sprint(r, i))), world.ConfigText(fmt.Sprint("config ", r, i)),
				world.Tag(fmt.Sprintf("v%d", i)))
		}
	}
}

// A snapshot opens only the folders that it must list, looks once at each link
// and blob, reads each tag once, and each manifest once however many
// repositories have it.
func TestSnapshotReadsNothingTwice(t *testing.T) {
	store, dir := mem.New(), t.TempDir()
	plain(world.New(world.Mem(store)))
	plain(world.New(world.Folder(dir)))
	folder, err := fs.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	images := repositoryCount*imageCount + 1
	blobs := images*2 + repositoryCount*imageCount + 1 // manifests, configs, own layers, the shared one
	tags := repositoryCount * (imageCount + 1)
	links := repositoryCount * ((imageCount + 1) + (imageCount*2 + 2)) // revisions; configs and layers
	for name, reader := range map[string]blob.Reader{"mem": store, "fs": folder} {
		counted := fault.NewReader(reader)
		inv, err := registry.New(counted, nil).Snapshot(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		prefixes := map[string]bool{}
		for id := range inv.Contents.Blobs() {
			prefixes[inv.Contents.Digest(inventory.ID(id)).Hex()[:2]] = true
		}
		// blobs, blobs/sha256 and its folders; repositories, team, and of each
		// repository: itself, _manifests, revisions and its sha256, _layers and
		// its sha256, tags
		listings := 2 + len(prefixes) + 2 + repositoryCount*7
		want := fault.Counts{
			Walks: 2 + repositoryCount, Listings: listings, Leaves: blobs + links, Reads: tags + images,
		}
		if diff := cmp.Diff(want, counted.Counts()); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
		if len(inv.Problems) > 0 || inv.Images() != repositoryCount*(imageCount+1) || inv.Contents.Blobs() != blobs {
			t.Errorf("%s: %d images, %d blobs, %v", name, inv.Images(), inv.Contents.Blobs(), inv.Problems)
		}
	}
}

// breaking is an object store whose listing of repositories breaks off before a
// path: all that it can say is where it was listing.
type breaking struct {
	*fault.Remote
	before, told string
}

func (b breaking) Walk(ctx context.Context, dir string, v blob.Visitor) error {
	if dir != world.Root+"/repositories" {
		return b.Remote.Walk(ctx, dir, v)
	}
	file := v.File
	v.File = func(e blob.Entry) {
		if e.Path < b.before {
			file(e)
		}
	}
	err := b.Remote.Walk(ctx, dir, v)
	v.Fail(b.told, errors.New("it broke off"))
	return err
}

// Where a listing of many repositories breaks off, a part of one may have been
// seen: its layer links and not what needs them. Nothing there is judged.
func TestListingThatBreaksOff(t *testing.T) {
	for told, want := range map[string]map[string]bool{
		world.Root + "/repositories":            {"team/r0": true, "team/r1": true, "team/r2": true},
		world.RepositoryPath("team"):            {"team/r0": true, "team/r1": true, "team/r2": true},
		world.RepositoryPath("team/r1"):         {"team/r1": true},
		world.RepositoryPath("team/r1/_layers"): {"team/r1": true},
	} {
		store := mem.New()
		plain(world.New(world.Mem(store)))
		inv, err := registry.New(breaking{fault.NewRemote(store, 1), world.RepositoryPath("team/r1") + "/_manifests", told}, nil).Snapshot(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]bool{}
		for _, r := range inv.Repositories {
			if r.Unlisted {
				got[r.Name] = true
			}
		}
		if diff := cmp.Diff(want, got); diff != "" || !inv.Unlisted {
			t.Errorf("%s: doubt about all %t, and about repositories (-want +got):\n%s", told, inv.Unlisted, diff)
		}
	}
}

// An upload that somebody went on with since it was planned stays.
func TestUploadThatMovedStays(t *testing.T) {
	store := mem.New()
	w := world.New(world.Mem(store))
	w.Upload("team/r0", "upload", w.Now(), "data")
	inv, err := registry.New(store, nil).Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	item := inventory.Item{
		Kind: inventory.UploadFolder, Repository: "team/r0", Upload: "upload", Size: inv.Repositories[0].Uploads[0].Size,
	}
	data := world.UploadPath("team/r0", "upload") + "/data"
	store.Put(data, []byte("data, and more of it"), w.Now())
	writable := registry.NewWritable(store, store, nil)
	if errs := writable.Delete(t.Context(), []inventory.Item{item}); !errors.Is(errs[0], registry.ErrMoved) {
		t.Errorf("got %v", errs)
	}
	store.Put(data, []byte("data"), w.Now())
	if errs := writable.Delete(t.Context(), []inventory.Item{item}); errs[0] != nil {
		t.Errorf("the upload as it was planned: %v", errs)
	}
	if left := store.Paths(); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// Where folders are not real a repository is gone when none of its files is
// left, whatever is nested in it or lies beside.
func TestRepositoryIsGoneWithoutItsFiles(t *testing.T) {
	for path, want := range map[string]error{
		"":                     nil,
		"team/b/c/_layers/x":   nil, // nested
		"team/b/1st/_layers/x": nil, // nested, and sorts before the repository's own
		"team/bc/_layers/x":    nil, // beside it
		"team/b/file":          nil, // nobody's
		"team/b/_backup/x":     nil, // not the registry's
		"team/b/_layers/x":     blob.ErrNotEmpty,
		"team/b/_manifests/x":  blob.ErrNotEmpty,
		"team/b/_uploads/x/y":  blob.ErrNotEmpty,
	} {
		store := mem.New()
		w := world.New(world.Mem(store))
		w.File(world.RepositoryPath("team/a/_layers/x"), "")
		if path != "" {
			w.File(world.RepositoryPath(path), "")
		}
		before := store.Paths()
		item := inventory.Item{Kind: inventory.RepositoryFolder, Repository: "team/b"}
		errs := registry.NewWritable(fault.NewRemote(store, 1), store, nil).Delete(t.Context(), []inventory.Item{item})
		if !errors.Is(errs[0], want) || want == nil && errs[0] != nil {
			t.Errorf("%q: %v, want %v", path, errs[0], want)
		}
		if diff := cmp.Diff(before, store.Paths()); diff != "" {
			t.Errorf("%q: files (-before +after):\n%s", path, diff)
		}
	}
}
