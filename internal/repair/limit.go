package repair

import (
	"github.com/ebb-io/ebb/internal/policy"
)

// limit compares the plan with the share it may remove: a volume of blobs that
// is not mounted looks as if every manifest were gone.
func (p *Plan) limit(share policy.Share) {
	removed := map[Kind]int{}
	for i := range p.Actions {
		removed[p.Actions[i].Kind]++
	}
	for _, of := range []struct {
		what  string
		kind  Kind
		whole int
	}{
		{"images", RemoveRevision, p.Counts.Images},
		{"tags", RemoveTag, p.Counts.Tags},
		{"layer links", RemoveLayerLink, p.Counts.LayerLinks},
	} {
		p.Exceeded = append(p.Exceeded, share.Excess(of.what, int64(removed[of.kind]), int64(of.whole))...)
	}
}
