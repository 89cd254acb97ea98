package plan

import (
	"slices"

	"github.com/ebb-io/ebb/internal/image"
	"github.com/ebb-io/ebb/internal/inventory"
	"github.com/ebb-io/ebb/internal/reason"
	"github.com/ebb-io/ebb/internal/refs"
)

// node is an image: a manifest in a repository. Nodes of a repository stand
// together, ordered by digest, so that a node is found without a table.
type node struct {
	inventory.Image
	repo int
	tags []int // indices into the repository's tags
	// describes says that the image describes another, by its subject or a tag.
	describes bool
	// attached says that it is for nothing else: it has a subject, or all its
	// tags have the form of a signature's.
	attached bool
	// ordinarilyTagged says that a tag is a name for the image itself.
	ordinarilyTagged bool
	// candidate says that the image goes if its subject goes.
	candidate bool

	keep []reason.Reason // why it is kept on its own account
	drop []reason.Reason // why it would go
}

// repo is a repository with what the rules say of it.
type repo struct {
	*inventory.Repository
	first  int // node
	names  []string
	claims [][]refs.Claim // by name
	// tagNames are its readable tags.
	tagNames []string
	inside   bool // in the policy's scope
	// hold says that links and uploads stay, whatever needs them.
	hold bool
	// gone says that rules claim it by every name and no owner lives.
	gone bool
	// ordinary says that it holds an image that describes no other.
	ordinary bool
	owner    refs.Object // meaningful when owned
	owned    bool
}

type builder struct {
	Input
	nodes []node
	repos []repo
	// describing finds the images that describe a subject.
	describing map[image.Subject][]int
	subjects   map[image.Subject][]int // the images themselves
	held       map[string]*Held
	matched    map[string]bool // who refers to some image

	kept    []bool
	related [][]relation
}

func newBuilder(in Input) *builder {
	b := &builder{Input: in, describing: map[image.Subject][]int{}, held: map[string]*Held{}, matched: map[string]bool{}}
	b.nodes = make([]node, 0, in.Inventory.Images())
	b.repos = make([]repo, len(in.Inventory.Repositories))
	for i := range b.repos {
		b.addRepository(i)
	}
	b.findSubjects()
	return b
}

func (b *builder) findSubjects() {
	b.subjects = make(map[image.Subject][]int, len(b.describing))
	if len(b.describing) == 0 {
		return
	}
	for n := range b.nodes {
		s := b.Inventory.Contents.Digest(b.nodes[n].ID).Subject()
		if _, described := b.describing[s]; described {
			b.subjects[s] = append(b.subjects[s], n)
		}
	}
}

func (b *builder) addRepository(i int) {
	r := &b.repos[i]
	r.Repository = &b.Inventory.Repositories[i]
	r.first = len(b.nodes)
	r.names = append([]string{r.Name}, r.Aliases...)
	r.inside = b.Policy.Scope.Contains(r.Name, r.Aliases...)
	r.gone = true
	for _, name := range r.names {
		claims := b.Refs.Claims(name)
		r.claims = append(r.claims, claims)
		alive := slices.ContainsFunc(claims, func(c refs.Claim) bool { return c.Alive() || b.holds(c) })
		r.gone = r.gone && len(claims) > 0 && !alive
	}
	for _, img := range r.Images {
		b.nodes = append(b.nodes, node{Image: img, repo: i})
	}
	for t, tag := range r.Tags {
		if n := b.find(i, tag.Target); tag.Read && n != none {
			r.tagNames = append(r.tagNames, tag.Name)
			b.nodes[n].tags = append(b.nodes[n].tags, t)
		}
	}
	for n := r.first; n < len(b.nodes); n++ {
		b.attach(n)
		r.ordinary = r.ordinary || !b.nodes[n].attached
	}
}

// attach notes what a node describes. What would describe itself describes
// nothing.
func (b *builder) attach(n int) {
	node := &b.nodes[n]
	own := b.Inventory.Contents.Digest(node.ID).Subject()
	describes := func(s image.Subject) bool {
		if s == own {
			return false
		}
		b.describing[s] = append(b.describing[s], n)
		return true
	}
	bySubject := false
	if m := b.Inventory.Manifests[node.ID]; m != nil && m.HasSubject {
		bySubject = describes(b.Inventory.Contents.Digest(m.Subject).Subject())
	}
	byTag := 0
	for _, t := range node.tags {
		if s, ok := b.attachedBy(node, b.repos[node.repo].Tags[t].Name); ok && describes(s) {
			byTag++
		}
	}
	node.describes = bySubject || byTag > 0
	node.ordinarilyTagged = byTag < len(node.tags)
	node.attached = bySubject || (byTag > 0 && !node.ordinarilyTagged)
}

// attachedBy reads the subject from a tag whose form and content both say that
// the image describes another. The form alone is not enough: people tag by hash.
func (b *builder) attachedBy(node *node, tag string) (image.Subject, bool) {
	subject, ok := image.AttachedTo(tag)
	m := b.Inventory.Manifests[node.ID]
	if !ok || m == nil {
		return "", false
	}
	if m.Index {
		return subject, subject.IsFallback(tag) && b.listsReferrersOf(m, subject)
	}
	return subject, !subject.IsFallback(tag) && !m.Filesystem
}

// listsReferrersOf tells whether everything that an index lists has the subject.
func (b *builder) listsReferrersOf(m *inventory.Manifest, subject image.Subject) bool {
	return !slices.ContainsFunc(m.Needs, func(need inventory.Need) bool {
		child := b.Inventory.Manifests[need.ID]
		return child == nil || !child.HasSubject || b.Inventory.Contents.Digest(child.Subject).Subject() != subject
	})
}

// find is the node of an image, or none.
func (b *builder) find(r int, id inventory.ID) int {
	return findNode(&b.repos[r], b.Inventory.Contents, id)
}

func findNode(r *repo, contents *inventory.Contents, id inventory.ID) int {
	if int(id) >= contents.Len() {
		return none
	}
	want := contents.Digest(id)
	i, ok := slices.BinarySearchFunc(r.Images, want, func(img inventory.Image, want image.Digest) int {
		return contents.Digest(img.ID).Compare(want)
	})
	if !ok {
		return none
	}
	return r.first + i
}

// nodesOf are the nodes of a repository, as a range.
func nodesOf(r *repo) (first, end int) { return r.first, r.first + len(r.Images) }
