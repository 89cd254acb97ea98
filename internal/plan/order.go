package plan

import (
	"slices"

	"github.com/ebb-io/ebb/internal/image"
)

// targets are the images that must outlive this one: what its manifest names,
// and the images that its tags say it describes.
func (p *Plan) targets(n int) []int {
	found := p.namedBy(n)
	r := &p.repos[p.nodes[n].repo]
	for _, t := range p.nodes[n].tags {
		if s, ok := image.AttachedTo(r.Tags[t].Name); ok {
			found = append(found, p.subjects[s]...)
		}
	}
	return slices.DeleteFunc(found, func(target int) bool { return target == n })
}

// namedBy are the children that an index lists, and the image that a manifest
// calls its subject. Digests make a circle of them impossible.
func (p *Plan) namedBy(n int) []int {
	m := p.inv.Manifests[p.nodes[n].ID]
	if m == nil {
		return nil
	}
	r := &p.repos[p.nodes[n].repo]
	var found []int
	for _, need := range m.Needs {
		if need.Role != image.Child {
			continue
		}
		if child := findNode(r, p.inv.Contents, need.ID); child != none {
			found = append(found, child)
		}
	}
	if m.HasSubject {
		found = append(found, p.subjects[p.inv.Contents.Digest(m.Subject).Subject()]...)
	}
	return found
}

// order gives each image that goes its level: 0 for one that no manifest
// names, else one more than the deepest that does. Tags do not count, as all of
// them are gone before the first image goes, and they can point in a circle.
func (p *Plan) order() (levels []int, depth int) {
	levels = make([]int, len(p.nodes))
	incoming := make([]int, len(p.nodes))
	var open []int
	for n := range p.nodes {
		if p.Decisions[n].Delete {
			for _, target := range p.namedBy(n) {
				incoming[target]++
			}
		}
	}
	for n := range p.nodes {
		if p.Decisions[n].Delete && incoming[n] == 0 {
			open = append(open, n)
		}
	}
	depth = 1
	for len(open) > 0 {
		n := open[0]
		open = open[1:]
		for _, target := range p.namedBy(n) {
			levels[target] = max(levels[target], levels[n]+1)
			depth = max(depth, levels[target]+1)
			if incoming[target]--; incoming[target] == 0 && p.Decisions[target].Delete {
				open = append(open, target)
			}
		}
	}
	return levels, depth
}
