package report

import (
	"fmt"
	"strings"
	"time"

	"github.com/ebb-io/ebb/internal/image"
	"github.com/ebb-io/ebb/internal/retention"
)

// HostResultText shows a run on a Docker host to a person: what failed, what
// waits, what is left alone, and in its last line what was deleted and freed,
// and what to do next.
func HostResultText(p *retention.Plan, o HostOutcome, next string, view View) []byte {
	page := &page{View: view}
	page.hostGone(p, o)
	page.hostFailures("Failed:", "could not be deleted", o.Failed)
	page.hostFailures("Refused:", "stayed, as the engine would not delete it", o.Refused)
	page.hostFailures("Skipped:", "changed meanwhile and stayed", o.Skipped)
	page.hostWaits(p)
	page.hostSkipped(p)
	page.gap()
	page.prose("%s", page.hostEnd(o, next))
	return page.Bytes()
}

// hostGone lists what is gone.
func (p *page) hostGone(plan *retention.Plan, o HostOutcome) {
	gone := map[image.Digest]bool{}
	for _, id := range o.Gone {
		gone[id] = true
	}
	t := &table{columns: []column{{"FREED", true}, {"REASON", false}, {"IMAGE", false}}}
	for _, d := range decided(plan, true) {
		if gone[d.Image.ID] {
			t.add(Size(d.Image.Unique()), string(d.Reasons[0].Code), hostTitle(d.Image, d.Repository))
		}
	}
	if p.Wide {
		p.wideTable(t)
		return
	}
	p.capped(t, mostRows)
}

func (p *page) hostFailures(head, what string, failed []HostFailure) {
	if len(failed) == 0 {
		return
	}
	p.gap()
	p.prose("%s %s %s.", p.paint(red, head), Count(len(failed), "image"), what)
	for _, f := range failed {
		title := strings.Join(familiarTexts(f.Names), ", ")
		if title == "" {
			title = f.ID
		}
		p.hanging("  ", Escape(title))
		p.hanging("      ", p.digests(EscapeLine(f.Error)))
	}
}

// familiarTexts are full names as people write them. What is no name stays.
func familiarTexts(names []string) []string {
	texts := make([]string, len(names))
	for i, text := range names {
		texts[i] = text
		if n, err := image.ParseName(text); err == nil {
			texts[i] = n.Familiar()
		}
	}
	return texts
}

// hostEnd is the last line: what was done, and what to do next.
func (p *page) hostEnd(o HostOutcome, next string) string {
	text := phrase(o.Stopped == "" && !o.Begun(), "There was nothing to delete.", "Nothing was deleted.")
	if o.Deleted.Images > 0 {
		text = fmt.Sprintf("%s (%s) deleted in %s: %s by estimate%s.", Count(o.Deleted.Images, "image"), Count(o.Deleted.Names, "name"),
			took(o.FinishedAt.Sub(o.StartedAt)), p.paint(bold, Size(o.FreedBytes)), measured(o))
	}
	if o.Stopped != "" && o.Begun() {
		text += fmt.Sprintf(" %s the run did not come to its end.", p.paint(yellow, "Stopped:"))
	}
	if next != "" {
		text += " " + p.paint(bold, "Next:") + " " + next
	}
	return text
}

func measured(o HostOutcome) string {
	switch {
	case !o.Measured:
		return ", not measured"
	case o.MeasuredFreedBytes <= 0:
		return ", and the free space did not grow meanwhile"
	}
	return ", " + Size(o.MeasuredFreedBytes) + " measured"
}

func took(d time.Duration) string {
	if d < time.Second {
		return d.Round(time.Millisecond).String()
	}
	return d.Round(100 * time.Millisecond).String()
}
