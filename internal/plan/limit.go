package plan

import (
	"github.com/ebb-io/ebb/internal/inventory"
	"github.com/ebb-io/ebb/internal/reason"
	"github.com/ebb-io/ebb/internal/refs"
)

// Held is a rule whose kind has not a single object. Its repositories are kept
// until a person confirms that this is the truth.
type Held struct {
	Rule         string
	Kind         string
	Repositories int

	last string // repository counted last
}

// hold keeps an image of a held claim and counts its repository once.
func (b *builder) hold(r *repo, claim refs.Claim) reason.Reason {
	h, ok := b.held[claim.Rule.Name]
	if !ok {
		h = &Held{Rule: claim.Rule.Name, Kind: claim.Rule.Kind}
		b.held[claim.Rule.Name] = h
	}
	if h.last != r.Name {
		h.Repositories++
		h.last = r.Name
	}
	return reason.Reason{Code: reason.KeptByPolicy, Detail: "held: there is no " + claim.Rule.Kind + " at all"}
}

// limit compares the plan with the share it may delete. An image whose living
// owner says that it is done with it does not count, nor do its bytes.
func (p *Plan) limit() {
	share := p.Policy.MaxDeleteShare
	images := int64(0)
	for i := range p.Decisions {
		if p.Decisions[i].Delete && !p.Decisions[i].done() {
			images++
		}
	}
	p.Exceeded = share.Excess("images", images, int64(p.Totals.Images))
	bytes := int64(0)
	if share.Exceeded(p.Totals.ReclaimableBytes, p.Totals.Bytes) { // else no part of them is over it
		bytes = p.countedBytes()
	}
	p.Exceeded = append(p.Exceeded, share.Excess("bytes", bytes, p.Totals.Bytes)...)
}

// countedBytes are the blobs that would go if what is done stayed. Uploads do
// not count: they are nobody's image yet.
func (p *Plan) countedBytes() int64 {
	done := map[inventory.Item]bool{}
	for i := range p.Decisions {
		if p.Decisions[i].Delete && p.Decisions[i].done() {
			done[revisionOf(&p.Decisions[i])] = true
		}
	}
	bytes := int64(0)
	p.sweep(func(item inventory.Item) bool { return done[item] }, func(_ int, item inventory.Item) {
		if item.Kind != inventory.UploadFolder && item.Kind != inventory.UnfinishedUpload {
			bytes += item.Size
		}
	})
	return bytes
}

// done tells whether a living owner no longer needs the image, and nothing
// else speaks against it.
func (d *Decision) done() bool {
	for _, r := range d.Reasons {
		if r.Code != reason.OwnerDone {
			return false
		}
	}
	return true
}

func revisionOf(d *Decision) inventory.Item {
	return inventory.Item{Kind: inventory.Revision, Repository: d.Repository, Digest: d.Digest}
}
