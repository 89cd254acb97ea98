package laws

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	app "github.com/ebb-io/ebb/internal/app/registry"
	"github.com/ebb-io/ebb/internal/plan"
	"github.com/ebb-io/ebb/internal/store/blob/fault"
	"github.com/ebb-io/ebb/internal/store/registry"
	"github.com/ebb-io/ebb/internal/store/registry/manifestcache"
)

// A plan made with a cache is the plan made without one, whatever happened to
// the cache's files: an empty cache, one of this storage, one of others as
// well, one that is damaged.
func TestACacheChangesNoPlan(t *testing.T) {
	const smallest = 32 << 10 // packs of a few manifests
	top, worlds, hits := t.TempDir(), 0, 0
	rapid.Check(t, func(t *rapid.T) {
		worlds++
		dir := filepath.Join(top, fmt.Sprint(worlds))
		s, other := drawSample(t, true), drawSample(t, true)
		want := check(t, s.store.ReadOnly(), s)
		sound := len(want.Inventory().Problems) == 0
		for session := range 4 {
			cache, err := manifestcache.Open(dir, smallest)
			if err != nil {
				t.Fatal(err)
			}
			if rapid.Bool().Draw(t, "another storage") {
				cachedPlan(t, other, cache)
			}
			got, reads := cachedPlan(t, s, cache)
			if diff := cmp.Diff(everything(want), everything(got), cmp.Comparer(sameDigest)); diff != "" {
				t.Fatalf("session %d:\n%s", session, diff)
			}
			if sound && session == 1 && reads.cached > 0 {
				hits++
			}
			if err := cache.Close(); err != nil {
				t.Fatal(err)
			}
			if session > 0 { // the second finds what the first has left
				damageCache(t, dir)
			}
		}
	})
	if !t.Failed() && hits == 0 {
		t.Errorf("in %d worlds the cache had nothing", worlds)
	}
}

type readCounts struct{ cached int }

func cachedPlan(t *rapid.T, s sample, cache *manifestcache.Cache) (*plan.Plan, readCounts) {
	progress := &registry.Progress{}
	store := registry.New(fault.NewReader(s.store), progress).WithCache(cache)
	p, err := app.Check(context.Background(), store, s.request())
	if err != nil && !errors.Is(err, registry.ErrEmpty) && !errors.Is(err, app.ErrIncomplete) {
		t.Fatal(err)
	}
	return p, readCounts{cached: int(progress.Look().Cached)}
}

// everything is all that a plan says and does.
func everything(p *plan.Plan) any {
	return []any{p.Decisions, p.Inventory().Problems, p.Names()}
}

// damageCache does to a file of the cache what disks, people and other programs
// do. Files have random names, so it is told by its size which one.
func damageCache(t *rapid.T, dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) == 0 {
		return
	}
	slices.SortFunc(entries, func(a, b os.DirEntry) int {
		one, _ := a.Info()
		other, _ := b.Info()
		return int(one.Size() - other.Size())
	})
	name := filepath.Join(dir, entries[rapid.IntRange(0, len(entries)-1).Draw(t, "damaged file")].Name())
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	how, at := rapid.IntRange(0, 4).Draw(t, "how"), rapid.IntRange(0, max(len(data)-1, 0)).Draw(t, "where")
	switch {
	case how == 0 || len(data) == 0:
		err = os.Remove(name)
	case how == 1:
		err = os.Truncate(name, int64(at))
	case how == 2:
		data[at] ^= byte(rapid.IntRange(1, 255).Draw(t, "flip"))
	case how == 3:
		data = append([]byte("something else"), data...)
	default: // content moves: records under others' names
		copy(data[at:], data)
	}
	if how > 1 && err == nil {
		err = os.WriteFile(name, data, 0o600)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
}
