package host

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ebb-io/ebb/internal/engine"
	"github.com/ebb-io/ebb/internal/testkit/fakeengine"
)

// What the other tests of a town stand on.
func TestATown(t *testing.T) {
	onBoth(t, func(t *testing.T, kind engine.StoreKind) {
		h := town(t, fakeengine.Options{Store: kind})
		before := h.engine.Held()
		pass := h.mustCheck()
		var got []string
		for _, step := range pass.Plan.Steps() {
			got = append(got, step.ID.String())
		}
		if diff := cmp.Diff(townGarbage(kind, before), got); diff != "" {
			t.Errorf("what goes, in order:\n%s", diff)
		}
		h.only(pass)
		h.mustRun()
		h.keeps(before)
	})
}

// keeps fails the test unless everything that must stay did, under its name.
func (h *host) keeps(before held) {
	h.t.Helper()
	h.keepsNames(before)
	for id, names := range h.engine.Held() {
		if diff := cmp.Diff(before[id], names); diff != "" {
			h.t.Errorf("names of %s:\n%s", id, diff)
		}
	}
}

// keepsNames is keeps where others may have brought images and names.
func (h *host) keepsNames(before held) {
	h.t.Helper()
	after := h.engine.Held()
	for _, name := range townKeeps {
		if bearer(before, name) == "" || bearer(after, name) != bearer(before, name) {
			h.t.Errorf("%s was %q and is %q", name, bearer(before, name), bearer(after, name))
		}
	}
}
