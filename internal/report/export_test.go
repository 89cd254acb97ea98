package report

import "github.com/ebb-io/ebb/internal/plan"

// SumRows adds up the table of what goes.
func SumRows(p *plan.Plan) (bytes int64, images int) {
	for _, g := range goes(p) {
		bytes += g.bytes
		images += g.images
	}
	return bytes, images
}

// Width is how many columns text takes.
func Width(s string) int { return width(unpainted(s)) }
