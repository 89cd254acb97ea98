package report_test

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/ebb-io/ebb/internal/inventory"
	"github.com/ebb-io/ebb/internal/policy"
	"github.com/ebb-io/ebb/internal/report"
	"github.com/ebb-io/ebb/internal/testkit/world"
	"github.com/ebb-io/ebb/internal/usage"
)

var store = report.Store{URL: "file:///srv/registry", Name: "registry"}

// TestStoredPlanNamesAll reads a plan back and finds in it exactly what the
// plan deletes, in both forms.
func TestStoredPlanNamesAll(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		p := drawPlan(r, t)
		document := report.NewPlan(p, report.PolicyOptions(p.Policy), store)
		for form, write := range map[string]func(any) ([]byte, error){"JSON": report.JSON, "YAML": report.YAML} {
			data, err := write(document)
			if err != nil {
				r.Fatal(err)
			}
			got, err := report.ReadPlan(data)
			if err != nil {
				r.Fatalf("%s: %v", form, err)
			}
			if want := p.Names(); !maps.Equal(got.Named, want) {
				r.Fatalf("%s names %v, the plan deletes %v", form, got.Named, want)
			}
			if !got.PlannedAt.Equal(p.Now) || got.Store != store {
				r.Fatalf("%s: %v of %v, want %v of %v", form, got.PlannedAt, got.Store, p.Now, store)
			}
			if diff := cmp.Diff(document.Options, got.Options); diff != "" {
				r.Fatalf("%s: options (-want +got):\n%s", form, diff)
			}
		}
	})
}

// TestOptionsRoundTrip reads a policy from what was written of it.
func TestOptionsRoundTrip(t *testing.T) {
	include, _ := policy.ParseGlob("apps/**")
	exclude, _ := policy.ParseGlob("apps/keep-*")
	want := policy.Policy{
		MinAge: 90 * time.Minute, UploadAge: 5 * 24 * time.Hour, UntaggedAge: time.Second, DeleteUntagged: true,
		MaxDeleteShare: 12.5, Scope: policy.Scope{Include: []policy.Glob{include}, Exclude: []policy.Glob{exclude}},
	}
	got, err := report.PolicyOptions(want).Policy()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(report.PolicyOptions(want), report.PolicyOptions(got)); diff != "" {
		t.Error(diff)
	}
	if got.MaxDeleteShare != want.MaxDeleteShare || got.MinAge != want.MinAge || !got.Scope.Contains("apps/x") || got.Scope.Contains("apps/keep-x") {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// TestNoFieldIsLeftOut holds for empty plans too: no null, and every field.
func TestNoFieldIsLeftOut(t *testing.T) {
	p := planOf(t, func(w *world.World) { w.EmptyRepository("nothing") }, policy.Default())
	for name, document := range map[string]any{
		"plan":         report.NewPlan(p, report.PolicyOptions(p.Policy), store),
		"result":       report.NewResult(report.NewPlan(p, report.PolicyOptions(p.Policy), store), report.Outcome{}),
		"verification": report.NewVerification(store, false, report.Verified{}, nil, now, now),
		"explanation":  report.NewExplanation(p, "x", report.Found{}, report.PolicyOptions(p.Policy), store),
		"usage":        usageOf(p, usage.Repository, 0),
	} {
		data, err := report.JSON(document)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(data), "null") {
			t.Errorf("%s has a null:\n%s", name, data)
		}
		if !strings.HasSuffix(string(data), "}\n") || json.Valid(data) == false {
			t.Errorf("%s is not one document:\n%s", name, data)
		}
	}
}

func TestTimesHaveNanoseconds(t *testing.T) {
	data, err := json.Marshal(report.Time{Time: time.Date(2026, 1, 2, 3, 4, 5, 100, time.FixedZone("", 3600))})
	if want := `"2026-01-02T02:04:05.000000100Z"`; err != nil || string(data) != want {
		t.Errorf("got %s, %v; want %s", data, err, want)
	}
}

// TestRowsAddUp holds the table to the plan: what its rows free is what the
// plan reclaims, and its images are those that go.
func TestRowsAddUp(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		p := drawPlan(r, t)
		bytes, images := report.SumRows(p)
		if bytes != p.Totals.ReclaimableBytes {
			r.Fatalf("rows free %d bytes, the plan %d", bytes, p.Totals.ReclaimableBytes)
		}
		want := 0
		for _, phase := range p.Deletions(nil) {
			for _, item := range phase {
				if item.Kind == inventory.Revision {
					want++
				}
			}
		}
		if images != want {
			r.Fatalf("rows have %d images, the plan deletes %d", images, want)
		}
	})
}

// TestSharedContent is no repository's own.
func TestSharedContent(t *testing.T) {
	p := planOf(t, func(w *world.World) {
		shared := w.Layer(world.Random(1, 3<<10))
		for _, name := range []string{"own/a", "own/b"} {
			w.Image(name, world.Tag("v1"), world.ConfigText(name), world.Layers(shared))
		}
		w.Image("own/kept", world.Tag("v1"))
	}, policy.Default(), "kept")
	text := string(report.PlanText(p, store, nil, report.View{}))
	for _, want := range []string{
		"3.0 KiB       -  -          (shared by several of these)\n", "1 of 1  OwnerGone  own/a\n", "1 of 1  OwnerGone  own/b\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %q in\n%s", want, text)
		}
	}
}
