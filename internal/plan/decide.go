package plan

import (
	"cmp"
	"slices"

	"github.com/ebb-io/ebb/internal/image"
	"github.com/ebb-io/ebb/internal/inventory"
	"github.com/ebb-io/ebb/internal/reason"
	"github.com/ebb-io/ebb/internal/refs"
)

// strength orders the reasons of one image: what a person did on purpose
// first, what merely follows or delays last.
func strength(code reason.Code) int {
	return slices.Index([]reason.Code{
		reason.Pinned, reason.Owned, reason.Referenced, reason.Tagged, reason.NeededByKept, reason.SubjectKept,
		reason.Unreadable, reason.KeptByPolicy, reason.Unclaimed, reason.AgeUnknown, reason.TooYoung,
		reason.OwnerGone, reason.StaleOwner, reason.OwnerDone, reason.SubjectGone, reason.Untagged,
	}, code)
}

// plan writes the decisions down.
func (b *builder) plan() *Plan {
	p := &Plan{
		Now: b.Now, Policy: b.Policy, inv: b.Inventory, nodes: b.nodes, repos: b.repos, subjects: b.subjects, matched: b.matched,
		via:       make([]int, len(b.nodes)),
		Decisions: make([]Decision, len(b.nodes)),
	}
	for i := range b.repos {
		r := &b.repos[i]
		r.owner, r.owned = ownerOf(r)
		owner := ""
		if r.owned {
			owner = r.owner.String()
		}
		first, end := nodesOf(r)
		for n := first; n < end; n++ {
			p.Decisions[n] = b.decide(r, n, owner)
			p.via[n] = none
			if b.kept[n] && len(b.related[n]) > 0 {
				p.via[n] = b.related[n][0].cause
			}
		}
	}
	for _, h := range b.held {
		p.Held = append(p.Held, *h)
	}
	slices.SortFunc(p.Held, func(a, b Held) int { return cmp.Compare(a.Rule, b.Rule) })
	return p
}

func (b *builder) decide(r *repo, n int, owner string) Decision {
	node := &b.nodes[n]
	d := Decision{
		Repository: r.Name, Digest: b.Inventory.Contents.Digest(node.ID), Tags: tagNames(r, node),
		Owner: owner, Delete: !b.kept[n], Reasons: node.drop,
	}
	if m := b.Inventory.Manifests[node.ID]; m != nil {
		d.MediaType = m.MediaType
	}
	if b.kept[n] {
		d.Reasons = node.keep
		for _, r := range b.related[n] {
			d.Reasons = append(d.Reasons, b.reasonOf(r))
		}
	}
	slices.SortStableFunc(d.Reasons, func(a, b reason.Reason) int {
		return cmp.Or(
			cmp.Compare(strength(a.Code), strength(b.Code)),
			cmp.Compare(a.Detail, b.Detail))
	})
	d.Reasons = slices.Compact(d.Reasons)
	return d
}

// ownerOf is the living owner of a repository, or else the one it had.
func ownerOf(r *repo) (owner refs.Object, found bool) {
	for _, claims := range r.claims {
		if i := slices.IndexFunc(claims, refs.Claim.Alive); i >= 0 {
			return claims[i].Object(), true
		}
		if len(claims) > 0 && !found {
			owner, found = claims[0].Object(), true
		}
	}
	return owner, found
}

// measure counts what each image needs for itself and shares.
func (p *Plan) measure() {
	users := p.users()
	for n := range p.nodes {
		d := &p.Decisions[n]
		p.direct(n, func(id inventory.ID) {
			size := max(p.inv.Contents.At(id).Size, 0)
			if users[id] == 1 {
				d.Bytes.Exclusive += size
			} else {
				d.Bytes.Shared += size
			}
		})
	}
}

// total counts decisions, and what the whole plan frees.
func (p *Plan) total() {
	p.Totals = Totals{Images: len(p.Decisions)}
	for n := range p.Decisions {
		if p.Decisions[n].Delete {
			p.Totals.Delete++
		}
	}
	p.Totals.Keep = p.Totals.Images - p.Totals.Delete
	for id := range p.inv.Contents.Blobs() {
		p.Totals.Bytes += max(p.inv.Contents.At(inventory.ID(id)).Size, 0)
	}
	p.sweep(nil, func(_ int, item inventory.Item) { p.Totals.ReclaimableBytes += item.Size })
}

// users counts, up to two, the images that need each content for themselves.
func (p *Plan) users() []uint8 {
	users := make([]uint8, p.inv.Contents.Len())
	for n := range p.nodes {
		p.direct(n, func(id inventory.ID) { users[id] = min(users[id]+1, 2) })
	}
	return users
}

// direct calls f once for each content that an image needs without its
// children: its manifest, config and layers, under the digest they lie under.
func (p *Plan) direct(n int, f func(inventory.ID)) {
	f(p.nodes[n].ID)
	m := p.inv.Manifests[p.nodes[n].ID]
	if m == nil {
		return
	}
	for i, need := range m.Needs {
		if need.Role == image.Child || repeated(m.Needs[:i], need) {
			continue
		}
		f(need.ID)
		for _, stored := range p.inv.Stored[need.ID] {
			f(stored)
		}
	}
}

// repeated tells whether a layer stands in its image a second time.
func repeated(before []inventory.Need, need inventory.Need) bool {
	return slices.ContainsFunc(before, func(n inventory.Need) bool { return n.ID == need.ID })
}
