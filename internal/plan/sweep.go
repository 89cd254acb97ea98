package plan

import (
	"cmp"
	"slices"

	"github.com/ebb-io/ebb/internal/image"
	"github.com/ebb-io/ebb/internal/inventory"
	"github.com/ebb-io/ebb/internal/reason"
)

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

// brokenTags removes the tags that could not be read, of a repository that goes
// whole, and what is left of tags that were deleted.
func (s *sweep) brokenTags(r *repo) {
	if r.hold {
		return
	}
	if r.gone && !s.anyStands(r) && !s.stays(folderOf(r)) {
		for _, tag := range r.Tags {
			if !tag.Read {
				for _, item := range tagItems(r, tag, image.Digest{}) {
					s.emit(item, 0)
				}
			}
		}
	}
	for _, residue := range r.Residue {
		if residue.Kind == inventory.TagFolder {
			s.emit(inventory.Item{Kind: inventory.TagFolder, Repository: r.Name, Tag: residue.Tag, Residue: true}, 0)
		}
	}
}

func (s *sweep) anyStands(r *repo) bool {
	first, end := nodesOf(r)
	return slices.Contains(s.standing[first:end], true)
}

func folderOf(r *repo) inventory.Item {
	return inventory.Item{Kind: inventory.RepositoryFolder, Repository: r.Name, Stop: r.LinkTarget}
}

// tagItems are a tag's parts in the order of their deletion, which leaves a
// working tag until its current link is gone.
func tagItems(r *repo, tag inventory.Tag, target image.Digest) []inventory.Item {
	item := inventory.Item{Repository: r.Name, Tag: tag.Name, Digest: target, Unread: !tag.Read}
	items := make([]inventory.Item, 0, 3)
	for _, kind := range []inventory.ItemKind{inventory.TagHistory, inventory.TagLink, inventory.TagFolder} {
		item.Kind, item.ModTime = kind, 0
		if kind == inventory.TagLink {
			item.ModTime = tag.ModTime
		}
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
			s.offer(folderOf(r))
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
		if r.hold || s.goesOn(u) || !s.offer(item) {
			left++
		}
	}
	return left
}

// unfinished sweeps uploads in parts that nobody goes on with.
func (s *sweep) unfinished() {
	for _, u := range s.inv.Unfinished {
		if young(s.Now, s.Policy.UploadAge, u.Touched) == "" && !s.holds(u) {
			s.offer(unfinishedItem(u))
		}
	}
}

// holds tells whether a repository, which may be of no other trace, keeps what
// was begun in it: all of it, or the upload that somebody goes on with.
func (s *sweep) holds(u inventory.Unfinished) bool {
	if u.Repository == "" {
		return false
	}
	i, known := slices.BinarySearchFunc(s.repos, u.Repository, func(r repo, name string) int { return cmp.Compare(r.Name, name) })
	if !known {
		return !s.Policy.Scope.Contains(u.Repository)
	}
	r := &s.repos[i]
	return r.hold || slices.ContainsFunc(r.Uploads, func(part inventory.Upload) bool { return part.ID == u.Upload && s.goesOn(part) })
}

// goesOn tells whether somebody may go on with an upload.
func (s *sweep) goesOn(u inventory.Upload) bool {
	return u.Files > 0 && young(s.Now, s.Policy.UploadAge, u.ModTime) != ""
}

func unfinishedItem(u inventory.Unfinished) inventory.Item {
	return inventory.Item{
		Kind: inventory.UnfinishedUpload, Repository: u.Repository, Path: u.Path, Upload: u.ID, Size: u.Size, ModTime: u.Touched,
	}
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
	if r.hold || s.anyStands(r) {
		return false
	}
	return !slices.ContainsFunc(r.Tags, func(t inventory.Tag) bool { return !t.Read && (!r.gone || s.brokenTagStays(r, t)) })
}

func (s *sweep) brokenTagStays(r *repo, t inventory.Tag) bool {
	return slices.ContainsFunc(tagItems(r, t, image.Digest{}), s.stays)
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
