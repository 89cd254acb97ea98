package retention

import (
	"maps"
	"slices"

	"github.com/ebb-io/ebb/internal/image"
	"github.com/ebb-io/ebb/internal/policy"
	"github.com/ebb-io/ebb/internal/reason"
)

// postpone leaves what is over the number of deletions to the next pass.
func (p *Plan) postpone() {
	if p.Policy.MaxDeletes == policy.Unlimited {
		return
	}
	left := p.Policy.MaxDeletes
	for i := range p.Decisions {
		d := &p.Decisions[i]
		if !d.Delete {
			continue
		}
		if left--; left < 0 {
			d.Delete, d.Postponed = false, true
			d.Reasons = append([]reason.Reason{
				because(reason.KeptByPolicy, "next time: --max-deletes %d", p.Policy.MaxDeletes),
			}, d.Reasons...)
		}
	}
}

// sum counts, for all and for each pinned repository.
func (p *Plan) sum(repositories map[string]*repository) {
	p.Repositories = nil
	for _, name := range slices.Sorted(maps.Keys(repositories)) {
		r := repositories[name]
		p.Repositories = append(p.Repositories, Repository{
			Name: name, Pins: r.pins, Previous: r.previous(), Skipped: r.skipped,
		})
	}
	p.count()
}

// previous are the names that are kept as one step back.
func (r *repository) previous() []image.Name {
	var names []image.Name
	for _, bs := range r.bounds {
		for _, b := range bs {
			names = append(names, b.previous...)
		}
	}
	slices.SortFunc(names, image.Name.Compare)
	return slices.Compact(names)
}

// count fills in the numbers from the decisions.
func (p *Plan) count() {
	p.Totals = Totals{Images: len(p.Decisions)}
	numbers := map[string]*Repository{}
	for i := range p.Repositories {
		r := &p.Repositories[i]
		r.Images, r.Candidates, r.Delete, r.Bytes = 0, 0, 0, 0
		numbers[r.Name] = r
	}
	shared := int64(0)
	for i := range p.Decisions {
		d := &p.Decisions[i]
		p.Totals.Bytes += d.Image.Unique()
		shared = max(shared, d.Image.Shared)
		if d.Delete {
			p.Totals.Delete++
			p.Totals.ReclaimableBytes += d.Image.Unique()
		}
		if r := numbers[d.Repository]; r != nil {
			r.add(d)
		}
	}
	p.Totals.Bytes += shared
	p.Totals.Keep = p.Totals.Images - p.Totals.Delete
}

func (r *Repository) add(d *Decision) {
	r.Images++
	if d.Delete {
		r.Delete++
		r.Bytes += d.Image.Unique()
	}
	if d.Delete || d.Postponed || !d.Until.IsZero() {
		r.Candidates++
	}
}

// limit compares the plan with the share that it may delete.
func (p *Plan) limit() {
	p.Exceeded = p.Policy.MaxDeleteShare.Excess("images", int64(p.Totals.Delete), int64(p.Totals.Images))
}
