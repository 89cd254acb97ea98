package report

import (
	"cmp"
	"maps"
	"slices"

	"github.com/ebb-io/ebb/internal/image"
	"github.com/ebb-io/ebb/internal/inventory"
	"github.com/ebb-io/ebb/internal/plan"
	"github.com/ebb-io/ebb/internal/reason"
)

// group is what goes of one repository, or what goes of none in particular.
type group struct {
	title      string
	repository bool
	images, of int
	bytes      int64 // content that nothing outside the group needs
	reasons    map[reason.Code]int
}

// The groups that are no repository. No repository's name begins like that.
const (
	sharedTitle = "(shared by several of these)"
	orphanTitle = "(content of no image)"
)

// goes sums up what a plan deletes, by repository, the largest first. The
// groups' bytes add up to what the plan reclaims.
func goes(p *plan.Plan) []*group {
	g := grouping{
		inv: p.Inventory(), swept: make([]int64, p.Inventory().Contents.Len()), users: map[inventory.ID]*group{},
		byName: map[string]*group{},
		shared: &group{title: sharedTitle, reasons: map[reason.Code]int{}},
		orphan: &group{title: orphanTitle, reasons: map[reason.Code]int{}},
	}
	revisions := g.items(p)
	g.decisions(p, revisions)
	g.attribute()
	return g.sorted()
}

type grouping struct {
	inv    *inventory.Inventory
	swept  []int64 // by content: what its deletion frees, plus one; zero where it stays
	users  map[inventory.ID]*group
	byName map[string]*group
	shared *group
	orphan *group
}

func (g *grouping) group(repository string) *group {
	found, ok := g.byName[repository]
	if !ok {
		found = &group{title: repository, repository: true, reasons: map[reason.Code]int{}}
		g.byName[repository] = found
	}
	return found
}

// items notes contents, uploads and empty repositories, and answers with the
// images that go.
func (g *grouping) items(p *plan.Plan) map[inventory.Item]bool {
	revisions := map[inventory.Item]bool{}
	for item := range p.Items() {
		switch item.Kind {
		case inventory.Revision:
			revisions[item] = true
		case inventory.ManifestBlob, inventory.Blob:
			if id, ok := g.inv.Contents.Find(item.Digest); ok {
				g.swept[id] = item.Size + 1
			}
		case inventory.UploadFolder, inventory.UnfinishedUpload:
			upload := g.orphan
			if item.Repository != "" {
				upload = g.group(item.Repository)
			}
			upload.bytes += item.Size
			upload.reasons[reason.AbandonedUpload]++
		case inventory.RepositoryFolder:
			g.empty(item.Repository)
		}
	}
	return revisions
}

// empty notes a repository that had nothing to begin with. Of any other one,
// its images say why it goes.
func (g *grouping) empty(repository string) {
	i, ok := slices.BinarySearchFunc(g.inv.Repositories, repository, func(r inventory.Repository, name string) int {
		return cmp.Compare(r.Name, name)
	})
	if ok && len(g.inv.Repositories[i].Images) == 0 {
		g.group(repository).reasons[reason.EmptyRepository]++
	}
}

func (g *grouping) decisions(p *plan.Plan, revisions map[inventory.Item]bool) {
	of := map[string]int{}
	for i := range p.Decisions {
		d := &p.Decisions[i]
		of[d.Repository]++
		item := inventory.Item{Kind: inventory.Revision, Repository: d.Repository, Digest: d.Digest}
		if !d.Delete || !revisions[item] {
			continue
		}
		lost := g.group(d.Repository)
		lost.images++
		lost.reasons[d.Reasons[0].Code]++
		g.use(lost, d.Digest)
	}
	for name, found := range g.byName {
		found.of = of[name]
	}
}

// use notes a group as the one that an image's contents go with, or as one of
// several.
func (g *grouping) use(by *group, d image.Digest) {
	id, ok := g.inv.Contents.Find(d)
	if !ok {
		return
	}
	g.claim(by, id)
	m := g.inv.Manifests[id]
	if m == nil {
		return
	}
	for _, need := range m.Needs {
		g.claim(by, need.ID)
	}
}

func (g *grouping) claim(by *group, id inventory.ID) {
	if g.swept[id] == 0 {
		return
	}
	if user := g.users[id]; user != nil && user != by {
		by = g.shared
	}
	g.users[id] = by
}

func (g *grouping) attribute() {
	for id, size := range g.swept {
		if size == 0 {
			continue
		}
		user := g.users[inventory.ID(id)]
		if user == nil {
			user = g.orphan
			user.reasons[reason.UnreferencedBlob]++
		}
		user.bytes += size - 1
	}
}

func (g *grouping) sorted() []*group {
	found := slices.Collect(maps.Values(g.byName))
	for _, other := range []*group{g.shared, g.orphan} {
		if other.bytes > 0 || len(other.reasons) > 0 {
			found = append(found, other)
		}
	}
	slices.SortFunc(found, func(a, b *group) int {
		return cmp.Or(cmp.Compare(b.bytes, a.bytes), cmp.Compare(b.images, a.images), cmp.Compare(a.title, b.title))
	})
	return found
}

// codes are a group's reasons: those of images first, the most frequent of
// them at the head.
func (g *group) codes() []reason.Code {
	codes := byCount(g.reasons)
	slices.SortStableFunc(codes, func(a, b reason.Code) int { return cmp.Compare(ofNoImage(a), ofNoImage(b)) })
	return codes
}

func ofNoImage(code reason.Code) int {
	if code == reason.AbandonedUpload || code == reason.EmptyRepository {
		return 1
	}
	return 0
}

func byCount(counts map[reason.Code]int) []reason.Code {
	return slices.SortedFunc(maps.Keys(counts), func(a, b reason.Code) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
}
