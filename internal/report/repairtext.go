package report

import (
	"strings"

	"github.com/ebb-io/ebb/internal/policy"
	"github.com/ebb-io/ebb/internal/repair"
)

// Text shows the repair to a person: what is lost by it first, then what takes
// a person, and last what loses nothing.
func (r Repair) Text(next []string, view View) []byte {
	page := &page{View: view}
	page.repairHead(r)
	page.repairFailures(r)
	page.losses(r)
	page.beyondRepair(r)
	page.harmless(r)
	page.repairLimits(r)
	if r.Applied {
		page.repairAfterwards(r)
	} else if len(r.Actions) > 0 && len(next) > 0 && !page.Quiet {
		page.gap()
		for _, line := range next {
			page.line("%s", line)
		}
	}
	return page.Bytes()
}

// done are the actions that were carried out.
func (r Repair) done() []RepairAction {
	var done []RepairAction
	for _, a := range r.Actions {
		if a.Done {
			done = append(done, a)
		}
	}
	return done
}

func (p *page) repairHead(r Repair) {
	t := r.Totals
	switch {
	case r.Applied && len(r.Actions) > 0:
		p.prose("%s %s of %s done. %s", p.paint(bold, "Mended:"), Number(int64(len(r.done()))), Count(len(r.Actions), "step"),
			phrase(r.Stopped != "", "The repair did not come to its end: repair again, it goes on where this one stopped.", ""))
	case len(r.Actions) == 0 && t.Remaining == 0:
		p.prose("%s", p.paint(green, "There is nothing to mend."))
	case len(r.Actions) == 0:
		p.prose("Nothing of the damage can be mended without a person.")
	case t.lost() == 0:
		p.prose("%s", p.paint(bold, "Nothing would be lost by this repair."))
	default:
		p.prose("%s %s. None of them can be pulled as it is.", p.paint(yellow, "This repair would lose"), t.lostText())
	}
}

func (t RepairTotals) lost() int { return t.LostTags + t.LostImages + t.LostLayerLinks }

func (t RepairTotals) lostText() string {
	return counts([]part{{t.LostTags, "tag"}, {t.LostImages, "image"}, {t.LostLayerLinks, "layer link"}})
}

type part struct {
	n    int
	noun string
}

func counts(of []part) string {
	var parts []string
	for _, c := range of {
		if c.n > 0 {
			parts = append(parts, Count(c.n, c.noun))
		}
	}
	return strings.Join(parts, ", ")
}

func (p *page) repairFailures(r Repair) {
	var failed []RepairAction
	for _, a := range r.Actions {
		if a.Error != "" {
			failed = append(failed, a)
		}
	}
	if len(failed) == 0 {
		return
	}
	p.gap()
	p.prose("%s %s could not be taken; what it is about stays as it was.", p.paint(red, "Failed:"), Count(len(failed), "step"))
	for _, a := range failed {
		p.line("  %s  %s", p.paint(red, a.Action), Escape(a.Path))
		p.hanging("      ", EscapeLine(a.Error))
	}
}

// losses are the actions that lose something, by kind: what goes, why, and what
// is lost by it.
func (p *page) losses(r Repair) {
	for _, kind := range []struct {
		kind            repair.Kind
		noun, why, many string
	}{
		{repair.RemoveTag, "tag", "the manifest behind it is gone from the storage", "the manifests behind them are gone from the storage"},
		{repair.RemoveRevision, "image", "its manifest is gone from the storage", "their manifests are gone from the storage"},
		{
			repair.RemoveLayerLink, "layer link", "its blob is gone from the storage, and no image of its repository needs it",
			"their blobs are gone from the storage, and no image of their repositories needs them",
		},
	} {
		var rows []RepairAction
		for _, a := range r.Actions {
			if a.Action == string(kind.kind) && (!r.Applied || a.Done) {
				rows = append(rows, a)
			}
		}
		if len(rows) == 0 {
			continue
		}
		p.gap()
		p.prose("%s, %s: %s. %s: %s.", p.paint(yellow, string(kind.kind)), Count(len(rows), kind.noun), phrase(len(rows) == 1, kind.why, kind.many),
			phrase(r.Applied, "Lost", "Would be lost"), rows[0].Loses)
		shown := p.shown(len(rows), mostRows)
		for _, a := range rows[:shown] {
			p.line("  %s", a.subject(p))
		}
		p.more(len(rows)-shown, "-v shows all")
	}
}

