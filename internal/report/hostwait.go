package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ebb-io/ebb/internal/image"
	"github.com/ebb-io/ebb/internal/policy"
	"github.com/ebb-io/ebb/internal/reason"
	"github.com/ebb-io/ebb/internal/retention"
)

// waiting is what only time keeps, for the same reasons.
type waiting struct {
	codes       []reason.Code
	images      int
	bytes       int64
	first, last time.Time // when the first and the last of it may go
}

// waits sums up what only time keeps, the most bytes first.
func waits(plan *retention.Plan) []*waiting {
	groups := map[string]*waiting{}
	for i := range plan.Decisions {
		d := &plan.Decisions[i]
		if !d.Waits() {
			continue
		}
		codes := keeping(d.Reasons)
		key := fmt.Sprint(codes)
		w := groups[key]
		if w == nil {
			w = &waiting{codes: codes}
			groups[key] = w
		}
		w.add(d)
	}
	return slices.SortedFunc(maps.Values(groups), func(a, b *waiting) int {
		return cmp.Or(cmp.Compare(b.bytes, a.bytes), cmp.Compare(fmt.Sprint(a.codes), fmt.Sprint(b.codes)))
	})
}

func isWaiting(d retention.Decision) bool { return d.Waits() }

// allWaiting sums it up for the headline.
func allWaiting(plan *retention.Plan) string {
	var all waiting
	for i := range plan.Decisions {
		if d := &plan.Decisions[i]; d.Waits() {
			all.add(d)
		}
	}
	return fmt.Sprintf("%s (%s) can%s from %s", Count(all.images, "image"), Size(all.bytes),
		phrase(all.first.Equal(all.last), "", ", the first"), moment(all.first, plan.Now))
}

func (w *waiting) add(d *retention.Decision) {
	w.images++
	w.bytes += d.Image.Unique()
	if w.first.IsZero() || d.Until.Before(w.first) {
		w.first = d.Until
	}
	if d.Until.After(w.last) {
		w.last = d.Until
	}
}

// keeping are the codes of what keeps an image; why it goes afterwards is said
// behind them.
func keeping(reasons []reason.Reason) []reason.Code {
	var codes []reason.Code
	for _, r := range reasons {
		if r.Code != reason.OlderThanPrevious && r.Code != reason.Untagged && !slices.Contains(codes, r.Code) {
			codes = append(codes, r.Code)
		}
	}
	return codes
}

// hostWaits says what will go later, when, and what takes it now.
func (p *page) hostWaits(plan *retention.Plan) {
	found := waits(plan)
	if len(found) > 0 {
		p.gap()
	}
	for _, w := range found {
		until := "until " + moment(w.first, plan.Now)
		if !w.first.Equal(w.last) {
			until += " to " + moment(w.last, plan.Now)
		}
		p.prose("%s in %s %s %s: %s%s.", p.paint(bold, Size(w.bytes)), Count(w.images, "image"), phrase(w.images == 1, "waits", "wait"), until,
			w.why(plan.Policy), w.sooner())
	}
	if !p.Wide {
		p.capped(waitingTable(plan), mostRows)
	}
	p.postponed(plan)
}

// postponed says what only the number of deletions keeps.
func (p *page) postponed(plan *retention.Plan) {
	images, bytes := 0, int64(0)
	for i := range plan.Decisions {
		if d := &plan.Decisions[i]; d.Postponed {
			images++
			bytes += d.Image.Unique()
		}
	}
	if images == 0 {
		return
	}
	p.gap()
	p.prose("%s in %s %s for the next run: --max-deletes %d.", p.paint(bold, Size(bytes)), Count(images, "image"),
		phrase(images == 1, "waits", "wait"), plan.Policy.MaxDeletes)
}

// waitingTable is what waits, what may go first at the top.
func waitingTable(plan *retention.Plan) *table {
	var found []*retention.Decision
	for _, d := range decided(plan, false) {
		if d.Waits() {
			found = append(found, d)
		}
	}
	slices.SortStableFunc(found, func(a, b *retention.Decision) int { return a.Until.Compare(b.Until) })
	t := &table{columns: []column{{"LATER", true}, {"FROM", false}, {"IMAGE", false}}}
	for _, d := range found {
		t.add(Size(d.Image.Unique()), moment(d.Until, plan.Now), hostTitle(d.Image, d.Repository))
	}
	return t
}

// why says what keeps it for now.
func (w *waiting) why(policy policy.Host) string {
	texts := make([]string, len(w.codes))
	for i, code := range w.codes {
		switch code {
		case reason.TooYoung:
			texts[i] = "first seen less than " + Age(policy.MinAge) + " ago"
		case reason.RecentlyUsed:
			texts[i] = "used or pinned in the last " + Age(policy.UnusedFor)
		case reason.RefusedBefore:
			texts[i] = "the engine would not delete it"
		default:
			texts[i] = string(code)
		}
	}
	return strings.Join(texts, ", ")
}

// sooner are the flags that ask nothing of age; none where one is not enough to
// say so.
func (w *waiting) sooner() string {
	var flags []string
	for _, code := range w.codes {
		switch code {
		case reason.TooYoung, reason.AgeUnknown:
			flags = append(flags, "--min-age 0s")
		case reason.RecentlyUsed:
			flags = append(flags, "--unused-for 0s")
		default:
			return ""
		}
	}
	flags = slices.Compact(flags)
	return "; " + strings.Join(flags, " ") + phrase(len(flags) == 1, " takes ", " take ") + phrase(w.images == 1, "it", "them") + " now"
}

// moment is a time of day, with its day where that is another one.
func moment(t, now time.Time) string {
	t, now = t.UTC(), now.UTC()
	if t.Format(time.DateOnly) == now.Format(time.DateOnly) {
		return t.Format("15:04 UTC")
	}
	return t.Format("2006-01-02 15:04 UTC")
}

// stamp is a time in a table; empty: none.
func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05Z")
}

// hostSkipped says which repositories are left alone, and why.
func (p *page) hostSkipped(plan *retention.Plan) {
	first := true
	for i := range plan.Repositories {
		r := &plan.Repositories[i]
		if r.Skipped == nil {
			continue
		}
		if first {
			p.gap()
			first = false
		}
		detail := phrase(r.Skipped.Detail == "", "", ": "+r.Skipped.Detail)
		p.prose("%s %s (%s)%s.", p.paint(yellow, "Left alone:"), Escape(image.FamiliarRepository(r.Name)), r.Skipped.Code,
			p.digests(EscapeLine(strings.TrimSuffix(detail, "."))))
	}
}

// hostLimits says what holds the plan back.
func (p *page) hostLimits(plan *retention.Plan) {
	if !held(plan) {
		return
	}
	p.gap()
	for _, e := range plan.Exceeded {
		p.prose("%s %s.", p.paint(yellow, "Over a limit:"), exceeded(e))
	}
}

// confirm says what lets a plan go that is over a limit.
func (p *page) confirm(plan *retention.Plan) {
	if held(plan) {
		p.prose("If that is right, run with --confirm %s.", ShellQuote(plan.Engine.Name))
	}
}

func held(plan *retention.Plan) bool { return len(plan.Exceeded) > 0 && !plan.Policy.Confirmed }
