package repair

import (
	"fmt"

	"github.com/ebb-io/ebb/internal/policy"
)

// Exceeded is a limit that a plan is over.
type Exceeded struct {
	What        string // images, tags or layer links
	Part, Whole int
	Allowed     string // the share, as it is written
}

func (e Exceeded) String() string {
	return fmt.Sprintf("%d of %d %s (%.0f%%) would be removed, max-delete-share allows %s",
		e.Part, e.Whole, e.What, float64(e.Part)*100/float64(e.Whole), e.Allowed)
}

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
		if part := removed[of.kind]; share.Exceeded(int64(part), int64(of.whole)) {
			p.Exceeded = append(p.Exceeded, Exceeded{of.what, part, of.whole, share.String()})
		}
	}
}
