package plan

import (
	"slices"

	"github.com/ebb-io/ebb/internal/image"
	"github.com/ebb-io/ebb/internal/inventory"
	"github.com/ebb-io/ebb/internal/reason"
)

// Stays tells of an item whether it must not be deleted although the decisions
// would allow it: a stored plan does not name it, or its deletion failed. A nil
// Stays lets everything go.
type Stays func(inventory.Item) bool

// Steps are the items to delete, in phases of which each must be done before
// the next begins: tags, then manifests with what points at others before what
// it points at, then layer links, manifests' blobs, other blobs, uploads and
// empty repositories.
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

// Size is what the items' deletion frees, in bytes of content.
func Size(phases [][]inventory.Item) int64 {
	total := int64(0)
	for _, phase := range phases {
		for _, item := range phase {
			total += item.Size
		}
	}
	return total
}

// phases is how many there are: a tag's three, one for each level of
// revisions, then links, two kinds of blobs, uploads and repositories.
func (p *Plan) phases() int { return 3 + p.depth + 5 }

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

// sweep works out what goes when the images that stand are known.
type sweep struct {
	*Plan
	stays    Stays
	standing []bool   // by image
	needed   []bool   // by content: some repository needs it
	mark     []uint32 // by content: the repository with this number needs it
	tell     func(phase int, item inventory.Item)
}

// phase is the number of an item's phase. Revisions have one for each level.
func (s *sweep) phase(kind inventory.ItemKind, level int) int {
	switch {
	case kind < inventory.Revision:
		return int(kind)
	case kind == inventory.Revision:
		return int(inventory.Revision) + level
	}
	return int(kind) - 1 + s.depth
}

func (s *sweep) emit(item inventory.Item, level int) { s.tell(s.phase(item.Kind, level), item) }

// tags removes the names of the images that go, and of a repository that goes
// whole also those that could not be read.
func (s *sweep) tags() {
	for n := range s.nodes {
		if s.standing[n] {
			continue
		}
		r := &s.repos[s.nodes[n].repo]
		for _, t := range s.nodes[n].tags {
			for _, item := range tagItems(r, r.Tags[t], s.Decisions[n].Digest) {
				s.emit(item, 0)
			}
		}
	}
	for i := range s.repos {
		s.brokenTags(&s.repos[i])
	}
}

func (s *sweep) brokenTags(r *repo) {
	if r.hold {
		return
	}
	for _, tag := range r.Tags {
		if !tag.Read && r.gone {
			for _, item := range tagItems(r, tag, image.Digest{}) {
				s.emit(item, 0)
			}
		}
	}
	for _, residue := range r.Residue {
		if residue.Kind == inventory.TagFolder {
			s.emit(inventory.Item{Kind: inventory.TagFolder, Repository: r.Name, Tag: residue.Tag, Residue: true}, 0)
		}
	}
}

// tagItems are a tag's parts in the order of their deletion, which leaves a
// working tag until its current link is gone.
func tagItems(r *repo, tag inventory.Tag, target image.Digest) []inventory.Item {
	item := inventory.Item{Repository: r.Name, Tag: tag.Name, Digest: target, Unread: !tag.Read}
	items := make([]inventory.Item, 0, 3)
	for _, kind := range []inventory.ItemKind{inventory.TagHistory, inventory.TagLink, inventory.TagFolder} {
		item.Kind = kind
		items = append(items, item)
	}
	return items
}

func (s *sweep) revisions() {
	for n := range s.nodes {
		if !s.standing[n] && s.nodes[n].Linked {
			s.emit(revisionOf(&s.Decisions[n]), s.levels[n])
		}
	}
}

// repositories sweeps each repository's links and uploads, and what is left of
// one that held nothing else.
func (s *sweep) repositories() {
	for i := range s.repos {
		r := &s.repos[i]
		s.markNeeds(uint32(i+1), r)
		links := s.links(uint32(i+1), r)
		uploads := s.uploads(r)
		residue := s.residue(r)
		if links+uploads+residue == 0 && s.vacant(r) {
			s.offer(inventory.Item{Kind: inventory.RepositoryFolder, Repository: r.Name, Stop: r.LinkTarget})
		}
	}
}

// offer emits an item unless it stays; it tells whether it goes.
func (s *sweep) offer(item inventory.Item) bool {
	if s.stays(item) {
		return false
	}
	s.emit(item, 0)
	return true
}

// markNeeds marks what the repository's standing images need, at any depth.
func (s *sweep) markNeeds(number uint32, r *repo) {
	first, end := nodesOf(r)
	for n := first; n < end; n++ {
		if s.standing[n] {
			s.need(number, s.nodes[n].ID)
		}
	}
}

