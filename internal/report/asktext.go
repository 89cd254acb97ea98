package report

import "github.com/ebb-io/ebb/internal/plan"

// AskText shows what a run is about to delete, and what speaks for looking
// twice, short enough to stay on the screen above the question.
func AskText(p *plan.Plan, store Store, view View) []byte {
	page := &page{View: view}
	page.Quiet = false
	const mostGroups, mostProblems = 10, 3
	page.capped(groupTable(goes(p)), mostGroups)
	page.limits(p, store)
	page.damage(p.Inventory().Problems, mostProblems)
	page.gap()
	all := stored(p.Inventory())
	page.prose("%s of %s (%s) will be freed: %s.", page.paint(bold, Size(p.Totals.ReclaimableBytes)), Size(all),
		percent(p.Totals.ReclaimableBytes, all), counted(p))
	return page.Bytes()
}
