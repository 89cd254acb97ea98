package faults

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	app "github.com/ebb-io/ebb/internal/app/registry"
	"github.com/ebb-io/ebb/internal/store/blob/fault"
	"github.com/ebb-io/ebb/internal/store/blob/mem"
	"github.com/ebb-io/ebb/internal/store/registry"
	"github.com/ebb-io/ebb/internal/testkit/trial"
	"github.com/ebb-io/ebb/internal/testkit/world"
)

// sample writes a few repositories that share content, with an index, a
// signature and a layer of a long digest.
func sample(w *world.World) {
	base := w.Layer("base")
	for r := range 3 {
		repo := []string{"a", "a/b", "c"}[r]
		child := w.Image(repo, world.Layers(base, w.Layer(repo)), world.ConfigText(repo), world.Tag("v1"))
		index := w.Index(repo, []world.Image{child}, world.Tag("multi"))
		w.CosignTag(repo, index.Digest, ".sig")
	}
	w.Image("c", world.Layers(w.Layer("long", world.SHA512Alias)), world.Tag("long"))
}

// ruinAtRandom does to any files what disks, crashes and people do.
func ruinAtRandom(t *rapid.T, w *world.World) {
	for i := range rapid.IntRange(1, 12).Draw(t, "damages") {
		files := w.Files()
		if len(files) == 0 {
			return
		}
		file := rapid.SampledFrom(files).Draw(t, fmt.Sprint("file ", i))
		other := rapid.SampledFrom(files).Draw(t, fmt.Sprint("other ", i))
		switch rapid.IntRange(0, 6).Draw(t, fmt.Sprint("what ", i)) {
		case 0:
			w.Remove(file)
		case 1:
			w.Rewrite(file, "")
		case 2:
			w.Rewrite(file, "sha256:12")
		case 3:
			w.Rewrite(file, strings.Repeat("\x00", 71))
		case 4:
			w.File(file, world.Digest(other))
		case 5:
			w.File(file+uuid, "left", world.Age(time.Duration(i)*12*time.Hour))
		case 6:
			w.RemoveDir(file[:strings.LastIndex(file, "/")])
		}
	}
}

// TestRepairAtRandom: whatever was done to a storage, what was whole is whole
// after a repair, nothing but links is written and each with the digest of its
// path, and a second repair finds nothing; at half of its writes a crash comes
// between.
func TestRepairAtRandom(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		store := mem.New()
		w := world.New(world.Mem(store))
		sample(w)
		ruinAtRandom(rt, w)
		before := trial.Remember(memView(t, store))
		d := damages(w.Now())
		d.MaxDeleteShare = 100
		driver := fault.NewMender(store.Writable(), fault.CrashAtDelete(rapid.IntRange(1, 20).Draw(rt, "crash")))
		if _, err := mend(t, driver, d); err != nil && !driver.Fired() && !errors.Is(err, app.ErrIncomplete) {
			rt.Fatalf("repair: %v", err)
		}
		mended(rt, before, memView(t, store))
		result, err := mend(t, store.Writable(), d)
		if errors.Is(err, app.ErrIncomplete) || errors.Is(err, registry.ErrEmpty) {
			return // a whole half of the storage is gone
		}
		if err != nil || len(result.Failed) > 0 {
			rt.Fatalf("repair: %v, failed: %v", err, result.Failed)
		}
		mended(rt, before, memView(t, store))
		p, err := app.PlanRepair(t.Context(), registry.New(store, nil), d)
		if err != nil && !errors.Is(err, app.ErrIncomplete) && !errors.Is(err, registry.ErrEmpty) {
			rt.Fatal(err)
		}
		if p != nil {
			for _, a := range p.Actions {
				rt.Errorf("the second repair would %s %s: %s", a.Kind, a.Path, a.Reason)
			}
		}
	})
}
