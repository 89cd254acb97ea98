package plan

import (
	"iter"
	"slices"

	"github.com/ebb-io/ebb/internal/inventory"
)

// Stays tells of an item whether it must not be deleted although the decisions
// would allow it: a stored plan does not name it, or its deletion failed. A nil
// Stays lets everything go.
type Stays func(inventory.Item) bool

// Steps are the items to delete, in phases of which each must be done before
// the next begins: tags, then manifests with what points at others before what
// it points at, then layer links, manifests' blobs, other blobs, uploads (those
// in parts first) and empty repositories.
//
// Whatever stays keeps all it needs. The number of phases and their meaning do
// not depend on stays, so that a run can ask again after a failure and go on
// with the phase it was at.
func (p *Plan) Steps(stays Stays) [][]inventory.Item {
	phases := make([][]inventory.Item, p.phases())
	p.sweep(stays, func(phase int, item inventory.Item) { phases[phase] = append(phases[phase], item) })
	return phases
}

// Deletions are the steps without residue: what a person would miss or count.
func (p *Plan) Deletions(stays Stays) [][]inventory.Item {
	phases := p.Steps(stays)
	for i := range phases {
		phases[i] = slices.DeleteFunc(phases[i], func(item inventory.Item) bool { return item.Residue })
	}
	return phases
}

// Items are those of Deletions, one by one and in no order of time: a list of a
// million would take more room than the plan.
func (p *Plan) Items() iter.Seq[inventory.Item] {
	return func(yield func(inventory.Item) bool) {
		more := true
		p.sweep(nil, func(_ int, item inventory.Item) {
			more = more && (item.Residue || yield(item))
		})
	}
}

// Swept tells of each blob, by its ID, whether the plan deletes it.
func (p *Plan) Swept() []bool {
	swept := make([]bool, p.inv.Contents.Blobs())
	for item := range p.Items() {
		if item.Kind != inventory.Blob && item.Kind != inventory.ManifestBlob {
			continue
		}
		if id, ok := p.inv.Contents.Find(item.Digest); ok && int(id) < len(swept) {
			swept[id] = true
		}
	}
	return swept
}

// Nothing tells whether the plan deletes nothing at all, residue included.
func (p *Plan) Nothing() bool {
	nothing := true
	p.sweep(nil, func(int, inventory.Item) { nothing = false })
	return nothing
}

// phases is how many there are: a tag's three, one for each level of
// revisions, then links, two kinds of blobs, two of uploads and repositories.
func (p *Plan) phases() int { return 3 + p.depth + 6 }

// sweep tells emit every item and its phase, in order within a phase.
func (p *Plan) sweep(stays Stays, emit func(phase int, item inventory.Item)) {
	stays = either(p.stays, stays)
	n := p.inv.Contents.Len()
	s := &sweep{
		Plan: p, stays: stays, tell: emit, standing: p.standing(stays),
		needed: make([]bool, n), mark: make([]uint32, n),
	}
	s.tags()
	s.revisions()
	s.repositories()
	s.blobs()
	s.unfinished()
}

func either(a, b Stays) Stays {
	return func(item inventory.Item) bool { return (a != nil && a(item)) || (b != nil && b(item)) }
}

// standing marks the images that remain: the kept ones, those that something
// stops from going, and all that either points at.
func (p *Plan) standing(stays Stays) []bool {
	standing := make([]bool, len(p.nodes))
	var open []int
	for n := range p.nodes {
		if !p.Decisions[n].Delete {
			standing[n] = true
		} else if p.stopped(n, stays) {
			standing[n] = true
			open = append(open, n)
		}
	}
	for len(open) > 0 {
		n := open[len(open)-1]
		open = open[:len(open)-1]
		for _, target := range p.targets(n) {
			if !standing[target] {
				standing[target] = true
				open = append(open, target)
			}
		}
	}
	return standing
}

func (p *Plan) stopped(n int, stays Stays) bool {
	r, d := &p.repos[p.nodes[n].repo], &p.Decisions[n]
	if stays(revisionOf(d)) {
		return true
	}
	return slices.ContainsFunc(p.nodes[n].tags, func(t int) bool {
		return slices.ContainsFunc(tagItems(r, r.Tags[t], d.Digest), stays)
	})
}
