package report_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ebb-io/ebb/internal/policy"
	"github.com/ebb-io/ebb/internal/repair"
	"github.com/ebb-io/ebb/internal/report"
)

// The document of a repair counts what was done, and before it is carried out
// what would be.
func TestRepairTotals(t *testing.T) {
	p := &repair.Plan{Actions: []repair.Action{
		{Kind: repair.RemoveTag, Path: "one"},
		{Kind: repair.RemoveTag, Path: "two"},
		{Kind: repair.RemoveRevision, Path: "three"},
		{Kind: repair.RemoveTemporary, Path: "four", Bytes: 5},
	}}
	for _, test := range []struct {
		reason string
		done   report.Repaired
		totals report.RepairTotals
		failed []report.Failure
	}{
		{"only shown", report.Repaired{}, report.RepairTotals{LostTags: 2, LostImages: 1, TemporaryFiles: 1, TemporaryBytes: 5}, []report.Failure{}},
		{
			"done but for one, and stopped before the last",
			report.Repaired{
				Applied: true, Done: []bool{true, false, true, false}, Failed: map[int]error{1: errors.New("no room")},
			},
			report.RepairTotals{LostTags: 1, LostImages: 1},
			[]report.Failure{{Path: "two", Error: "no room"}},
		},
	} {
		got := report.NewRepair(p, report.Store{}, report.RepairOptions{}, time.Time{}, test.done)
		if diff := cmp.Diff(test.totals, got.Totals); diff != "" {
			t.Errorf("%s: totals (-want +got):\n%s", test.reason, diff)
		}
		if diff := cmp.Diff(test.failed, got.Failed); diff != "" {
			t.Errorf("%s: failed (-want +got):\n%s", test.reason, diff)
		}
	}
}

// A limit that a repair is over is told in the form of a plan's.
func TestRepairExceeded(t *testing.T) {
	p := &repair.Plan{Exceeded: []policy.Excess{{What: "layer links", Part: 3, Whole: 4, Allowed: "50%"}}}
	got := report.NewRepair(p, report.Store{}, report.RepairOptions{}, time.Time{}, report.Repaired{})
	want := []report.Exceeded{{What: "layer links", Part: 3, Whole: 4, Allowed: "50%"}}
	if diff := cmp.Diff(want, got.Exceeded); diff != "" {
		t.Errorf("exceeded (-want +got):\n%s", diff)
	}
}
