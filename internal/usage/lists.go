package usage

import (
	"cmp"
	"math"
	"slices"

	"github.com/ebb-io/ebb/internal/image"
	"github.com/ebb-io/ebb/internal/inventory"
	"github.com/ebb-io/ebb/internal/plan"
)

// biggest are the images that need the most for themselves.
func biggest(p *plan.Plan, top int) List[*plan.Decision] {
	all := make([]*plan.Decision, len(p.Decisions))
	for i := range p.Decisions {
		all[i] = &p.Decisions[i]
	}
	slices.SortStableFunc(all, func(a, b *plan.Decision) int { return cmp.Compare(SizeOf(b), SizeOf(a)) })
	return first(all, top)
}

// SizeOf is what an image needs for itself, in bytes: its manifest, config and
// layers.
func SizeOf(d *plan.Decision) int64 { return d.Bytes.Exclusive + d.Bytes.Shared }

// layers are those that save the most by being shared.
func (m *meter) layers(top int) List[Layer] {
	images := m.count(m.alone())
	var found []inventory.ID
	for id, is := range m.areLayers() {
		if is && images[id] > 1 {
			found = append(found, inventory.ID(id))
		}
	}
	saved := func(id inventory.ID) int64 { return times(m.size(id), int64(images[id])-1) }
	slices.SortFunc(found, func(a, b inventory.ID) int {
		return cmp.Or(cmp.Compare(saved(b), saved(a)), cmp.Compare(a, b)) // blobs have their IDs in the digests' order
	})
	some := first(found, top)
	repositories := m.count(m.grouping(Repository))
	list := List[Layer]{More: some.More}
	for _, id := range some.Items {
		list.Items = append(list.Items, Layer{
			Digest: m.inv.Contents.Digest(id), Size: m.size(id), Saved: saved(id),
			Images: int(images[id]), Repositories: int(repositories[id]),
		})
	}
	return list
}

// areLayers tells of each blob whether a manifest has it as a layer.
func (m *meter) areLayers() []bool {
	are := make([]bool, m.inv.Contents.Len())
	for _, manifest := range m.inv.Manifests {
		for _, need := range manifest.Needs {
			if need.Role != image.Layer {
				continue
			}
			are[need.ID] = true
			for _, stored := range m.inv.Stored[need.ID] {
				are[stored] = true
			}
		}
	}
	return are[:m.inv.Contents.Blobs()]
}

// times multiplies sizes; a sparse file can be of any size, and what is too
// much for a number is as much as a number can hold.
func times(size, n int64) int64 {
	if n > 0 && size > math.MaxInt64/n {
		return math.MaxInt64
	}
	return size * n
}
