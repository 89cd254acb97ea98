package plan_test

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	"github.com/ebb-io/ebb/internal/image"
	"github.com/ebb-io/ebb/internal/inventory"
	"github.com/ebb-io/ebb/internal/plan"
	"github.com/ebb-io/ebb/internal/policy"
	"github.com/ebb-io/ebb/internal/refs"
	"github.com/ebb-io/ebb/internal/testkit/heap"
)

var clock = time.Date(2026, time.March, 1, 0, 0, 0, 0, time.UTC)

// layersOf is how many layers each image of the large registry has; with its
// config and manifest that makes ten blobs.
const layersOf = 8

// large is a registry of images with ten blobs each, in repositories of a
// hundred, half of them tagged.
func large(images int) *inventory.Inventory {
	blobs := make([]inventory.Content, 0, images*(layersOf+2))
	old := inventory.TimeOf(clock.Add(-365 * 24 * time.Hour))
	for n := range images * (layersOf + 2) {
		blobs = append(blobs, inventory.Content{Digest: numbered(n), Size: 1000, ModTime: old})
	}
	inv := &inventory.Inventory{
		Contents:  inventory.NewContents(blobs, nil),
		Manifests: make(map[inventory.ID]*inventory.Manifest, images),
	}
	for n := range images {
		if n%100 == 0 {
			inv.Repositories = append(inv.Repositories, inventory.Repository{Name: fmt.Sprintf("team/repository-%05d", n/100)})
		}
		addImage(inv, n, old)
	}
	return inv
}

func addImage(inv *inventory.Inventory, n int, old inventory.Time) {
	r := &inv.Repositories[len(inv.Repositories)-1]
	first := n * (layersOf + 2)
	id := inv.Contents.Intern(numbered(first))
	m := &inventory.Manifest{MediaType: "application/vnd.oci.image.manifest.v1+json"}
	for i := 1; i < layersOf+2; i++ {
		need := inv.Contents.Intern(numbered(first + i))
		m.Needs = append(m.Needs, inventory.Need{ID: need, Role: image.Layer, Size: 1000})
		r.Layers = append(r.Layers, inventory.Link{ID: need, ModTime: old})
	}
	inv.Manifests[id] = m
	r.Images = append(r.Images, inventory.Image{ID: id, Linked: true, ModTime: old})
	if n%2 == 0 {
		r.Tags = append(r.Tags, inventory.Tag{Name: fmt.Sprintf("v%d", n), Target: id, Read: true, ModTime: old})
	}
}

// numbered is a digest that grows with its number.
func numbered(n int) image.Digest {
	var hex [32]byte
	binary.BigEndian.PutUint64(hex[:], uint64(n))
	d, err := image.ParseDigest(fmt.Sprintf("sha256:%x", hex))
	if err != nil {
		panic(err)
	}
	return d
}

func build(inv *inventory.Inventory) *plan.Plan {
	p := policy.Default()
	p.DeleteUntagged = true
	return plan.Build(plan.Input{Inventory: inv, Refs: refs.NewIndex(refs.Set{}), Policy: p, Now: clock})
}

// One million blobs in 100,000 images take less than 200 MiB at any time, with
// the inventory and the plan both in memory.
func TestMemoryOfAMillionBlobs(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(5)) // so that what is in use is what is needed
	before := heap.InUse()
	inv := large(100_000)
	runtime.GC()
	peak := heap.Peak(func() {
		if p := build(inv); p.Totals.Delete != 50_000 || inv.Contents.Blobs() != 1_000_000 {
			t.Errorf("a strange plan: %+v", p.Totals)
		}
	})
	const limit = 200 << 20
	t.Logf("%d MiB", (peak-before)>>20)
	if peak-before > limit {
		t.Errorf("%d bytes were in use, the limit is %d", peak-before, limit)
	}
}

func BenchmarkBuild(b *testing.B) {
	inv := large(10_000)
	b.ReportAllocs()
	for b.Loop() {
		build(inv)
	}
}
