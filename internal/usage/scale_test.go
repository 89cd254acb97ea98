package usage_test

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
	"github.com/ebb-io/ebb/internal/usage"
)

var clock = time.Date(2026, time.March, 1, 0, 0, 0, 0, time.UTC)

// layersOf is how many layers each image of the large registry brings; with its
// config and manifest that makes ten blobs.
const layersOf = 8

// large plans for a registry of images that bring ten blobs each, in
// repositories of a hundred. Each image also has the layers of the one before
// it, so that every layer is shared: no registry has more to list.
func large(images int) *plan.Plan {
	old := inventory.TimeOf(clock.Add(-365 * 24 * time.Hour))
	blobs := make([]inventory.Content, 0, images*(layersOf+2))
	for n := range images * (layersOf + 2) {
		blobs = append(blobs, inventory.Content{Digest: numbered(n), Size: int64(1000 + n%7), ModTime: old})
	}
	inv := &inventory.Inventory{
		Contents: inventory.NewContents(blobs, nil), Manifests: make(map[inventory.ID]*inventory.Manifest, images),
	}
	for n := range images {
		if n%100 == 0 {
			inv.Repositories = append(inv.Repositories, inventory.Repository{Name: fmt.Sprintf("team/repository-%05d", n/100)})
		}
		addImage(inv, n, old)
	}
	choices := policy.Default()
	choices.DeleteUntagged = true
	return plan.Build(plan.Input{Inventory: inv, Refs: refs.NewIndex(refs.Set{}), Policy: choices, Now: clock})
}

func addImage(inv *inventory.Inventory, n int, old inventory.Time) {
	r := &inv.Repositories[len(inv.Repositories)-1]
	id := inventory.ID(n * (layersOf + 2)) // blobs have their IDs in the digests' order
	m := &inventory.Manifest{MediaType: "application/vnd.oci.image.manifest.v1+json"}
	m.Needs = append(m.Needs, inventory.Need{ID: id + 1, Role: image.Config})
	for i := range inventory.ID(layersOf) {
		m.Needs = append(m.Needs, inventory.Need{ID: id + 2 + i, Role: image.Layer})
		if n > 0 {
			m.Needs = append(m.Needs, inventory.Need{ID: id - layersOf + i, Role: image.Layer})
		}
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

// Measuring a million blobs in 100,000 images, every layer of which is shared,
// takes at most 48 MiB beside the plan: for each content two marks, two counts
// and a few flags, in all some twenty bytes, for each shared layer its number,
// and for each image a few numbers and its place in the lists.
func TestMemoryOfAMillionBlobs(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(5)) // so that what is in use is what is needed
	p := large(100_000)
	if p.Totals.Delete != 50_000 || p.Inventory().Contents.Blobs() != 1_000_000 {
		t.Fatalf("a strange plan: %+v", p.Totals)
	}
	for _, by := range []usage.By{usage.Repository, usage.MediaType} {
		runtime.GC()
		before := heap.InUse()
		var u *usage.Usage
		peak := heap.Peak(func() { u = usage.Of(p, by, 10) })
		const limit = 48 << 20
		t.Logf("by %s: %d MiB", by, (peak-before)>>20)
		if peak-before > limit {
			t.Errorf("by %s: %d bytes were in use, the limit is %d", by, peak-before, limit)
		}
		if u.Totals.Bytes != p.Totals.Bytes || len(u.Layers.Items)+u.Layers.More != 8*100_000-8 {
			t.Errorf("by %s: a strange usage: %+v", by, u.Totals)
		}
		runtime.KeepAlive(p)
	}
}

func BenchmarkOf(b *testing.B) {
	p := large(10_000)
	b.ReportAllocs()
	for b.Loop() {
		usage.Of(p, usage.Repository, 10)
	}
}
