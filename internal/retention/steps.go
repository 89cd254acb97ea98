package retention

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/ebb-io/ebb/internal/engine"
	"github.com/ebb-io/ebb/internal/reason"
)

// Steps are the deletions in their order: by repository, the oldest version
// first.
func (p *Plan) Steps() []Step {
	var steps []Step
	for i := range p.Decisions {
		if d := &p.Decisions[i]; d.Delete {
			digests, certain := d.Image.Pullable(p.Engine.Store, d.Repository)
			steps = append(steps, Step{
				ID: d.Image.ID, Repository: d.Repository, Names: d.Image.Names, Digests: digests, InDoubt: !certain, Bytes: d.Image.Unique(),
			})
		}
	}
	return steps
}

// Deletes are the images that go.
func (p *Plan) Deletes() []*engine.Image {
	var found []*engine.Image
	for i := range p.Decisions {
		if d := &p.Decisions[i]; d.Delete {
			found = append(found, d.Image)
		}
	}
	return found
}

// Nothing tells whether the plan deletes nothing.
func (p *Plan) Nothing() bool { return p.Totals.Delete == 0 }

// Fingerprint is the same for two plans exactly when they delete the same
// images under the same names in the same order: a sha256 sum in hexadecimal
// digits.
func (p *Plan) Fingerprint() string {
	h := sha256.New()
	for _, s := range p.Steps() {
		_, _ = fmt.Fprintf(h, "%s %q %q\n", s.ID, s.Repository, s.Names) // a hash never fails
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Names are what a stored plan has to name.
func (p *Plan) Names() Named {
	named := Named{}
	for i := range p.Decisions {
		if d := &p.Decisions[i]; d.Delete {
			named[d.Image.ID] = names(d.Image)
		}
	}
	return named
}

// names are an image's names in full, in order.
func names(img *engine.Image) []string {
	found := make([]string, len(img.Names))
	for i, n := range img.Names {
		found[i] = n.String()
	}
	slices.Sort(found)
	return found
}

// Restrict is the plan that deletes no more than an earlier one names: what is
// garbage since then waits, and says so. What was left to the next pass for the
// number of deletions goes if it is named.
func (p *Plan) Restrict(named Named) *Plan {
	q := *p
	q.Decisions = slices.Clone(p.Decisions)
	q.Repositories = slices.Clone(p.Repositories)
	for i := range q.Decisions {
		d := &q.Decisions[i]
		switch means := named.means(d); {
		case d.Postponed && means:
			d.Delete, d.Postponed, d.Reasons = true, false, d.Reasons[1:]
		case d.Delete && !means:
			d.Delete = false
			d.Reasons = []reason.Reason{because(reason.KeptByPolicy, "the plan that is carried out does not name it")}
		}
	}
	q.count()
	q.limit()
	return &q
}

// means tells whether the earlier plan deletes the image under the names that
// it has now.
func (n Named) means(d *Decision) bool {
	planned, ok := n[d.Image.ID]
	if !ok {
		return false
	}
	planned = slices.Sorted(slices.Values(planned))
	return slices.Equal(planned, names(d.Image))
}

// Stale names what an earlier plan deletes and this one keeps, or whose names
// have moved. What is not there any more is done, and not stale.
func (p *Plan) Stale(named Named) []string {
	var stale []string
	for i := range p.Decisions {
		d := &p.Decisions[i]
		if _, ok := named[d.Image.ID]; ok && !(named.means(d) && (d.Delete || d.Postponed)) {
			stale = append(stale, d.Image.Label())
		}
	}
	return stale
}
