package report_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/ebb-io/ebb/internal/plan"
	"github.com/ebb-io/ebb/internal/policy"
	"github.com/ebb-io/ebb/internal/refs"
	"github.com/ebb-io/ebb/internal/store/blob/mem"
	"github.com/ebb-io/ebb/internal/store/registry"
	"github.com/ebb-io/ebb/internal/testkit/world"
)

var now = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)

// planOf plans for a world in which things own the repositories below own/,
// and those that live are named.
func planOf(t testing.TB, fill func(*world.World), choices policy.Policy, alive ...string) *plan.Plan {
	t.Helper()
	driver := mem.New()
	fill(world.New(world.Mem(driver), world.At(now)))
	inv, err := registry.New(driver, nil).Snapshot(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	pattern, err := refs.ParsePattern("own/{name}")
	if err != nil {
		t.Fatal(err)
	}
	set := refs.Set{Rules: []refs.Rule{{Name: "things", Kind: "Thing", Repository: pattern, Objects: len(alive)}}}
	for _, name := range alive {
		set.Owners = append(set.Owners, refs.Owner{Values: refs.Values{Name: name}})
	}
	return plan.Build(plan.Input{Inventory: inv, Refs: refs.NewIndex(set), Policy: choices, Now: now})
}

// draw fills a world with images that share layers, of repositories with and
// without owners, and with what is left over.
func draw(t *rapid.T, w *world.World) {
	number := func(label string, most int) int { return rapid.IntRange(0, most).Draw(t, label) }
	repository := func() string {
		return rapid.SampledFrom([]string{"own/a", "own/b", "own/c", "own/d/e", "free/x", "own/a/nested"}).Draw(t, "repository")
	}
	var layers []world.Blob
	for i := range 6 {
		layers = append(layers, w.Layer(world.Random(uint64(i), 1+number("size", 5000))))
	}
	for i := range number("images", 8) {
		options := []world.Option{world.ConfigText(fmt.Sprint(i)), world.Layers(layers[number("layer", 5)], layers[number("layer", 5)])}
		if rapid.Bool().Draw(t, "tagged") {
			options = append(options, world.Tag(fmt.Sprint("v", i)))
		}
		if rapid.Bool().Draw(t, "young") {
			options = append(options, world.Age(time.Minute))
		}
		image := w.Image(repository(), options...)
		switch number("more", 5) {
		case 0:
			w.Push(repository(), image, world.Tag("copy"))
		case 1:
			w.Index(image.Repository, []world.Image{image}, world.Tag("index"))
		case 2:
			w.CosignTag(image.Repository, image.Digest, ".sig")
		}
	}
	for i := range number("uploads", 3) {
		w.Upload(repository(), fmt.Sprint("upload", i), now.Add(-time.Duration(number("days", 20))*24*time.Hour), world.Random(99, number("bytes", 900)))
	}
	for i := range number("orphans", 3) {
		w.OrphanBlob(world.Random(uint64(200+i), 100))
	}
}

// drawPlan is a plan of any choices.
func drawPlan(t *rapid.T, tb testing.TB) *plan.Plan {
	choices := policy.Default()
	choices.DeleteUntagged = rapid.Bool().Draw(t, "delete-untagged")
	choices.Confirmed = rapid.Bool().Draw(t, "confirmed")
	if rapid.Bool().Draw(t, "any age") {
		choices.MinAge = 0
	}
	alive := rapid.SliceOfDistinct(rapid.SampledFrom([]string{"a", "b", "c"}), rapid.ID[string]).Draw(t, "alive")
	return planOf(tb, func(w *world.World) { draw(t, w) }, choices, alive...)
}
