package report

import "github.com/ebb-io/ebb/internal/plan"

// AskText shows what a run is about to delete, short enough to stay on the
// screen above the question.
func AskText(p *plan.Plan, view View) []byte {
	page := &page{View: view}
	page.Quiet = false
	phases := p.Deletions(nil)
	groups := goes(p, phases)
	const most = 10
	t := groupTable(groups[:min(len(groups), most)])
	page.table(t)
	if len(groups) > most {
		page.line("… and %s more, which ebb registry check shows", Count(len(groups)-most, "line"))
	}
	page.gap()
	all := stored(p.Inventory())
	page.prose("%s of %s (%s) will be freed: %s.", page.paint(bold, Size(plan.Size(phases))), Size(all),
		percent(plan.Size(phases), all), counted(p.Totals.Images, phases))
	return page.Bytes()
}
