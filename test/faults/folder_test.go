package faults

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	app "github.com/ebb-io/ebb/internal/app/registry"
	"github.com/ebb-io/ebb/internal/inventory"
	"github.com/ebb-io/ebb/internal/store/blob/fs"
	"github.com/ebb-io/ebb/internal/store/registry"
	"github.com/ebb-io/ebb/internal/testkit/trial"
	"github.com/ebb-io/ebb/internal/testkit/world"
)

// link makes a symbolic link below the repositories. A target that begins
// without a slash is relative.
func (w *town) link(t *testing.T, name, target string) {
	t.Helper()
	path := filepath.Join(w.dir, world.RepositoryPath(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, path); err != nil {
		t.Fatal(err)
	}
	w.left = append(w.left, world.RepositoryPath(name))
}

// outside moves a repository out of the storage and returns where it is.
func (w *town) outside(t *testing.T, repo string) string {
	t.Helper()
	target := filepath.Join(tempDir(t), "moved")
	if err := os.Rename(filepath.Join(w.dir, world.RepositoryPath(repo)), target); err != nil {
		t.Fatal(err)
	}
	return target
}

// also keeps an image, and its tag v1, under another name.
func (w *town) also(image world.Image, repo string) {
	w.keep = append(w.keep, trial.Ref{Repository: repo, Name: "v1"}, trial.Ref{Repository: repo, Name: image.Digest})
}

// TestSymbolicLinks has repositories behind links, as registries serve them.
func TestSymbolicLinks(t *testing.T) {
	t.Parallel()
	for _, c := range append(soundLinks, brokenLinks...) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newTown(t)
			w.survivesLinks(t, c.make(t, w))
		})
	}
}

// survivesLinks asks the server alone: the reading of files follows no links.
func (w *town) survivesLinks(t *testing.T, want []damage) {
	t.Helper()
	pullable := trial.Pullable(t, w.dir, w.keep)
	result := w.run(t, open(t, w.dir))
	w.told(t, result, want)
	pulled := trial.Pullable(t, w.dir, w.keep)
	for _, ref := range w.keep {
		if !pullable[ref] {
			t.Errorf("%s was never served", ref)
		}
		if !pulled[ref] {
			t.Errorf("a real server no longer serves %s", ref)
		}
	}
	w.proven(t, trial.Remember(nil), nil)
	w.idle(t)
}

var soundLinks = []condition{
	{"inside, another name for an image that nobody owns", func(t *testing.T, w *town) []damage {
		image := w.keeps(w.Image("vi/ns/other", world.Layers(w.base, w.Layer("other")), world.Tag("v1")), "v1")
		w.link(t, "apps/other", "../vi/ns/other")
		w.also(image, "apps/other")
		return nil
	}},
	{"inside, another name that is claimed too and owned", func(t *testing.T, w *town) []damage {
		image := w.keeps(w.Image("vi/ns/owned", world.Layers(w.base, w.Layer("owned")), world.Tag("v1")), "v1")
		w.link(t, "vi/ns/owner", "owned")
		w.also(image, "vi/ns/owner")
		w.owners += "---\n" + virtualImage("owner", uid(5))
		return nil
	}},
	{"outside, kept", func(t *testing.T, w *town) []damage {
		w.keeps(w.Image("apps/moved", world.Layers(w.base, w.Layer("moved")), world.Tag("v1")), "v1")
		w.link(t, "apps/moved", w.outside(t, "apps/moved"))
		return nil
	}},
	{"outside, its owner gone", func(t *testing.T, w *town) []damage {
		image := w.loses(w.Image("vi/ns/moved", world.Layers(w.base, w.Layer("moved")), world.Tag("v1")), "v1")
		w.link(t, "vi/ns/moved", w.outside(t, "vi/ns/moved"))
		w.gone = append(w.gone, world.BlobPath(image.Layers[1]))
		return nil
	}},
	{"two links to one target", func(t *testing.T, w *town) []damage {
		image := w.Image("vi/ns/one", world.Layers(w.base, w.Layer("twice")), world.Tag("v1"))
		target := w.outside(t, "vi/ns/one")
		w.link(t, "vi/ns/one", target)
		w.link(t, "apps/two", target)
		w.also(image, "vi/ns/one")
		w.also(image, "apps/two")
		return nil
	}},
	{"a folder of repositories", func(t *testing.T, w *town) []damage {
		w.keeps(w.Image("volume/a", world.Layers(w.base, w.Layer("a")), world.Tag("v1")), "v1")
		w.keeps(w.Image("volume/a/b", world.Layers(w.base, w.Layer("b")), world.Tag("v1")), "v1")
		w.link(t, "volume", w.outside(t, "volume"))
		return nil
	}},
	{"a loop: a link to its own repository", func(t *testing.T, w *town) []damage {
		image := w.keeps(w.Image("round", world.Layers(w.base, w.Layer("round")), world.Tag("v1")), "v1")
		w.link(t, "round/and", "../round")
		w.also(image, "round/and")
		return nil
	}},
}

