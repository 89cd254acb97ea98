package registry_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	app "github.com/ebb-io/ebb/internal/app/registry"
	"github.com/ebb-io/ebb/internal/demo/server"
	"github.com/ebb-io/ebb/internal/execute/guard"
	"github.com/ebb-io/ebb/internal/policy"
	"github.com/ebb-io/ebb/internal/store/blob/fs"
	"github.com/ebb-io/ebb/internal/testkit/world"
)

// A real pull-through cache refuses pushes and writes what is pulled: by its
// answer alone, before it has left its schedule in the storage.
func TestRunningCacheIsRefused(t *testing.T) {
	dir, elsewhere := t.TempDir(), t.TempDir()
	w := town(dir, "apps/a")
	town(elsewhere, "apps/a")
	origin, err := server.Start(t.Context(), elsewhere, server.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = origin.Close() })
	if _, err := guardedBy(t, dir, dir, w, server.Options{Caches: origin.URL()}); !errors.Is(err, guard.ErrUnproven) {
		t.Errorf("a pull-through cache: %v", err)
	}
}

// guarded runs on a folder under the guard of a read-only registry on another
// folder, which may be the same.
func guarded(t *testing.T, dir, served string, w *world.World) (*app.Result, error) {
	t.Helper()
	return guardedBy(t, dir, served, w, server.Options{ReadOnly: true})
}

func guardedBy(t *testing.T, dir, served string, w *world.World, options server.Options) (*app.Result, error) {
	t.Helper()
	s, err := server.Start(t.Context(), served, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	g, err := guard.New(s.URL())
	if err != nil {
		t.Fatal(err)
	}
	driver, err := fs.OpenWritable(dir)
	if err != nil {
		t.Fatal(err)
	}
	p := policy.Default()
	p.DeleteUntagged = true
	return app.Run(t.Context(), driver, nil, app.RunRequest{
		Request: app.Request{Owners: nobody, Policy: p, Now: w.Now()},
		Access:  app.Access{Guards: []*guard.Guard{g}}, Clock: func() time.Time { return w.Now() },
	})
}

// town writes repositories with a tagged image each and an untagged one.
func town(dir string, repositories ...string) *world.World {
	w := world.New(world.Folder(dir))
	for _, repository := range repositories {
		w.Image(repository, world.ConfigText(repository), world.Layers(w.Layer("a layer of "+repository)), world.Tag("v1"))
		w.Image(repository, world.ConfigText(repository+" untagged"))
	}
	return w
}

func TestRunUnderGuard(t *testing.T) {
	dir := t.TempDir()
	w := town(dir, "apps/a", "apps/b")
	result, err := guarded(t, dir, dir, w)
	if err != nil || result.Outcome.Deleted.Manifests != 2 || !result.Guarded {
		t.Errorf("%+v, %v", result, err)
	}
}

// A registry that answers for some images only serves another storage, such as
// an older copy: nothing goes.
func TestCopyIsNotTheStorage(t *testing.T) {
	dir, older := t.TempDir(), t.TempDir()
	w := town(dir, "apps/a", "apps/b", "apps/c")
	town(older, "apps/a", "apps/b")
	before := tree(t, dir)
	_, err := guarded(t, dir, older, w)
	if !errors.Is(err, guard.ErrUnproven) {
		t.Errorf("under the registry of an older copy: %v", err)
	}
	if after := tree(t, dir); before != after {
		t.Errorf("something went:\n%s\n\n%s", before, after)
	}
}

// A pull-through cache writes although it is read-only.
func TestCacheIsRefused(t *testing.T) {
	dir := t.TempDir()
	w := town(dir, "apps/a")
	w.File("scheduler-state.json", "{}")
	before := tree(t, dir)
	_, err := guarded(t, dir, dir, w)
	if !errors.Is(err, guard.ErrWritable) || !strings.Contains(err.Error(), "pull-through") {
		t.Errorf("a pull-through cache: %v", err)
	}
	if after := tree(t, dir); before != after {
		t.Errorf("something went:\n%s\n\n%s", before, after)
	}
}

// Everything may go: then the registry is recognized before the first deletion.
func TestRunThatKeepsNothing(t *testing.T) {
	dir := t.TempDir()
	w := world.New(world.Folder(dir))
	w.Image("apps/a", world.ConfigText("untagged"))
	result, err := guarded(t, dir, dir, w)
	if !errors.Is(err, app.ErrLimit) {
		t.Fatalf("all images would go: %v", err)
	}
	if result.Outcome.Deleted.Manifests != 0 {
		t.Error("over the limit, and something went")
	}
}

// A storage without an image can not be recognized: blobs alone prove nothing.
func TestStorageWithoutImages(t *testing.T) {
	dir := t.TempDir()
	w := town(dir, "apps/a")
	bare := t.TempDir()
	world.New(world.Folder(bare)).Upload("apps/a", "upload", w.Now().Add(-365*24*time.Hour), "data")
	_, err := guarded(t, bare, dir, w)
	if !errors.Is(err, guard.ErrUnproven) {
		t.Errorf("a storage with an upload alone: %v", err)
	}
}

func tree(t *testing.T, dir string) string {
	t.Helper()
	var all []string
	err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		all = append(all, path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(all, "\n")
}
