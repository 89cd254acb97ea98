package report_test

import (
	"maps"
	"testing"
	"time"

	"github.com/ebb-io/ebb/internal/inventory"
	"github.com/ebb-io/ebb/internal/plan"
	"github.com/ebb-io/ebb/internal/policy"
	"github.com/ebb-io/ebb/internal/refs"
	"github.com/ebb-io/ebb/internal/report"
)

// Uploads in parts are read back by path and ID: one path may have several, and
// servers give one ID to several.
func TestStoredPlanNamesUploadsInParts(t *testing.T) {
	inv := &inventory.Inventory{Contents: inventory.NewContents(nil, nil)}
	for _, u := range [][2]string{{"a", "1"}, {"a", "2"}, {"b", "1"}} {
		inv.Unfinished = append(inv.Unfinished, inventory.Unfinished{
			Path: u[0], ID: u[1], Size: 7, Touched: inventory.TimeOf(now.Add(-365 * 24 * time.Hour)),
		})
	}
	p := plan.Build(plan.Input{Inventory: inv, Refs: refs.NewIndex(refs.Set{}), Policy: policy.Default(), Now: now})
	for form, write := range map[string]func(any) ([]byte, error){"JSON": report.JSON, "YAML": report.YAML} {
		data, err := write(report.NewPlan(p, report.PolicyOptions(p.Policy), store))
		if err != nil {
			t.Fatal(err)
		}
		got, err := report.ReadPlan(data)
		if err != nil {
			t.Fatalf("%s: %v", form, err)
		}
		if want := p.Names(); len(want) != len(inv.Unfinished) || !maps.Equal(got.Named, want) {
			t.Errorf("%s names %v, the plan deletes %v", form, got.Named, want)
		}
	}
}