// brokenLinks leave something unseen, so that no blob is proven to be garbage.
var brokenLinks = []condition{
	{"dangling", func(t *testing.T, w *town) []damage {
		w.link(t, "apps/unmounted", "/nowhere/at/all")
		w.gone = nil
		return []damage{{world.RepositoryPath("apps/unmounted"), inventory.NotListed}}
	}},
	{"to the folder of all repositories", func(t *testing.T, w *town) []damage {
		w.link(t, "apps/all", "..")
		w.gone = nil
		return []damage{{world.RepositoryPath("apps/all"), inventory.NotListed}}
	}},
	{"to itself", func(t *testing.T, w *town) []damage {
		w.link(t, "apps/self", "self")
		w.gone = nil
		return []damage{{world.RepositoryPath("apps/self"), inventory.NotListed}}
	}},
	{"one repository's layers behind another's", func(t *testing.T, w *town) []damage {
		w.keeps(w.Image("apps/shares", world.Layers(w.base), world.Tag("v1")), "v1")
		w.Image("apps/shared", world.Layers(w.base, w.Layer("shared")), world.Tag("v1"))
		w.RemoveLayersDir("apps/shared")
		w.link(t, "apps/shared/_layers", "../shares/_layers")
		w.gone = nil
		return []damage{{world.RepositoryPath("apps/shared/_layers"), inventory.NotListed}}
	}},
}

// TestRepositoriesNotMounted: blobs without a repository are refused.
func TestRepositoriesNotMounted(t *testing.T) {
	t.Parallel()
	for _, what := range []string{"missing", "empty"} {
		w := newTown(t)
		repositories := filepath.Join(w.dir, world.Root, "repositories")
		if err := os.Rename(repositories, repositories+".elsewhere"); err != nil {
			t.Fatal(err)
		}
		if what == "empty" {
			if err := os.Mkdir(repositories, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		before := trial.Tree(t, w.dir)
		_, err := unlimited(t, w.World, w.owners).Run(t.Context(), open(t, w.dir))
		if !errors.Is(err, app.ErrIncomplete) {
			t.Errorf("%s: error is %v, want an incomplete view", what, err)
		}
		if after := trial.Tree(t, w.dir); len(minus(before, after))+len(minus(after, before)) > 0 {
			t.Errorf("%s: a refused run changed the folder", what)
		}
	}
}

// TestNoRegistry: what is no registry's storage is left alone.
func TestNoRegistry(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]error{
		"": registry.ErrEmpty, "lost+found/x": registry.ErrEmpty,
		"photos/cat": registry.ErrNoRegistry, "repositories/a/_manifests/x": registry.ErrNoRegistry,
	} {
		dir := tempDir(t)
		if file != "" {
			world.New(world.Folder(dir)).File(file, "x")
		}
		w := world.New(world.Folder(dir))
		_, err := unlimited(t, w, richOwners(world.Digest("none"))).Run(t.Context(), open(t, dir))
		if !errors.Is(err, want) {
			t.Errorf("with %q the error is %v, want %v", file, err, want)
		}
	}
}

// meanwhile lets something happen just before the first deletion whose paths
// hold a text; without one, between the first two phases.
type meanwhile struct {
	*fs.Writable
	before string
	do     func()
	once   sync.Once
}

func (m *meanwhile) Delete(ctx context.Context, paths []string) []error {
	if m.before != "" && strings.Contains(strings.Join(paths, "\n"), m.before) {
		m.once.Do(m.do)
	}
	return m.Writable.Delete(ctx, paths)
}

func (m *meanwhile) Sync(ctx context.Context) error {
	if m.before == "" {
		m.once.Do(m.do)
	}
	return m.Writable.Sync(ctx)
}

// TestRaces has a registry that takes writes all the same, while the run
// deletes. What was pushed then is not harmed, and the run tells.
func TestRaces(t *testing.T) {
	t.Parallel()
	for _, race := range []struct {
		name, before string
		do           func(w *town)
		failures     bool
	}{
		{"19, new content lands between mark and sweep", "/blobs/", func(w *town) {
			w.keeps(w.Image("apps/new", world.Layers(w.Layer("brand new")), world.Tag("v1"), world.Age(0)), "v1")
		}, false},
		{"34, a tag moves while its history goes", "/index/", moveTag, true},
		{"34, a tag moves when its history is gone", "", moveTag, true},
		{"a push into a repository that goes whole", "/ns/gone/_manifests/revisions/", func(w *town) {
			w.keeps(w.Image("vi/ns/gone", world.Layers(w.Layer("a push")), world.Tag("new"), world.Age(0)), "new")
		}, true},
		{"a push while the folders of a repository go", "/ns/gone/_manifests/revisions/sha256/\n", func(w *town) {
			w.keeps(w.Image("vi/ns/gone", world.Layers(w.Layer("a late push")), world.Tag("new"), world.Age(0)), "new")
		}, true},
		{"49, somebody else deletes too", "/current/link", func(w *town) { w.RemoveRepository("vi/ns/gone") }, false},
	} {
		t.Run(race.name, func(t *testing.T) {
			t.Parallel()
			w := newTown(t)
			driver := &meanwhile{Writable: open(t, w.dir), before: race.before, do: func() {}}
			fired := false
			driver.do = func() { fired = true; race.do(w) }
			w.raced(t, driver, race.failures)
			if !fired {
				t.Error("nothing happened meanwhile")
			}
		})
	}
}

func moveTag(w *town) {
	w.keeps(w.Image("vi/ns/gone", world.Layers(w.Layer("moved to")), world.Tag(uid(9)), world.Age(0)), uid(9))
}

func (w *town) raced(t *testing.T, driver *meanwhile, failures bool) {
	t.Helper()
	result := w.run(t, driver)
	pulled := trial.Pullable(t, w.dir, w.keep)
	for _, ref := range w.keep {
		if !pulled[ref] {
			t.Errorf("a real server does not serve %s whole", ref)
		}
	}
	if got := len(result.Outcome.Failed) > 0; got != failures || sawDamage(result) != failures {
		t.Errorf("failed: %v", result.Outcome.Failed)
	}
}
