package report_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ebb-io/ebb/internal/inventory"
	"github.com/ebb-io/ebb/internal/plan"
	"github.com/ebb-io/ebb/internal/policy"
	"github.com/ebb-io/ebb/internal/report"
	"github.com/ebb-io/ebb/internal/testkit/world"
	"github.com/ebb-io/ebb/internal/usage"
)

func usageOf(p *plan.Plan, by usage.By, top int) report.Usage {
	return report.NewUsage(usage.Of(p, by, top), p.Now, p.Inventory().Problems, report.PolicyOptions(p.Policy), store)
}

// TestNoNamePassesForAGroupWithoutOne: storages hold folders of any name.
func TestNoNamePassesForAGroupWithoutOne(t *testing.T) {
	p := planOf(t, func(w *world.World) {
		for _, name := range []string{"(content of no image)", "(no owner)", "(\x1b[2J"} {
			w.Image(name, world.Tag("v1"), world.ConfigText(name))
		}
		w.OrphanBlob("nobody's")
	}, policy.Default())
	text := string(usageOf(p, usage.Repository, 0).Text(report.View{Quiet: true}))
	for name, want := range map[string]int{
		"  (content of no image)\n":     1,
		"  \"(content of no image)\"\n": 1,
		"  \"(no owner)\"\n":            1,
		"  \"(\\x1b[2J\"\n":             1,
		"  (":                           1,
	} {
		if got := strings.Count(text, name); got != want {
			t.Errorf("there are %d of %q, want %d:\n%s", got, name, want, text)
		}
	}
	if names := string(usageOf(p, usage.Owner, 0).Names()); names != "" {
		t.Errorf("what has no name is named %q", names)
	}
}

// TestUsageSaysWhatItLeavesOut, below the list that it leaves it out of.
func TestUsageSaysWhatItLeavesOut(t *testing.T) {
	p := planOf(t, func(w *world.World) {
		for i := range 4 {
			name := fmt.Sprint("free/", i)
			layers := []world.Blob{w.Layer(world.Random(1, 3000)), w.Layer(world.Random(2, 2000))}
			w.Image(name, world.Tag("v1"), world.ConfigText(name), world.Layers(layers...))
		}
	}, policy.Default())
	for _, test := range []struct {
		top  int
		view report.View
		want []string
		not  string
	}{
		{1, report.View{}, []string{"free/0\n… and 3 more; --top all shows them\n", "free/0:v1\n… and 3 more; --top all shows them\n", "\n… and 1 more; --top all shows them\n"}, "free/1"},
		{0, report.View{}, []string{"free/3\n", "free/3:v1\n", "8.8 KiB  2.9 KiB       4             4  sha256:", "5.9 KiB  2.0 KiB"}, "more;"},
		{1, report.View{Quiet: true}, []string{"free/0\n"}, "…"},
		{1, report.View{Quiet: true}, []string{"free/0\n"}, "SAVES"},
	} {
		text := string(usageOf(p, usage.Repository, test.top).Text(test.view))
		for _, want := range test.want {
			if !strings.Contains(text, want) {
				t.Errorf("top %d: there is no %q in\n%s", test.top, want, text)
			}
		}
		if strings.Contains(text, test.not) {
			t.Errorf("top %d: there is %q in\n%s", test.top, test.not, text)
		}
	}
	left := usageOf(p, usage.Repository, 1).LeftOut
	if want := (report.LeftOut{Groups: 3, BiggestImages: 3, SharedLayers: 1}); left != want {
		t.Errorf("left out are %+v, want %+v", left, want)
	}
}

// TestUsageNamesDamage: what a damaged manifest needs is not known, so that the
// numbers need that word beside them.
func TestUsageNamesDamage(t *testing.T) {
	p := planOf(t, func(w *world.World) {
		w.RemoveBlob(w.Image("free/a", world.Tag("v1")).Digest)
	}, policy.Default())
	u := usageOf(p, usage.Repository, 0)
	if text := string(u.Text(report.View{})); !strings.Contains(text, "\nDamage: 1 problem.") {
		t.Errorf("no damage is named in\n%s", text)
	}
	if len(u.Problems) != 1 || u.Problems[0].Code != inventory.ManifestMissing {
		t.Errorf("%v", u.Problems)
	}
}
