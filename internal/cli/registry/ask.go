package registry

import (
	"context"
	"fmt"

	"github.com/ebb-io/ebb/internal/plan"
	"github.com/ebb-io/ebb/internal/report"
)

// ask shows what will go and wants the whole word: no letter hit by chance
// deletes anything. Where nothing goes there is nothing to ask.
func (r *run) ask(ctx context.Context, p *plan.Plan) (bool, error) {
	if !deletes(p) {
		return true, nil
	}
	r.shown.Stop()
	defer r.shown.Resume()
	r.warn(p)
	return r.Ask(ctx, fmt.Sprintf("%sStorage: %s\nType yes to delete: ",
		report.AskText(p, r.storage.Store, r.View(r.Err)), report.Escape(r.storage.name)))
}
