package plan

import (
	"fmt"
	"strings"

	"github.com/ebb-io/ebb/internal/image"
	"github.com/ebb-io/ebb/internal/reason"
)

// settle finds what is kept: the roots, all they need, and what describes it.
//
// What describes an image goes only when it is proven that no repository will
// hold that image. So all of it counts as kept at first, and what lost its
// subject is dropped in rounds until nothing changes: two that describe each
// other stay.
func (b *builder) settle() {
	for {
		b.spread()
		if !b.dropOrphans() {
			return
		}
	}
}

// spread marks everything reachable from the roots.
func (b *builder) spread() {
	b.kept = make([]bool, len(b.nodes))
	b.why = make([]reason.Reason, len(b.nodes))
	b.via = make([]int, len(b.nodes))
	var open []int
	for n := range b.nodes {
		b.via[n] = none
		if len(b.nodes[n].keep) > 0 || b.nodes[n].candidate {
			b.kept[n] = true
			open = append(open, n)
		}
	}
	for len(open) > 0 {
		n := open[len(open)-1]
		open = b.spreadFrom(n, open[:len(open)-1])
	}
	b.relate()
}

func (b *builder) spreadFrom(n int, open []int) []int {
	for _, child := range b.children(n) {
		if !b.kept[child] {
			b.keepFor(child, n, reason.NeededByKept)
			open = append(open, child)
		}
	}
	for _, d := range b.describersOf(n) {
		if !b.kept[d] {
			b.keepFor(d, n, reason.SubjectKept)
			open = append(open, d)
		}
	}
	return open
}

func (b *builder) keepFor(n, cause int, code reason.Code) {
	b.kept[n], b.via[n] = true, cause
	relation := "child of index "
	if code == reason.SubjectKept {
		relation = "describes "
	}
	b.why[n] = reason.Reason{Code: code, Detail: relation + b.title(cause)}
}

// children are the images of the same repository that an index lists.
func (b *builder) children(n int) []int {
	m := b.Inventory.Manifests[b.nodes[n].ID]
	if m == nil || !m.Index {
		return nil
	}
	var children []int
	for _, need := range m.Needs {
		if need.Role != image.Child {
			continue
		}
		if child := b.find(b.nodes[n].repo, need.ID); child != none {
			children = append(children, child)
		}
	}
	return children
}

// describersOf are the images that describe this one and that it keeps: in its
// own repository, and in any other that is not gone with its owner.
func (b *builder) describersOf(n int) []int {
	if len(b.describing) == 0 {
		return nil
	}
	var found []int
	for _, d := range b.describing[b.Inventory.Contents.Digest(b.nodes[n].ID).Subject()] {
		if d == n {
			continue
		}
		if r := b.nodes[d].repo; r == b.nodes[n].repo || !b.repos[r].gone {
			found = append(found, d)
		}
	}
	return found
}

// relate finds, for each image that is kept and was not reached from another,
// a kept image that lists it or that it describes: one more reason beside its
// own, and the only one of a candidate.
func (b *builder) relate() {
	for n := range b.nodes {
		if !b.kept[n] {
			continue
		}
		for _, child := range b.children(n) {
			if b.via[child] == none {
				b.keepFor(child, n, reason.NeededByKept)
			}
		}
		for _, d := range b.describersOf(n) {
			if b.via[d] == none {
				b.keepFor(d, n, reason.SubjectKept)
			}
		}
	}
}

// dropOrphans ends the candidacy of what no kept image accounts for, and tells
// whether there was any.
func (b *builder) dropOrphans() bool {
	dropped := false
	for n := range b.nodes {
		node := &b.nodes[n]
		if !node.candidate || b.via[n] != none {
			continue
		}
		node.candidate = false
		dropped = true
		node.drop = append(node.drop, reason.Reason{Code: reason.SubjectGone, Detail: "no repository will hold the image that it describes"})
	}
	return dropped
}

// title names an image for people: its digest, tags and repository.
func (b *builder) title(n int) string {
	node := &b.nodes[n]
	r := &b.repos[node.repo]
	digest := b.Inventory.Contents.Digest(node.ID)
	if len(node.tags) == 0 {
		return fmt.Sprintf("%s in %s", digest, r.Name)
	}
	return fmt.Sprintf("%s tagged %s in %s", digest, strings.Join(tagNames(r, node), ", "), r.Name)
}

func tagNames(r *repo, node *node) []string {
	names := make([]string, len(node.tags))
	for i, t := range node.tags {
		names[i] = r.Tags[t].Name
	}
	return names
}