// subject names what an action is about as an image is named.
func (a RepairAction) subject(p *page) string {
	switch a.Action {
	case string(repair.RemoveTag):
		return Escape(a.Repository+":"+a.Tag) + "  " + p.digests(a.Digest)
	case string(repair.RemoveRevision), string(repair.RemoveLayerLink):
		return Escape(a.Repository) + "@" + p.digests(a.Digest)
	}
	return Escape(a.Path)
}

// beyondRepair lists what takes a person, and what one can do.
func (p *page) beyondRepair(r Repair) {
	if len(r.Remaining) == 0 {
		return
	}
	p.gap()
	p.prose("%s %s, which %s a person.", p.paint(red, "Not mended:"), Count(len(r.Remaining), "problem"),
		phrase(len(r.Remaining) == 1, "takes", "take"))
	shown := p.shown(len(r.Remaining), mostRows)
	for _, left := range r.Remaining[:shown] {
		p.line("  %s  %s", p.paint(red, string(left.Code)), Escape(left.Path))
		p.hanging("      ", p.digests(EscapeLine(left.Detail)))
		p.hanging("      ", "to do: "+left.Remedy)
	}
	p.more(len(r.Remaining)-shown, "-v shows all")
}

// harmless sums up what loses nothing, and lists it when asked.
func (p *page) harmless(r Repair) {
	var rows []RepairAction
	var t RepairTotals
	for _, a := range r.Actions {
		if a.Loses == "" && (!r.Applied || a.Done) {
			rows = append(rows, a)
			t.add(&repair.Action{Kind: repair.Kind(a.Action), Bytes: a.Bytes})
		}
	}
	if len(rows) == 0 {
		return
	}
	p.gap()
	p.prose("%s %s.", phrase(r.Applied, "Done without a loss:", "Without a loss:"), t.harmlessText(r.Applied))
	if !p.Verbose && !p.Wide && p.Width > 0 {
		rows = nil // the written links alone are worth a look
		for _, a := range r.Actions {
			if a.Action == string(repair.WriteLink) && (!r.Applied || a.Done) {
				rows = append(rows, a)
			}
		}
	}
	shown := p.shown(len(rows), mostRows)
	for _, a := range rows[:shown] {
		p.line("  %s  %s", a.Action, Escape(a.Path))
		p.hanging("      ", p.digests(EscapeLine(a.Reason)))
	}
	p.more(len(rows)-shown, "-v shows all")
}

func (t RepairTotals) harmlessText(done bool) string {
	var parts []string
	if t.WrittenLinks > 0 {
		parts = append(parts, Count(t.WrittenLinks, "link")+" written anew from "+phrase(t.WrittenLinks == 1, "its path", "their paths"))
	}
	if t.TemporaryFiles > 0 {
		parts = append(parts, Count(t.TemporaryFiles, "temporary file")+" ("+Size(t.TemporaryBytes)+phrase(done, " freed)", ")"))
	}
	if t.Folders > 0 {
		parts = append(parts, Count(t.Folders, "empty folder"))
	}
	return strings.Join(parts, ", ")
}

func (p *page) repairLimits(r Repair) {
	if len(r.Exceeded) == 0 || r.Applied {
		return
	}
	p.gap()
	for _, e := range r.Exceeded {
		p.prose("%s %s.", p.paint(yellow, "Over a limit:"), exceeded(policy.Excess(e)))
	}
	p.prose("A volume of blobs that is not mounted looks like this. If it is right all the same, repair with --confirm %s.", ShellQuote(r.Store.Name))
}

func (p *page) repairAfterwards(r Repair) {
	p.memory(r.Memory, len(r.done()) > 0)
}