func (s *sweep) need(number uint32, id inventory.ID) {
	if s.mark[id] == number {
		return
	}
	s.mark[id] = number
	s.needed[id] = true
	for _, stored := range s.inv.Stored[id] {
		s.need(number, stored)
	}
	if m := s.inv.Manifests[id]; m != nil {
		for _, need := range m.Needs {
			s.need(number, need.ID)
		}
	}
}

// links sweeps the repository's layer links and counts those that stay. A link
// that stays keeps its blob.
func (s *sweep) links(number uint32, r *repo) (left int) {
	for _, link := range r.Layers {
		item := inventory.Item{Kind: inventory.LayerLink, Repository: r.Name, Digest: s.inv.Contents.Digest(link.ID)}
		if s.mark[link.ID] == number || r.hold || s.young(link.ModTime) || !s.offer(item) {
			s.linked(link.ID)
			left++
		}
	}
	return left
}

// linked keeps the content that a layer link leads to.
func (s *sweep) linked(id inventory.ID) {
	s.needed[id] = true
	for _, stored := range s.inv.Stored[id] {
		s.needed[stored] = true
	}
}

func (s *sweep) young(t inventory.Time) bool { return young(s.Now, s.Policy.MinAge, t) != "" }

func (s *sweep) uploads(r *repo) (left int) {
	for _, u := range r.Uploads {
		item := inventory.Item{Kind: inventory.UploadFolder, Repository: r.Name, Upload: u.ID, Size: u.Size}
		fresh := u.Files > 0 && young(s.Now, s.Policy.UploadAge, u.ModTime) != ""
		if r.hold || fresh || !s.offer(item) {
			left++
		}
	}
	return left
}

// residue finishes deletions of links that were cut short. The folder of a
// revision that a tag still names is evidence, and stays.
func (s *sweep) residue(r *repo) (left int) {
	for _, residue := range r.Residue {
		item := inventory.Item{Kind: residue.Kind, Repository: r.Name, Digest: residue.Digest, Residue: true}
		switch {
		case residue.Kind == inventory.TagFolder && !r.hold:
		case r.hold || (residue.Kind == inventory.Revision && s.named(r, residue.Digest)):
			left++
		default:
			s.emit(item, 0)
		}
	}
	return left
}

func (s *sweep) named(r *repo, d image.Digest) bool {
	id, ok := s.inv.Contents.Find(d)
	n := none
	if ok {
		n = findNode(r, s.inv.Contents, id)
	}
	return n != none && s.standing[n]
}

// vacant tells whether none of the repository's images and tags remain.
func (s *sweep) vacant(r *repo) bool {
	first, end := nodesOf(r)
	if r.hold || slices.Contains(s.standing[first:end], true) {
		return false
	}
	return r.gone || !slices.ContainsFunc(r.Tags, func(t inventory.Tag) bool { return !t.Read })
}

// blobs sweeps what nothing needs. A scope holds nothing back here: a
// repository outside of it keeps all its links, and they keep their blobs.
func (s *sweep) blobs() {
	if s.inv.Unlisted {
		return
	}
	isManifest := s.manifestBlobs()
	s.keepNeedsOfStaying(isManifest)
	for i := range s.inv.Contents.Blobs() {
		id := inventory.ID(i)
		if s.sweepable(id) {
			s.emit(s.blobItem(id, isManifest), 0)
		}
	}
	for _, residue := range s.inv.Residue {
		s.emit(inventory.Item{Kind: inventory.Blob, Digest: residue.Digest, Residue: true}, 0)
	}
}

// keepNeedsOfStaying lets a manifest whose blob could not be deleted keep what
// it needs.
func (s *sweep) keepNeedsOfStaying(isManifest []bool) {
	number := uint32(len(s.repos) + 1)
	for i := range s.inv.Contents.Blobs() {
		id := inventory.ID(i)
		if s.sweepable(id) && s.stays(s.blobItem(id, isManifest)) {
			s.need(number, id)
		}
	}
}

func (s *sweep) sweepable(id inventory.ID) bool {
	content := s.inv.Contents.At(id)
	return !s.needed[id] && content.Present() && !s.young(content.ModTime)
}

func (s *sweep) blobItem(id inventory.ID, isManifest []bool) inventory.Item {
	content := s.inv.Contents.At(id)
	item := inventory.Item{Kind: inventory.Blob, Digest: content.Digest, Size: content.Size}
	if isManifest[id] {
		item.Kind = inventory.ManifestBlob
	}
	return item
}

func (s *sweep) manifestBlobs() []bool {
	is := make([]bool, s.inv.Contents.Len())
	for n := range s.nodes {
		is[s.nodes[n].ID] = true
	}
	for id := range s.inv.Manifests {
		is[id] = true
	}
	return is
}

// Unreferenced is why a blob that no image needs goes, for people.
func Unreferenced() reason.Reason {
	return reason.Reason{Code: reason.UnreferencedBlob, Detail: "no kept manifest needs it"}
}
