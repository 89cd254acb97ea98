package report

import (
	"strings"
	"time"

	"github.com/ebb-io/ebb/internal/execute"
	"github.com/ebb-io/ebb/internal/inventory"
	"github.com/ebb-io/ebb/internal/plan"
)

// ResultText shows a run to a person: what was freed and deleted, what failed,
// what is damaged, what is held, and what to do next.
func ResultText(p *plan.Plan, store Store, o Outcome, view View) []byte {
	page := &page{View: view}
	page.freed(p, store, o)
	page.failures(o.Failed)
	if len(p.Held) > 0 {
		page.limits(p, store)
	}
	page.damage(p.Inventory().Problems, mostRows)
	page.afterwards(store, o)
	return page.Bytes()
}

func (p *page) freed(plan *plan.Plan, store Store, o Outcome) {
	if !o.deletedAny() {
		p.prose("%s", phrase(o.Stopped == "" && len(o.Failed) == 0, "There was nothing to delete.", "Nothing was deleted."))
		return
	}
	p.prose("%s %s: %s deleted in %s.", p.paint(bold, Size(o.FreedBytes)),
		phrase(store.Versioned == VersionsKept, "will be free when old versions expire", "freed"), deletedText(o.Deleted), lasted(o))
	if o.MeasuredFreedBytes > 0 {
		p.prose("The volume's free space grew by %s (others may write there too).", Size(o.MeasuredFreedBytes))
	}
	if o.Stopped != "" {
		p.prose("%s the run did not come to its end. Run again: it goes on where this one stopped.", p.paint(yellow, "Stopped:"))
	}
	if o.Stopped == "" && o.Deleted.Manifests == revisions(plan) { // else more stays than the plan keeps
		p.prose("%s %s.", Count(plan.Totals.Keep, "image"), phrase(plan.Totals.Keep == 1, "stays", "stay"))
	}
}

func revisions(p *plan.Plan) int {
	n := 0
	for item := range p.Items() {
		if item.Kind == inventory.Revision {
			n++
		}
	}
	return n
}

func deletedText(d execute.Deleted) string {
	var parts []string
	for _, part := range []struct {
		n    int
		noun string
	}{
		{d.Manifests, "image"},
		{d.Tags, "tag"},
		{d.LayerLinks, "layer link"},
		{d.Blobs, "blob"},
		{d.Uploads, "upload"},
		{d.Repositories, "repository"},
	} {
		if part.n > 0 {
			parts = append(parts, Count(part.n, part.noun))
		}
	}
	return strings.Join(parts, ", ")
}

func lasted(o Outcome) string {
	d := o.FinishedAt.Sub(o.StartedAt)
	if d < time.Second {
		return d.Round(time.Millisecond).String()
	}
	return d.Round(100 * time.Millisecond).String()
}

func (p *page) failures(failed []Failure) {
	if len(failed) == 0 {
		return
	}
	p.gap()
	p.prose("%s %s could not be deleted; what they need is kept.", p.paint(red, "Failed:"), Count(len(failed), "item"))
	for _, f := range failed {
		p.line("  %s", Escape(f.Path))
		p.line("      %s", EscapeLine(f.Error))
	}
}

func (p *page) afterwards(store Store, o Outcome) {
	if store.Versioned == VersionsKept && o.deletedAny() {
		p.gap()
		p.prose("%s the bucket keeps old versions: the room is free when they expire by its lifecycle rules.", p.paint(yellow, "Not yet free:"))
	}
	p.memory(o.Memory, o.deletedAny())
}

// memory says what the registry still remembers, if anything is gone.
func (p *page) memory(m Memory, gone bool) {
	if m.Flushed > 0 {
		p.prose("%s removed from the registry's cache in Redis.", Count(m.Flushed, "entry"))
	}
	if m.Remedy != "" && gone {
		p.gap()
		p.prose("%s %s.", p.paint(bold, "Next:"), EscapeLine(m.Remedy))
	}
}
