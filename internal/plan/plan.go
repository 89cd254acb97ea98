// Package plan decides: from what a store holds, who needs what, and what a
// person chose, it makes exactly one decision for each image, with all its
// reasons, and the ordered steps that carry the decisions out.
//
// It is pure: no clock, no context, no input or output; the same input gives
// the same plan, whatever the order of listings. It refuses to delete on doubt.
package plan

import (
	"slices"
	"time"

	"github.com/ebb-io/ebb/internal/image"
	"github.com/ebb-io/ebb/internal/inventory"
	"github.com/ebb-io/ebb/internal/policy"
	"github.com/ebb-io/ebb/internal/reason"
	"github.com/ebb-io/ebb/internal/refs"
)

// Input is all that a plan depends on.
type Input struct {
	Inventory *inventory.Inventory
	Refs      *refs.Index
	Policy    policy.Policy
	Now       time.Time
}

// Bytes is what an image needs for itself: its manifest, config and layers.
// Children and referrers are images of their own.
type Bytes struct {
	Exclusive int64 `json:"exclusive"` // needed by no other image
	Shared    int64 `json:"shared"`
}

// Decision is what happens to one image, and why.
type Decision struct {
	Repository string
	Digest     image.Digest
	Tags       []string // by name
	MediaType  string   // empty where the manifest could not be read
	Owner      string   // the object that the repository belongs to; empty: none
	Delete     bool
	Reasons    []reason.Reason // never empty; the strongest first
	Bytes      Bytes
}

// Totals is the plan in a few numbers.
type Totals struct {
	Images           int   `json:"images"`
	Keep             int   `json:"keep"`
	Delete           int   `json:"delete"`
	Bytes            int64 `json:"bytes"`            // of all blobs
	ReclaimableBytes int64 `json:"reclaimableBytes"` // of the blobs and uploads that go
}

// Plan is every decision and what follows from them.
type Plan struct {
	Now       time.Time
	Policy    policy.Policy
	Decisions []Decision // by repository, then digest
	Totals    Totals
	// Held are the kinds without a single object whose repositories are
	// therefore kept, by rule.
	Held []Held
	// Exceeded are the limits that the plan is over.
	Exceeded []policy.Excess

	inv   *inventory.Inventory
	nodes []node
	repos []repo
	via   []int // by image: the image that keeps it, or none
	// subjects finds the images that something describes.
	subjects map[image.Subject][]int
	matched  map[string]bool // by references' By
	levels   []int           // by image, of those that go
	depth    int             // the deepest level, plus one
	stays    Stays           // what an earlier plan does not name; nil: nothing
}

// Build makes the plan.
func Build(in Input) *Plan {
	b := newBuilder(in)
	b.findRoots()
	b.settle()
	p := b.plan()
	p.levels, p.depth = p.order()
	p.measure()
	p.total()
	p.limit()
	return p
}

// none is no image.
const none = -1

// Inventory is what the plan was made from.
func (p *Plan) Inventory() *inventory.Inventory { return p.inv }

// Image is what a decision is about, as the inventory has it: the repository
// that the image lies in, and its manifest.
func (p *Plan) Image(i int) (*inventory.Repository, inventory.ID) {
	return p.repos[p.nodes[i].repo].Repository, p.nodes[i].ID
}

// Owner is the object that an image's repository belongs to, which Decision
// names. It is false where no rule claims the repository.
func (p *Plan) Owner(i int) (refs.Object, bool) {
	r := &p.repos[p.nodes[i].repo]
	return r.owner, r.owned
}

// Via is the image that an image is kept for: the index that lists it or the
// subject it describes. It is false where there is none, and the image is kept
// or deleted by itself. Following it may lead round in a circle, as two images
// can describe each other.
func (p *Plan) Via(i int) (int, bool) { return p.via[i], p.via[i] != none }

// Matched tells whether an image is what somebody refers to, by a reference's By.
func (p *Plan) Matched(by string) bool { return p.matched[by] }

// Survivor is a kept image that its registry can serve, by which the registry
// is recognized while images go. It is false where none is kept.
func (p *Plan) Survivor() (Decision, bool) {
	for n := range p.nodes {
		if !p.Decisions[n].Delete && p.servable(n) {
			return p.Decisions[n], true
		}
	}
	return Decision{}, false
}

// Samples are up to n images that the registry of this very storage can serve:
// one of each repository, those first of which something goes.
func (p *Plan) Samples(n int) []Decision {
	var losing, others []Decision
	for i := range p.repos {
		first, end := nodesOf(&p.repos[i])
		at := slices.IndexFunc(p.Decisions[first:end], func(d Decision) bool { return d.Delete })
		for node := first; node < end; node++ {
			if !p.servable(node) {
				continue
			}
			if at >= 0 {
				losing = append(losing, p.Decisions[node])
			} else {
				others = append(others, p.Decisions[node])
			}
			break
		}
	}
	all := append(losing, others...)
	return all[:min(n, len(all))]
}

// servable tells whether a sound registry answers for the image.
func (p *Plan) servable(n int) bool {
	return p.nodes[n].Linked && !p.nodes[n].Broken && p.Decisions[n].MediaType != ""
}
