package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ebb-io/ebb/internal/inventory"
	"github.com/ebb-io/ebb/internal/plan"
	"github.com/ebb-io/ebb/internal/policy"
	"github.com/ebb-io/ebb/internal/reason"
)

// mostRows is how much of a list a terminal shows.
const mostRows = 20

// PlanText shows a plan to a person: what can be reclaimed, of what, what
// stands against it, what is damaged, and what to type next.
func PlanText(p *plan.Plan, store Store, next []string, view View) []byte {
	page := &page{View: view}
	page.summary(p)
	page.goes(p)
	page.keeps(p)
	page.limits(p, store)
	page.damage(p.Inventory().Problems, mostRows)
	if len(next) > 0 && !view.Quiet && !isEmpty(p) {
		page.gap()
		for _, line := range next {
			page.line("%s", line)
		}
	}
	return page.Bytes()
}

func isEmpty(p *plan.Plan) bool {
	for range p.Items() {
		return false
	}
	return true
}

func (p *page) summary(plan *plan.Plan) {
	t := plan.Totals
	if isEmpty(plan) {
		p.prose("%s of %s%s", p.paint(green, "Nothing can be reclaimed"), Size(t.Bytes),
			phrase(t.Images == 0, ": there are no images.", "."))
	} else {
		all := stored(plan.Inventory())
		p.prose("%s of %s (%s) can be reclaimed: %s.", p.paint(bold, Size(t.ReclaimableBytes)), Size(all),
			percent(t.ReclaimableBytes, all), counted(plan))
	}
	if t.Keep > 0 {
		p.prose("%s %s: %s.", Count(t.Keep, "image"), phrase(t.Keep == 1, "stays", "stay"), p.whyKept(plan))
	}
	p.untagged(plan)
}

// stored is the size of all blobs and uploads.
func stored(inv *inventory.Inventory) int64 {
	bytes := int64(0)
	for id := range inv.Contents.Blobs() {
		bytes += max(inv.Contents.At(inventory.ID(id)).Size, 0)
	}
	for i := range inv.Repositories {
		for _, u := range inv.Repositories[i].Uploads {
			bytes += u.Size
		}
	}
	for _, u := range inv.Unfinished {
		bytes += u.Size
	}
	return bytes
}

// counted says how much goes: images and uploads, and where neither does, the
// little that else is to be tidied up.
func counted(p *plan.Plan) string {
	counts := map[inventory.ItemKind]int{}
	for item := range p.Items() {
		counts[item.Kind]++
	}
	var parts []string
	if n := counts[inventory.Revision]; n > 0 {
		parts = append(parts, fmt.Sprintf("%s of %s", Number(int64(n)), Count(p.Totals.Images, "image")))
	}
	for _, other := range []struct {
		kind inventory.ItemKind
		noun string
		main bool
	}{
		{inventory.UploadFolder, "upload", true},
		{inventory.UnfinishedUpload, "unfinished upload", true},
		{inventory.RepositoryFolder, "empty repository", false},
		{inventory.ManifestBlob, "manifest of no image", false},
		{inventory.Blob, "blob of no image", false},
		{inventory.LayerLink, "layer link", false},
		{inventory.TagFolder, "tag", false},
	} {
		if n := counts[other.kind]; n > 0 && (other.main || len(parts) == 0) {
			parts = append(parts, Count(n, other.noun))
		}
	}
	return strings.Join(parts, ", ")
}

func phrase(condition bool, yes, no string) string {
	if condition {
		return yes
	}
	return no
}

// whyKept counts the kept images by their strongest reason.
func (p *page) whyKept(plan *plan.Plan) string {
	counts := map[reason.Code]int{}
	for i := range plan.Decisions {
		if d := &plan.Decisions[i]; !d.Delete {
			counts[d.Reasons[0].Code]++
		}
	}
	var parts []string
	for _, code := range byCount(counts) {
		parts = append(parts, fmt.Sprintf("%s %s", code, Number(int64(counts[code]))))
	}
	return strings.Join(parts, ", ")
}

func (p *page) goes(plan *plan.Plan) {
	if p.Wide {
		p.images(plan, true)
		return
	}
	p.groups(goes(plan))
}

func (p *page) groups(groups []*group) {
	if len(groups) == 0 {
		return
	}
	p.gap()
	p.capped(groupTable(groups), mostRows)
}

func groupTable(groups []*group) *table {
	t := &table{columns: []column{{"FREES", true}, {"IMAGES", true}, {"REASON", false}, {"REPOSITORY", false}}}
	for _, g := range groups {
		t.add(Size(g.bytes), g.count(), g.why(), g.title)
	}
	return t
}

func (g *group) count() string {
	if g.images == 0 {
		return "-"
	}
	return fmt.Sprintf("%d of %d", g.images, g.of)
}

// why is up to two reasons, so that the repository still fits beside them.
func (g *group) why() string {
	codes := g.codes()
	switch len(codes) {
	case 0:
		return "-"
	case 1:
		return string(codes[0])
	case 2:
		return string(codes[0]) + ", " + string(codes[1])
	}
	return fmt.Sprintf("%s and %d more", codes[0], len(codes)-1)
}

