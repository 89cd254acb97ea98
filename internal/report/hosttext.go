package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ebb-io/ebb/internal/engine"
	"github.com/ebb-io/ebb/internal/image"
	"github.com/ebb-io/ebb/internal/pin"
	"github.com/ebb-io/ebb/internal/reason"
	"github.com/ebb-io/ebb/internal/retention"
)

// HostPlanText shows a plan for a Docker host to a person: what can be
// reclaimed, of what, what stays of each repository, what waits, what is left
// alone, and what to type next.
func HostPlanText(p *retention.Plan, next []string, view View) []byte {
	page := &page{View: view}
	page.hostSummary(p)
	page.hostGoes(p)
	if view.Wide {
		page.hostWide(p, false)
	} else if !view.Quiet {
		page.hostRepositories(p)
		page.hostStays(p)
	}
	page.hostWaits(p)
	page.hostSkipped(p)
	page.hostLimits(p)
	if len(next) == 0 {
		page.confirm(p)
	} else if !view.Quiet {
		page.gap()
		for _, line := range next {
			page.line("%s", line)
		}
	}
	return page.Bytes()
}

// HostAskText shows what a run is about to delete, short enough to stay on the
// screen above the question.
func HostAskText(p *retention.Plan, view View) []byte {
	page := &page{View: view}
	page.Quiet = false
	const mostImages = 15
	page.capped(goingTable(p), mostImages)
	page.hostLimits(p)
	page.confirm(p)
	page.gap()
	page.prose("%s of %s (%s) will be freed, by estimate: %s of %s.", page.paint(bold, Size(p.Totals.ReclaimableBytes)), Size(p.Totals.Bytes),
		percent(p.Totals.ReclaimableBytes, p.Totals.Bytes), Number(int64(p.Totals.Delete)), Count(p.Totals.Images, "image"))
	page.noDigest(p)
	return page.Bytes()
}

func (p *page) hostSummary(plan *retention.Plan) {
	t := plan.Totals
	switch {
	case t.Images == 0:
		p.prose("%s: there are no images.", p.paint(green, "Nothing can be reclaimed"))
		return
	case t.Delete == 0 && slices.ContainsFunc(plan.Decisions, isWaiting):
		p.prose("%s: %s.", p.paint(bold, "Nothing can go yet"), allWaiting(plan))
	case t.Delete == 0:
		p.prose("%s of %s in %s.", p.paint(green, "Nothing can be reclaimed"), Size(t.Bytes), Count(t.Images, "image"))
	default:
		p.prose("%s of %s (%s) can be reclaimed: %s of %s.", p.paint(bold, Size(t.ReclaimableBytes)), Size(t.Bytes),
			percent(t.ReclaimableBytes, t.Bytes), Number(int64(t.Delete)), Count(t.Images, "image"))
	}
	if t.Keep > 0 {
		p.prose("%s %s: %s.", Count(t.Keep, "image"), phrase(t.Keep == 1, "stays", "stay"), whyKeptOnHost(plan))
	}
}

// unpinned is what is counted as one where an image is of no pinned repository.
const unpinned = "of no pinned repository"

// whyKeptOnHost counts the kept images by their strongest reason.
func whyKeptOnHost(plan *retention.Plan) string {
	counts, others := map[reason.Code]int{}, 0
	for i := range plan.Decisions {
		switch d := &plan.Decisions[i]; {
		case d.Delete:
		case d.Repository == "" && d.Reasons[0].Code == reason.Unclaimed:
			others++
		default:
			counts[d.Reasons[0].Code]++
		}
	}
	var parts []string
	for _, code := range byCount(counts) {
		parts = append(parts, fmt.Sprintf("%s %s", code, Number(int64(counts[code]))))
	}
	if others > 0 {
		parts = append(parts, fmt.Sprintf("%s %s", unpinned, Number(int64(others))))
	}
	return strings.Join(parts, ", ")
}

func (p *page) hostGoes(plan *retention.Plan) {
	if p.Wide {
		p.hostWide(plan, true)
		return
	}
	t := goingTable(plan)
	if len(t.rows) > 0 {
		p.gap()
		p.capped(t, mostRows)
		p.noDigest(plan)
	}
}

// goingTable is what goes, the most bytes first.
func goingTable(plan *retention.Plan) *table {
	t := &table{columns: []column{{"FREES", true}, {"REASON", false}, {"IMAGE", false}}}
	for _, d := range decided(plan, true) {
		t.add(Size(d.Image.Unique()), string(d.Reasons[0].Code), hostTitle(d.Image, d.Repository))
	}
	return t
}

// decided are the decisions to delete, the most bytes first, or those to keep,
// in the plan's order.
func decided(plan *retention.Plan, goes bool) []*retention.Decision {
	var found []*retention.Decision
	for i := range plan.Decisions {
		if plan.Decisions[i].Delete == goes {
			found = append(found, &plan.Decisions[i])
		}
	}
	if goes {
		slices.SortStableFunc(found, func(a, b *retention.Decision) int { return cmp.Compare(b.Image.Unique(), a.Image.Unique()) })
	}
	return found
}

