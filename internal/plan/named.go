package plan

import (
	"slices"

	"github.com/ebb-io/ebb/internal/inventory"
	"github.com/ebb-io/ebb/internal/reason"
)

// Named is the set of items that an earlier plan deletes. Tags are not in it:
// they go with their image. Nor is residue: there is nothing to lose in it.
type Named map[inventory.Item]bool

// Names are the items of this plan that a stored plan has to name.
func (p *Plan) Names() Named {
	named := Named{}
	for n := range p.Decisions {
		if p.Decisions[n].Delete {
			named.Add(revisionOf(&p.Decisions[n]))
		}
	}
	for _, phase := range p.Steps(nil) {
		for _, item := range phase {
			named.Add(item)
		}
	}
	return named
}

// Add puts an item into the set, if it is one that a stored plan names.
func (s Named) Add(item inventory.Item) {
	if item, ok := nameable(item); ok {
		s[item] = true
	}
}

// Stays holds back whatever the set does not name: new garbage waits.
func (s Named) Stays(item inventory.Item) bool {
	item, ok := nameable(item)
	return ok && !s[item]
}

// nameable reduces an item to what tells it from others.
func nameable(item inventory.Item) (inventory.Item, bool) {
	if item.Residue {
		return inventory.Item{}, false
	}
	switch item.Kind {
	case inventory.Revision, inventory.LayerLink:
		return inventory.Item{Kind: item.Kind, Repository: item.Repository, Digest: item.Digest}, true
	case inventory.ManifestBlob, inventory.Blob:
		return inventory.Item{Kind: inventory.Blob, Digest: item.Digest}, true
	case inventory.UploadFolder:
		return inventory.Item{Kind: item.Kind, Repository: item.Repository, Upload: item.Upload}, true
	case inventory.UnfinishedUpload:
		return inventory.Item{Kind: item.Kind, Path: item.Path, Upload: item.Upload}, true
	case inventory.RepositoryFolder:
		return inventory.Item{Kind: item.Kind, Repository: item.Repository}, true
	}
	return inventory.Item{}, false
}

// Restrict is the plan that deletes no more than an earlier one names: what is
// garbage since then waits for the next run, and says so.
func (p *Plan) Restrict(named Named) *Plan {
	q := *p
	q.stays = named.Stays
	q.Decisions = slices.Clone(p.Decisions)
	for n, standing := range q.standing(q.stays) {
		if d := &q.Decisions[n]; d.Delete && standing {
			d.Delete = false
			d.Reasons = []reason.Reason{{Code: reason.KeptByPolicy, Detail: "the plan that is carried out does not name it"}}
		}
	}
	q.total()
	q.limit()
	return &q
}

// Stale finds what a stored plan names and this one does not delete, although
// it is still there: by now it is kept, or something that stays needs it. What
// is gone already is not stale.
func (p *Plan) Stale(named Named) []inventory.Item {
	goes := Named{}
	for _, phase := range p.Steps(named.Stays) {
		for _, item := range phase {
			goes.Add(item)
		}
	}
	var stale []inventory.Item
	p.each(func(item inventory.Item) {
		if named[item] && !goes[item] {
			stale = append(stale, item)
		}
	})
	return stale
}

// each calls f for every image, layer link, upload and blob that is there.
func (p *Plan) each(f func(inventory.Item)) {
	for n := range p.nodes {
		if p.nodes[n].Linked {
			f(revisionOf(&p.Decisions[n]))
		}
	}
	for i := range p.repos {
		r := &p.repos[i]
		for _, link := range r.Layers {
			f(inventory.Item{Kind: inventory.LayerLink, Repository: r.Name, Digest: p.inv.Contents.Digest(link.ID)})
		}
		for _, u := range r.Uploads {
			f(inventory.Item{Kind: inventory.UploadFolder, Repository: r.Name, Upload: u.ID})
		}
	}
	for _, u := range p.inv.Unfinished {
		item, _ := nameable(unfinishedItem(u))
		f(item)
	}
	for i := range p.inv.Contents.Blobs() {
		f(inventory.Item{Kind: inventory.Blob, Digest: p.inv.Contents.Digest(inventory.ID(i))})
	}
}
