package report

import (
	"github.com/ebb-io/ebb/internal/inventory"
	"github.com/ebb-io/ebb/internal/plan"
	"github.com/ebb-io/ebb/internal/reason"
)

// untagged tells of what stays only because nobody has asked for it to go.
func (p *page) untagged(plan *plan.Plan) {
	if plan.Policy.DeleteUntagged {
		return
	}
	images, bytes := unclaimed(plan)
	if images == 0 {
		return
	}
	age := ""
	if plan.Policy.UntaggedAge > 0 {
		age = ", when older than " + Age(plan.Policy.UntaggedAge)
	}
	p.prose("%s (%s of %s own) would also go with --delete-untagged%s.",
		Count(images, "untagged image"), Size(bytes), phrase(images == 1, "its", "their"), age)
}

// unclaimed counts the images that have no other reason to stay than that they
// may be pulled by digest, and what they alone need. Those that describe an
// image, or whose age can not be told, would stay all the same.
func unclaimed(p *plan.Plan) (images int, bytes int64) {
	for i := range p.Decisions {
		d := &p.Decisions[i]
		if d.Delete || len(d.Tags) > 0 || d.Reasons[0].Code != reason.Unclaimed || ageless(d) || describes(p.Inventory(), d) {
			continue
		}
		images++
		bytes += d.Bytes.Exclusive
	}
	return images, bytes
}

func ageless(d *plan.Decision) bool {
	for _, r := range d.Reasons {
		if r.Code == reason.AgeUnknown {
			return true
		}
	}
	return false
}

func describes(inv *inventory.Inventory, d *plan.Decision) bool {
	id, ok := inv.Contents.Find(d.Digest)
	m := inv.Manifests[id]
	return ok && m != nil && m.HasSubject
}