// hostTitle is an image as people call it: by its names, else by where it came
// from, else by its ID.
func hostTitle(img *engine.Image, repository string) string {
	if len(img.Names) > 0 {
		return familiar(img.Names)
	}
	from := repository
	if len(img.Digests) > 0 {
		from = cmp.Or(from, img.Digests[0].Repository)
	}
	if from == "" {
		return img.ID.Short()
	}
	return image.FamiliarRepository(from) + " " + img.ID.Short()
}

func familiar(names []image.Name) string {
	texts := make([]string, len(names))
	for i, n := range names {
		texts[i] = n.Familiar()
	}
	return strings.Join(texts, ", ")
}

// noDigest says of what goes that no registry has it, or that none may.
func (p *page) noDigest(plan *retention.Plan) {
	var lost, doubtful []string
	for _, d := range decided(plan, true) {
		switch digests, certain := d.Image.Pullable(plan.Engine.Store, d.Repository); {
		case len(digests) == 0:
			lost = append(lost, hostTitle(d.Image, d.Repository))
		case !certain:
			doubtful = append(doubtful, hostTitle(d.Image, d.Repository))
		}
	}
	p.perhapsLost("Gone for good:", lost, "no digest, can't be pulled again")
	p.perhapsLost("Perhaps gone for good:", doubtful, "it may be in no registry")
}

// perhapsLost names a few images, and says why they will be hard to have again.
func (p *page) perhapsLost(head string, titles []string, why string) {
	const few = 3
	if len(titles) == 0 {
		return
	}
	more := phrase(len(titles) > few, fmt.Sprintf(" and %d more", len(titles)-few), "")
	shown := slices.Clone(titles[:min(len(titles), few)])
	for i, title := range shown {
		shown[i] = elide(Escape(title), p.Width-len(",")) // what follows a name stands beside it
	}
	p.prose("%s %s%s: %s.", p.paint(yellow, head), strings.Join(shown, ", "), more, why)
}

// hostRepositories has one line for each pinned repository: what is kept in it
// as a pin and as one step back.
func (p *page) hostRepositories(plan *retention.Plan) {
	t := &table{columns: []column{{"GO", false}, {"LATER", true}, {"PINNED", false}, {"ONE STEP BACK", false}, {"REPOSITORY", false}}}
	later := 0
	for i := range plan.Repositories {
		r := &plan.Repositories[i]
		later += r.Candidates - r.Delete
		t.add(fmt.Sprintf("%d of %d", r.Delete, r.Images), strconv.Itoa(r.Candidates-r.Delete),
			orDash(endings(pin.Names(r.Pins))), orDash(endings(r.Previous)), image.FamiliarRepository(r.Name))
	}
	if later == 0 {
		t.drop(1)
	}
	if len(t.rows) > 0 {
		p.gap()
		p.capped(t, mostRows)
	}
}

// endings are a few names of one repository without it.
func endings(names []image.Name) string {
	const few = 2
	texts := Endings(names)
	if len(texts) > few {
		return fmt.Sprintf("%s and %d more", texts[0], len(texts)-1)
	}
	return strings.Join(texts, ", ")
}

// Endings are names of one repository without it, each once.
func Endings(names []image.Name) []string {
	var texts []string
	for _, n := range names {
		text := n.Tag
		if text == "" && n.Digested {
			text = n.Digest.Short()
		}
		if !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	return texts
}

// hostStays lists what stays of the pinned repositories, when asked.
func (p *page) hostStays(plan *retention.Plan) {
	if !p.Verbose {
		return
	}
	t := &table{columns: []column{{"KEEPS", true}, {"REASON", false}, {"IMAGE", false}}}
	for _, d := range decided(plan, false) {
		t.add(Size(d.Image.Unique()), string(d.Reasons[0].Code), hostTitle(d.Image, d.Repository))
	}
	if len(t.rows) > 0 {
		p.gap()
		p.table(t)
	}
}

// hostWide has one line for each image.
func (p *page) hostWide(plan *retention.Plan, goes bool) {
	t := &table{columns: []column{
		{"DECISION", false},
		{"REPOSITORY", false},
		{"ID", false},
		{"NAMES", false},
		{"EXCLUSIVE", true},
		{"SHARED", true},
		{"UNTIL", false},
		{"REASONS", false},
	}}
	for _, d := range decided(plan, goes) {
		t.add(verdict(d.Delete), orDash(image.FamiliarRepository(d.Repository)), p.digests(d.Image.ID.String()), orDash(familiar(d.Image.Names)),
			Size(d.Image.Unique()), Size(max(d.Image.Shared, 0)), orDash(stamp(d.Until)), p.digests(reasonText(d.Reasons)))
	}
	if len(t.rows) > 0 {
		p.gap()
		p.wideTable(t)
	}
}

// HostNames are the names of the images that the plan deletes and gone does not
// leave out, one a line; an image without a name is its ID.
func HostNames(p *retention.Plan, gone func(image.Digest) bool) []byte {
	page := &page{}
	for i := range p.Decisions {
		d := &p.Decisions[i]
		if !d.Delete || gone != nil && !gone(d.Image.ID) {
			continue
		}
		for _, n := range d.Image.Names {
			page.line("%s", Escape(n.Familiar()))
		}
		if len(d.Image.Names) == 0 {
			page.line("%s", d.Image.ID)
		}
	}
	return page.Bytes()
}
