package usage

import (
	"slices"

	"github.com/ebb-io/ebb/internal/image"
	"github.com/ebb-io/ebb/internal/inventory"
	"github.com/ebb-io/ebb/internal/plan"
)

// meter walks over what sets of images need. A set is no set in memory: the
// images come set by set, and a mark on each content tells whether the set at
// hand was there before.
type meter struct {
	plan  *plan.Plan
	inv   *inventory.Inventory
	swept []bool // by blob: the plan deletes it

	round   uint32
	mark    []uint32 // by content: the round, of a repository's images in a set, that came last
	counted []uint32 // by content: the round that began the set that came last
}

func newMeter(p *plan.Plan) *meter {
	n := p.Inventory().Contents.Len()
	return &meter{plan: p, inv: p.Inventory(), swept: p.Swept(), mark: make([]uint32, n), counted: make([]uint32, n)}
}

// size of a blob; what is absent or could not be looked at counts nothing.
func (m *meter) size(id inventory.ID) int64 { return max(m.inv.Contents.At(id).Size, 0) }

// walk calls visit once for each content that a set of images needs, set by
// set in their order.
func (m *meter) walk(g *grouping, visit func(set int, id inventory.ID)) {
	set, begun := -1, uint32(0)
	var in *inventory.Repository
	for _, i := range g.order {
		r, id := m.plan.Image(i)
		if g.of[i] != set || r != in {
			m.round++
		}
		if g.of[i] != set {
			begun = m.round
		}
		set, in = g.of[i], r
		m.need(r, id, func(id inventory.ID) {
			if m.counted[id] != begun {
				m.counted[id] = begun
				visit(set, id)
			}
		})
	}
}

// need visits what an image needs, at any depth and under the digest that it
// lies under, but for the images of the same repository: those have needs of
// their own.
func (m *meter) need(r *inventory.Repository, id inventory.ID, visit func(inventory.ID)) {
	if m.mark[id] == m.round {
		return
	}
	m.mark[id] = m.round
	visit(id)
	for _, stored := range m.inv.Stored[id] {
		m.need(r, stored, visit)
	}
	manifest := m.inv.Manifests[id]
	if manifest == nil {
		return
	}
	for _, need := range manifest.Needs {
		if need.Role != image.Child || !m.holds(r, need.ID) {
			m.need(r, need.ID, visit)
		}
	}
}

// holds tells whether a manifest is an image of the repository.
func (m *meter) holds(r *inventory.Repository, id inventory.ID) bool {
	want := m.inv.Contents.Digest(id)
	_, found := slices.BinarySearchFunc(r.Images, want, func(i inventory.Image, want image.Digest) int {
		return m.inv.Contents.Digest(i.ID).Compare(want)
	})
	return found
}

// count is how many of the sets need each content.
func (m *meter) count(g *grouping) []uint32 {
	users := make([]uint32, m.inv.Contents.Len())
	m.walk(g, func(_ int, id inventory.ID) { users[id]++ })
	return users
}

// split divides every blob among the groups that need it.
func (m *meter) split(g *grouping) []Group {
	users := m.count(g)
	before := make([]uint32, len(users)) // by content: how many groups have had their part
	m.walk(g, func(set int, id inventory.ID) {
		size, n := m.size(id), int64(users[id])
		part := size / n
		if int64(before[id]) < size%n {
			part++
		}
		before[id]++
		m.add(&g.groups[set].Bytes, id, part, n > 1)
	})
	return m.withUnreferenced(g.groups, users)
}

func (m *meter) add(to *Bytes, id inventory.ID, part int64, shared bool) {
	to.Size += m.size(id)
	if shared {
		to.Shared += part
	} else {
		to.Exclusive += part
	}
	if int(id) < len(m.swept) && m.swept[id] {
		to.Reclaimable += part
	}
}

// withUnreferenced adds the group of the blobs that no image needs, where there
// are any.
func (m *meter) withUnreferenced(groups []Group, users []uint32) []Group {
	rest, found := Group{Class: Unreferenced}, false
	for i := range m.inv.Contents.Blobs() {
		if id := inventory.ID(i); users[id] == 0 {
			m.add(&rest.Bytes, id, m.size(id), false)
			found = true
		}
	}
	if !found {
		return groups
	}
	return append(groups, rest)
}

func (m *meter) totals(groups []Group) Totals {
	t := Totals{Images: len(m.plan.Decisions), Repositories: len(m.inv.Repositories), Blobs: m.inv.Contents.Blobs()}
	for i := range groups {
		g := &groups[i]
		t.Bytes += g.Bytes.Total()
		t.Shared += g.Bytes.Shared
		t.Reclaimable += g.Bytes.Reclaimable
		if g.Class == Unreferenced {
			t.Unreferenced = g.Bytes.Exclusive
		} else {
			t.Exclusive += g.Bytes.Exclusive
		}
	}
	for i := range m.inv.Repositories {
		for _, u := range m.inv.Repositories[i].Uploads {
			t.Uploads.Count++
			t.Uploads.Bytes += u.Size
		}
	}
	// What a plan frees is blobs and uploads, and nothing else.
	for _, u := range m.inv.Unfinished {
		t.Uploads.Count++
		t.Uploads.Bytes += u.Size
	}
	t.Uploads.Reclaimable = m.plan.Totals.ReclaimableBytes - t.Reclaimable
	return t
}
