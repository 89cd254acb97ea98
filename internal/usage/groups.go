package usage

import (
	"cmp"
	"slices"

	"github.com/ebb-io/ebb/internal/plan"
)

// grouping is a division of all images into sets.
type grouping struct {
	groups []Group // by name, then class
	of     []int   // by image: its group
	order  []int   // the images, group by group, by repository and digest in each
}

// key names a group.
type key struct {
	class Class
	name  string
}

// grouping divides the images by what their group is called.
func (m *meter) grouping(by By) *grouping {
	n := len(m.plan.Decisions)
	g := &grouping{of: make([]int, n), order: make([]int, n)}
	at := map[key]int{}
	for i := range n {
		k := keyOf(m.plan, i, by)
		found, ok := at[k]
		if !ok {
			found = len(g.groups)
			at[k] = found
			g.groups = append(g.groups, Group{Class: k.class, Name: k.name})
		}
		g.groups[found].Images++
		g.of[i], g.order[i] = found, i
	}
	g.sort()
	return g
}

// sort brings the groups into the order of their names, which decides who bears
// what a division leaves over.
func (g *grouping) sort() {
	groups := make([]int, len(g.groups))
	for i := range groups {
		groups[i] = i
	}
	slices.SortFunc(groups, func(a, b int) int { return byName(g.groups[a], g.groups[b]) })
	rank := make([]int, len(groups))
	ordered := make([]Group, len(groups))
	for i, old := range groups {
		rank[old], ordered[i] = i, g.groups[old]
	}
	for i := range g.of {
		g.of[i] = rank[g.of[i]]
	}
	g.groups = ordered
	slices.SortStableFunc(g.order, func(a, b int) int { return cmp.Compare(g.of[a], g.of[b]) })
}

func byName(a, b Group) int {
	return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Class, b.Class))
}

// alone makes each image a set of its own.
func (m *meter) alone() *grouping {
	n := len(m.plan.Decisions)
	g := &grouping{of: make([]int, n)}
	for i := range n {
		g.of[i] = i
	}
	g.order = g.of
	return g
}

// keyOf names an image's group. A media type is that of the image's manifest,
// not that of its layers: it tells images from indexes, as registries do.
func keyOf(p *plan.Plan, i int, by By) key {
	d := &p.Decisions[i]
	switch by {
	case Repository:
		return key{Named, d.Repository}
	case MediaType:
		return named(d.MediaType, NotUnderstood)
	}
	owner, owned := p.Owner(i)
	switch {
	case !owned:
		return key{class: NoOwner}
	case by == Kind:
		return key{Named, owner.Kind}
	case by == Namespace:
		return named(owner.Namespace, NoNamespace)
	}
	return key{Named, owner.String()}
}

func named(name string, otherwise Class) key {
	if name == "" {
		return key{class: otherwise}
	}
	return key{Named, name}
}

// sorted orders groups by what they bear.
func sorted(groups []Group) []Group {
	slices.SortFunc(groups, func(a, b Group) int {
		return cmp.Or(cmp.Compare(b.Bytes.Total(), a.Bytes.Total()), byName(a, b))
	})
	return groups
}
