package faults

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	app "github.com/ebb-io/ebb/internal/app/registry"
	"github.com/ebb-io/ebb/internal/demo/server"
	"github.com/ebb-io/ebb/internal/execute/guard"
	"github.com/ebb-io/ebb/internal/plan"
	"github.com/ebb-io/ebb/internal/refs"
	"github.com/ebb-io/ebb/internal/store/blob"
	"github.com/ebb-io/ebb/internal/store/blob/fs"
	"github.com/ebb-io/ebb/internal/testkit/trial"
	"github.com/ebb-io/ebb/internal/testkit/world"
)

// victim is a folder outside of the storage, with old files.
func victim(t *testing.T, at time.Time) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "victim")
	old := at.Add(-1000 * time.Hour)
	for _, name := range []string{"precious", "sub/more", "data", "link", "startedat"} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte("precious"), 0o644),
			os.Chtimes(path, old, old)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func count(t *testing.T, dir string) int {
	t.Helper()
	n := 0
	err := filepath.WalkDir(dir, func(_ string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			n++
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// A symbolic link inside of a repository could lead anywhere. Ebb often runs as
// root: nothing behind it is touched, and the repository is left unjudged.
func TestLinksInsideARepositoryLeadNowhere(t *testing.T) {
	for _, place := range []string{
		"town/web/_uploads/evil",
		"town/web/_uploads",
		"vi/ns/gone/_manifests/tags/" + uid(9) + "/index",
		"vi/ns/gone/_manifests/tags/" + uid(9),
		"vi/ns/gone/_manifests/tags",
		"vi/ns/gone/_manifests/revisions/sha256",
		"vi/ns/gone/_manifests",
		"vi/ns/gone/_layers/sha256",
		"vi/ns/gone/_layers",
	} {
		t.Run(place, func(t *testing.T) {
			w := newTown(t)
			dir := victim(t, w.Now())
			before := count(t, dir)
			if err := os.RemoveAll(filepath.Join(w.dir, world.RepositoryPath(place))); err != nil {
				t.Fatal(err)
			}
			w.link(t, place, dir)
			w.run(t, open(t, w.dir))
			if after := count(t, dir); after != before {
				t.Errorf("%d of %d files outside of the storage are left", after, before)
			}
		})
	}
}

// brokenOff is a driver whose listing of one folder ends before its time.
type brokenOff struct {
	*fs.Writable
	dir, before string
}

func (b brokenOff) Walk(ctx context.Context, dir string, v blob.Visitor) error {
	enter := v.Enter
	v.Enter = func(d string) blob.Step {
		if d == b.dir+"/"+b.before {
			v.Fail(b.dir, errors.New("input/output error"))
			return blob.Skip()
		}
		return enter(d)
	}
	return b.Writable.Walk(ctx, dir, v)
}

// A repository of which only a part was shown is not judged by that part.
func TestListingThatBreaksOff(t *testing.T) {
	for _, before := range []string{"_manifests", "_layers"} {
		w := newTown(t)
		untagged := w.Image("town/web", world.Layers(w.base, w.Layer("pulled by digest")))
		w.run(t, brokenOff{open(t, w.dir), world.RepositoryPath("town/web"), before})
		ref := trial.Ref{Repository: "town/web", Name: untagged.Digest}
		if _, pulled := trial.Pullable(t, w.dir, []trial.Ref{ref})[ref]; !pulled {
			t.Errorf("the listing broke off before %s, and %s can not be pulled", before, ref)
		}
	}
}

// The folder that a link leads to stays, empty, when its repository goes: else
// the link would lead nowhere, which may be a volume that is not mounted.
func TestTargetOfALinkStays(t *testing.T) {
	w := newTown(t)
	w.loses(w.Image("cvi/gone", world.Layers(w.base, w.Layer("gone")), world.Tag(uid(6))), uid(6))
	w.link(t, "vi/alias", "../cvi/gone")
	w.run(t, open(t, w.dir))
	if _, err := os.Stat(filepath.Join(w.dir, world.RepositoryPath("cvi/gone"))); err != nil {
		t.Error(err)
	}
	second := w.run(t, open(t, w.dir))
	if inv := second.Plan.Inventory(); inv.Unlisted || sawDamage(second) {
		t.Errorf("the second run is in doubt: %v", inv.Problems)
	}
}

// A stored plan that names nothing deletes nothing, broken tags included.
func TestStoredPlanSparesBrokenTags(t *testing.T) {
	w := newTown(t)
	torn := w.Image("vi/ns/torn", world.Layers(w.base, w.Layer("torn")), world.Tag(uid(3)))
	w.Tag("vi/ns/torn", "broken", torn.Digest)
	w.EmptyTagLink("vi/ns/torn", "broken")
	before := count(t, w.dir)
	q := unlimited(t, w.World, w.owners)
	result, err := app.Run(t.Context(), open(t, w.dir), nil, app.RunRequest{
		Request: app.Request{
			Owners: func(context.Context) (refs.Set, error) { return q.Owners, nil }, Policy: q.Policy, Now: q.Now,
		},
		Named: plan.Named{}, Clock: w.Now,
	})
	if err != nil || len(result.Outcome.Failed) > 0 {
		t.Errorf("%+v, %v", result, err)
	}
	if after := count(t, w.dir); after != before {
		t.Errorf("%d of %d files are left", after, before)
	}
}

// A registry is recognized although some of its links are damaged.
func TestGuardAmongDamage(t *testing.T) {
	w := newTown(t)
	first := w.Image("apps/first", world.Layers(w.base, w.Layer("first")), world.Tag("v1"))
	w.EmptyRevisionLink("apps/first", first.Digest)
	s, err := server.Start(t.Context(), w.dir, server.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	g, err := guard.New(s.URL())
	if err != nil {
		t.Fatal(err)
	}
	q := unlimited(t, w.World, w.owners)
	result, err := app.Run(t.Context(), open(t, w.dir), nil, app.RunRequest{
		Request: app.Request{
			Owners: func(context.Context) (refs.Set, error) { return q.Owners, nil }, Policy: q.Policy, Now: q.Now,
		},
		Access: app.Access{Guards: []*guard.Guard{g}}, Clock: w.Now,
	})
	if err != nil || !sawDamage(result) || result.Outcome.Deleted.Manifests == 0 {
		t.Errorf("%+v, %v", result, err)
	}
}

// Blobs that are not mounted: an image that runs by its image ID can not be
// told from others.
func TestBlobsNotMounted(t *testing.T) {
	w := newTown(t)
	byID := w.Image("vi/ns/by-id", world.Layers(w.base, w.Layer("by id")), world.Tag(uid(14)))
	if err := os.Rename(filepath.Join(w.dir, world.Root, "blobs"), filepath.Join(w.dir, "elsewhere")); err != nil {
		t.Fatal(err)
	}
	before := count(t, w.dir)
	_, err := unlimited(t, w.World, richOwners(byID.Config)).Run(t.Context(), open(t, w.dir))
	if !errors.Is(err, app.ErrIncomplete) {
		t.Errorf("got %v", err)
	}
	if after := count(t, w.dir); after != before {
		t.Errorf("%d of %d files are left", after, before)
	}
}

// Two repositories that share a link through a symbolic one: what is unneeded
// in the first serves the second.
func TestSharedLinksAreSeen(t *testing.T) {
	w := newTown(t)
	layer := w.Layer("shared through a link")
	alive := w.keeps(w.Image("town/shares", world.Layers(w.base, layer), world.Tag("v1")), "v1")
	w.Image("vi/ns/gone", world.Layers(layer), world.ConfigText("gone too"), world.Tag(uid(8)))
	mine := filepath.Join(w.dir, world.LayerLink("town/shares", layer.Digest))
	theirs := filepath.Join(w.dir, world.LayerLink("vi/ns/gone", layer.Digest))
	if err := errors.Join(os.Remove(mine), os.Symlink(theirs, mine)); err != nil {
		t.Fatal(err)
	}
	w.run(t, open(t, w.dir))
	ref := trial.Ref{Repository: "town/shares", Name: alive.Digest}
	if _, pulled := trial.Pullable(t, w.dir, []trial.Ref{ref})[ref]; !pulled {
		t.Errorf("%s can not be pulled", ref)
	}
}

// The tags of a living owner are lost in every way: its image stays.
func TestLostTagsOfALivingOwner(t *testing.T) {
	tags := world.RepositoryPath("vi/ns/alive") + "/_manifests/tags"
	for name, lose := range map[string]func(dir string) error{
		"the folder of tags": func(dir string) error { return os.RemoveAll(filepath.Join(dir, tags)) },
		"the tag":            func(dir string) error { return os.RemoveAll(filepath.Join(dir, tags, uid(1))) },
		"all in the tag's folder": func(dir string) error {
			return errors.Join(os.RemoveAll(filepath.Join(dir, tags, uid(1))), os.Mkdir(filepath.Join(dir, tags, uid(1)), 0o755))
		},
		"a file for the tag": func(dir string) error {
			path := filepath.Join(dir, tags, uid(1))
			return errors.Join(os.RemoveAll(path), os.WriteFile(path, nil, 0o644))
		},
		"a file for the tags": func(dir string) error {
			path := filepath.Join(dir, tags)
			return errors.Join(os.RemoveAll(path), os.WriteFile(path, nil, 0o644))
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newTown(t)
			digest := w.keep[2].Name // of vi/ns/alive, see newTown
			if err := lose(w.dir); err != nil {
				t.Fatal(err)
			}
			w.run(t, open(t, w.dir))
			ref := trial.Ref{Repository: "vi/ns/alive", Name: digest}
			if _, pulled := trial.Pullable(t, w.dir, []trial.Ref{ref})[ref]; !pulled {
				t.Errorf("%s can not be pulled", ref)
			}
		})
	}
}

// A manifest that names its config twice, the second time as null: the registry
// serves it and needs the config.
func TestConfigThatIsNullAtLast(t *testing.T) {
	w := newTown(t)
	plain := w.Image("town/twice", world.Layers(w.base), world.ConfigText("needed"))
	raw := []byte(strings.TrimSuffix(string(plain.Raw), "}") + `,"config":null}`)
	digest := w.Layer(string(raw)).Digest
	w.File(world.RevisionLink("town/twice", digest), digest)
	w.Tag("town/twice", "v1", digest)
	w.Remove(world.RevisionLink("town/twice", plain.Digest))
	w.run(t, open(t, w.dir))
	if _, err := os.Stat(filepath.Join(w.dir, world.BlobPath(plain.Config))); err != nil {
		t.Error(err)
	}
}

// Indexes that list one another many times over take no longer for it.
func TestDeepIndexes(t *testing.T) {
	w := newTown(t)
	child := w.Image("town/deep", world.Layers(w.base))
	for range 40 {
		child = w.Index("town/deep", []world.Image{child, child})
	}
	w.Tag("town/deep", "v1", child.Digest)
	w.Schema1("town/old", "v1")
	w.run(t, open(t, w.dir))
}