// keeps lists what stays, when asked.
func (p *page) keeps(plan *plan.Plan) {
	if p.Wide {
		p.images(plan, false)
		return
	}
	if !p.Verbose {
		return
	}
	groups := kept(plan)
	if len(groups) == 0 {
		return
	}
	p.gap()
	t := &table{columns: []column{{"KEEPS", true}, {"IMAGES", true}, {"REASON", false}, {"REPOSITORY", false}}}
	for _, g := range groups {
		t.add(Size(g.bytes), g.count(), g.why(), g.title)
	}
	p.table(t)
}

// kept sums up what stays, by repository in their order; bytes that several
// images share count for each.
func kept(plan *plan.Plan) []*group {
	var groups []*group
	of := 0
	for i := range plan.Decisions {
		d := &plan.Decisions[i]
		if i == 0 || plan.Decisions[i-1].Repository != d.Repository {
			of = 0
		}
		of++
		last := len(groups) - 1
		if !d.Delete && (last < 0 || groups[last].title != d.Repository) {
			groups = append(groups, &group{title: d.Repository, reasons: map[reason.Code]int{}})
			last++
		}
		if !d.Delete {
			groups[last].images++
			groups[last].bytes += d.Bytes.Exclusive + d.Bytes.Shared
			groups[last].reasons[d.Reasons[0].Code]++
		}
		if last >= 0 && groups[last].title == d.Repository {
			groups[last].of = of
		}
	}
	return groups
}

// limits says what holds the plan back, and what lets it go.
func (p *page) limits(plan *plan.Plan, store Store) {
	if len(plan.Held)+len(plan.Exceeded) == 0 || plan.Policy.Confirmed {
		return
	}
	p.gap()
	for _, h := range plan.Held {
		p.prose("%s %s.", p.paint(yellow, "Held:"), HeldText(h))
	}
	for _, e := range plan.Exceeded {
		p.prose("%s %s.", p.paint(yellow, "Over a limit:"), exceeded(e))
	}
	p.prose("If that is right, run with --confirm %s.", ShellQuote(store.Name))
}

// HeldText says of a kind that nothing of it is deleted, and why.
func HeldText(h plan.Held) string {
	return fmt.Sprintf("there is no %s at all, so %s of them %s kept (rule %s)",
		h.Kind, Count(h.Repositories, "repository"), phrase(h.Repositories == 1, "is", "are"), h.Rule)
}

func exceeded(e policy.Excess) string {
	part, whole := Number(e.Part), Number(e.Whole)+" "+e.What
	if e.What == "bytes" {
		part, whole = Size(e.Part), Size(e.Whole)
	}
	return fmt.Sprintf("%s of %s (%s) would be deleted, --max-delete-share allows %s",
		part, whole, percent(e.Part, e.Whole), e.Allowed)
}

// damage lists what is wrong, on a terminal only so much of it, and apart, when
// asked, what is merely not understood.
func (p *page) damage(problems []inventory.Problem, most int) {
	damaged, odd := split(problems)
	if len(damaged) > 0 && !p.Quiet {
		p.gap()
		p.prose("%s %s. Whatever may need what is damaged is kept.", p.paint(red, "Damage:"), Count(len(damaged), "problem"))
		shown := p.shown(len(damaged), most)
		p.problems(damaged[:shown])
		p.more(len(damaged)-shown, "ebb registry verify shows all")
		p.remedy()
	}
	if (p.Verbose || p.Wide) && !p.Quiet {
		p.odd(odd)
	}
}

func split(problems []inventory.Problem) (damaged, odd []inventory.Problem) {
	for _, problem := range problems {
		if problem.Damage() {
			damaged = append(damaged, problem)
			continue
		}
		odd = append(odd, problem)
	}
	return damaged, odd
}

func (p *page) odd(problems []inventory.Problem) {
	for _, kind := range []struct {
		code inventory.ProblemCode
		text string
	}{
		{inventory.NotUnderstood, "Not understood, and kept with all that its repository holds; this is no damage:"},
		{inventory.PartsUnseen, "Not seen, and kept: uploads in parts that were never finished; this is no damage:"},
	} {
		found := slices.DeleteFunc(slices.Clone(problems), func(o inventory.Problem) bool { return o.Code != kind.code })
		if len(found) > 0 {
			p.gap()
			p.prose("%s", kind.text)
			p.problems(found)
		}
	}
}

// remedy says where to read on.
func (p *page) remedy() { p.prose("What to do about each: docs/registry.md, Damage.") }

// problems are two lines each, as paths are long and must be whole.
func (p *page) problems(problems []inventory.Problem) {
	for _, problem := range problems {
		p.line("  %s  %s", p.paint(red, string(problem.Code)), Escape(problem.Path))
		if problem.Detail != "" {
			p.hanging("      ", p.digests(EscapeLine(problem.Detail)))
		}
	}
}
