package plan_test

import (
	"testing"
	"time"

	"github.com/ebb-io/ebb/internal/inventory"
	"github.com/ebb-io/ebb/internal/plan"
	"github.com/ebb-io/ebb/internal/policy"
	"github.com/ebb-io/ebb/internal/refs"
)

// An upload in parts goes when it is older than the upload age and nothing
// holds the repository that it is in.
func TestUnfinishedUploads(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	scope := func(pattern string) policy.Scope {
		g, err := policy.ParseGlob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		return policy.Scope{Exclude: []policy.Glob{g}}
	}
	for _, test := range []struct {
		reason     string
		repository string
		unlisted   bool
		started    time.Time
		scope      policy.Scope
		goes       bool
		folder     time.Duration // age of the upload's own files; zero: there are none
	}{
		{"it is old", "apps/web", false, now.Add(-169 * time.Hour), policy.Scope{}, true, 0},
		{"it is of no repository", "", false, now.Add(-169 * time.Hour), policy.Scope{}, true, 0},
		{"its repository left no other trace", "apps/gone", false, now.Add(-169 * time.Hour), policy.Scope{}, true, 0},
		{"it is young", "apps/web", false, now.Add(-167 * time.Hour), policy.Scope{}, false, 0},
		{"its age is not known", "apps/web", false, time.Time{}, policy.Scope{}, false, 0},
		{"its repository is left out", "apps/web", false, now.Add(-169 * time.Hour), scope("apps/*"), false, 0},
		{"so is one that left no other trace", "apps/gone", false, now.Add(-169 * time.Hour), scope("apps/*"), false, 0},
		{"its repository could not be read", "apps/web", true, now.Add(-169 * time.Hour), policy.Scope{}, false, 0},
		{"somebody goes on with the upload", "apps/web", false, now.Add(-169 * time.Hour), policy.Scope{}, false, time.Hour},
		{"nobody goes on with the upload", "apps/web", false, now.Add(-169 * time.Hour), policy.Scope{}, true, 170 * time.Hour},
	} {
		inv := &inventory.Inventory{
			Contents:     inventory.NewContents(nil, nil),
			Repositories: []inventory.Repository{{Name: "apps/web", Unlisted: test.unlisted}},
			Unfinished:   []inventory.Unfinished{{Path: "p", ID: "1", Repository: test.repository, Size: 7, Touched: inventory.TimeOf(test.started)}},
		}
		inv.Unfinished[0].Upload = "u"
		if test.folder > 0 {
			inv.Repositories[0].Uploads = []inventory.Upload{{ID: "u", Files: 1, ModTime: inventory.TimeOf(now.Add(-test.folder))}}
		}
		choices := policy.Default()
		choices.Scope = test.scope
		p := plan.Build(plan.Input{Inventory: inv, Refs: refs.NewIndex(refs.Set{}), Policy: choices, Now: now})
		goes, freed := false, int64(0)
		for item := range p.Items() {
			goes = goes || item.Kind == inventory.UnfinishedUpload
			freed += item.Size
		}
		if goes != test.goes || (freed == 7) != test.goes || p.Totals.ReclaimableBytes != freed {
			t.Errorf("%s: goes is %v, %d bytes of %d", test.reason, goes, freed, p.Totals.ReclaimableBytes)
		}
		if len(p.Exceeded) > 0 {
			t.Errorf("%s: it counts for a limit: %v", test.reason, p.Exceeded)
		}
		if named := p.Names(); len(p.Stale(named)) > 0 || p.Restrict(plan.Named{}).Totals.ReclaimableBytes != 0 {
			t.Errorf("%s: a stored plan does not hold it", test.reason)
		}
	}
}
