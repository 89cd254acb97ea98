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
	var open []int
	keep := func(n int) {
		if !b.kept[n] {
			b.kept[n] = true
			open = append(open, n)
		}
	}
	for n := range b.nodes {
		if len(b.nodes[n].keep) > 0 || b.nodes[n].candidate {
			keep(n)
		}
	}
	for len(open) > 0 {
		n := open[len(open)-1]
		open = open[:len(open)-1]
		for _, child := range b.children(n) {
			keep(child)
		}
		for _, d := range b.describersOf(n) {
			keep(d)
		}
	}
	b.relate()
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

// relation is why an image is kept for others' sake: the first of them, and
// how many more there are.
type relation struct {
	code  reason.Code
	cause int
	more  int
}

// relate finds, for each image, the kept ones that list it or that it
// describes: reasons beside its own, and the only ones of a candidate.
func (b *builder) relate() {
	b.related = make([][]relation, len(b.nodes))
	for n := range b.nodes {
		if !b.kept[n] {
			continue
		}
		for _, child := range b.children(n) {
			b.note(child, n, reason.NeededByKept)
		}
		for _, d := range b.describersOf(n) {
			b.note(d, n, reason.SubjectKept)
		}
	}
}

func (b *builder) note(n, cause int, code reason.Code) {
	for i := range b.related[n] {
		if r := &b.related[n][i]; r.code == code {
			r.more++
			return
		}
	}
	b.related[n] = append(b.related[n], relation{code: code, cause: cause})
}

// reasonOf puts a relation into words.
func (b *builder) reasonOf(r relation) reason.Reason {
	words := "child of index "
	if r.code == reason.SubjectKept {
		words = "describes "
	}
	words += b.title(r.cause)
	if r.more > 0 {
		words += fmt.Sprintf(" and %d more", r.more)
	}
	return reason.Reason{Code: r.code, Detail: words}
}

// dropOrphans ends the candidacy of what no kept image accounts for, and tells
// whether there was any.
func (b *builder) dropOrphans() bool {
	dropped := false
	for n := range b.nodes {
		node := &b.nodes[n]
		if !node.candidate || len(b.related[n]) > 0 {
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
