package host

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	app "github.com/ebb-io/ebb/internal/app/host"
	"github.com/ebb-io/ebb/internal/image"
	"github.com/ebb-io/ebb/internal/policy"
	"github.com/ebb-io/ebb/internal/report"
	"github.com/ebb-io/ebb/internal/testkit/fakeengine"
)

// A run deletes what its plan names, and nothing that is in use or named by
// anybody; all else keeps its names; and then there is nothing left to do.
func TestARunDeletesItsPlanAndNothingElse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawScene(t)
		h := s.start(t)
		pass := h.mustCheck()
		if !s.claims(h) {
			t.Skip("nothing is pinned")
		}
		before := h.engine.Held()
		h.only(pass)
		result := h.mustRun()
		after := h.engine.Held()
		if diff := cmp.Diff(planned(pass), lost(before, after)); diff != "" {
			t.Fatalf("planned and gone:\n%s", diff)
		}
		for _, id := range used(h.engine, before) {
			if _, there := after[id]; !there || slices.Contains(planned(pass), id) {
				t.Fatalf("%s is in use", id)
			}
		}
		for _, name := range s.needed() {
			if bearer(before, name) != bearer(after, name) {
				t.Fatalf("%s was %s and is %q", name, bearer(before, name), bearer(after, name))
			}
		}
		for id := range after {
			if diff := cmp.Diff(before[id], after[id]); diff != "" {
				t.Fatalf("names of %s:\n%s", id, diff)
			}
		}
		if diff := cmp.Diff(planned(pass), deleted(result)); diff != "" {
			t.Fatalf("planned and told of:\n%s", diff)
		}
		if again := planned(h.mustCheck()); len(again) > 0 {
			t.Fatalf("a second pass would delete %v", again)
		}
	})
}

// document is a plan as it is stored, at one time.
func document(t *rapid.T, h *host, pass *app.Pass) string {
	p := report.NewHostPlan(report.HostPass{Plan: pass.Plan, Record: pass.Record, Options: report.HostPolicyOptions(h.policy, 0)})
	out, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func TestTheOrderOfListsChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawScene(t)
		h := s.start(t)
		now := time.Now()
		at := func() *app.Pass {
			e, err := h.open(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			req := h.request()
			req.PlannedAt, req.Clock = now, func() time.Time { return now }
			pass, err := app.Check(context.Background(), e, h.state, req)
			if err != nil {
				t.Fatal(err)
			}
			return pass
		}
		at() // from here on the journal stays as it is
		one := at()
		h.engine.Shuffle(rapid.Uint64Min(1).Draw(t, "order"))
		two := at()
		if one.Plan.Fingerprint() != two.Plan.Fingerprint() {
			t.Fatalf("fingerprints differ: %v and %v", planned(one), planned(two))
		}
		if diff := cmp.Diff(document(t, h, one), document(t, h, two)); diff != "" {
			t.Fatalf("documents differ:\n%s", diff)
		}
	})
}

// Whoever needs one thing more never causes a deletion.
func TestMoreNeedNeverDeletesMore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawScene(t)
		names := s.names()
		if len(names) == 0 {
			t.Skip("nothing is here")
		}
		s.running = false // a container would be a pin of a stream that has none
		h := s.start(t)
		before := planned(h.mustCheck())
		name := rapid.SampledFrom(names).Draw(t, "of")
		switch rapid.IntRange(0, 3).Draw(t, "what is added") {
		case 0:
			h.engine.AddContainer(fakeengine.Container{Name: "one more", From: name, State: "exited"})
		case 1:
			if !sameStream(h.pins, name) {
				t.Skip("a stream that has no pin")
			}
			h.pins = append(h.pins, name)
		case 2:
			glob, err := policy.ParseGlob(name)
			if err != nil {
				t.Fatal(err)
			}
			h.policy.Keep = append(h.policy.Keep, glob)
		case 3:
			h.engine.Tag(name, "somebody/else:1")
		}
		if after := planned(h.mustCheck()); !inside(after, before) {
			t.Fatalf("%v was planned, and now %v", before, after)
		}
	})
}

// sameStream tells whether a name is a version that some pin can be compared
// with.
func sameStream(pins []string, name string) bool {
	n, err := image.ParseName(name)
	v, ok := n.Version()
	return err == nil && ok && slices.ContainsFunc(pins, func(other string) bool {
		o, err := image.ParseName(other)
		w, ok := o.Version()
		return err == nil && ok && o.Repository == n.Repository && v.Stream() == w.Stream()
	})
}

// used are the images that containers need. An engine tells of a mount by its
// name alone: an image that lost that name and has got another tag before Ebb
// looked is not to be told from any other.
func used(e *fakeengine.Engine, have held) []string {
	made, mounted := e.Used()
	for _, id := range mounted {
		tagged := func(name string) bool { return !strings.Contains(name, "@") }
		if !slices.ContainsFunc(have[id], tagged) {
			made = append(made, id)
		}
	}
	return slices.DeleteFunc(made, func(id string) bool { _, here := have[id]; return !here })
}
