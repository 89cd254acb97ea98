package host

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	app "github.com/ebb-io/ebb/internal/app/host"
	"github.com/ebb-io/ebb/internal/engine"
	"github.com/ebb-io/ebb/internal/report"
	"github.com/ebb-io/ebb/internal/testkit/fakeengine"
)

// meanwhile is what happens between a plan and its run.
type meanwhile struct {
	what string
	do   func(h *host)
	// stale says that the plan would delete what is now kept, or has moved.
	stale bool
	left  []int // what still goes, as places in a town's garbage, when it is not stale
	// brings says that something came that no plan names.
	brings bool
}

// all is the whole garbage.
var all = []int{0, 1, 2, 3}

var meanwhiles = []meanwhile{
	{"nothing", func(*host) {}, false, all, false},
	{"more garbage", func(h *host) { h.engine.Pull("traefik:v0.5.0", fakeengine.Made("old")) }, false, all, true},
	{"some of it is gone", func(h *host) { _ = h.engine.Rmi("traefik:v0.9.0") }, false, all[1:], false},
	{"a pull of what is kept", func(h *host) { h.engine.Pull("traefik:v1.5.0", fakeengine.Made("new")) }, false, all, true},
	{"a name is another image's", func(h *host) { h.engine.Pull("traefik:v0.9.0", fakeengine.Made("rebuilt")) }, true, nil, false},
	{"one of two names is another image's", func(h *host) { h.engine.Pull("traefik:1.0.0", fakeengine.Made("rebuilt")) }, true, nil, false},
	{"a name is that of what stays", func(h *host) { h.engine.Tag("traefik:v1.2.0", "traefik:v0.9.0") }, true, nil, false},
	{"one of two names goes", func(h *host) { _ = h.engine.Rmi("traefik:1.0.0") }, true, nil, false},
	{"one more name in its repository", func(h *host) { h.engine.Tag("traefik:v0.9.0", "traefik:v0.9.1") }, true, nil, false},
	{"one more name elsewhere", func(h *host) { h.engine.Tag("traefik:v0.9.0", "mine/traefik:1") }, true, nil, false},
	{"a container", func(h *host) {
		h.engine.AddContainer(fakeengine.Container{From: "ghcr.io/org/app:1.0.0", State: "created"})
	}, true, nil, false},
	{"a mount", func(h *host) {
		h.engine.AddContainer(fakeengine.Container{From: "cafe:1", Mounts: []string{"traefik:v0.9.0"}})
	}, true, nil, false},
	{"a service", func(h *host) { h.engine.AddService(fakeengine.Service{Name: "old", Image: "traefik:v1.0.0"}) }, true, nil, false},
	{"another pin", func(h *host) { h.pins = append(h.pins, "traefik:v0.9.0") }, true, nil, false},
	{"a pin that is not here", func(h *host) { h.pins = append(h.pins, "traefik:v9.0.0") }, true, nil, false},
}

// proves makes the run of a plan, after something happened, and compares.
func (m meanwhile) proves(t *testing.T, h *host, kind engine.StoreKind, before held, stale error, how func(*app.RunRequest)) {
	t.Helper()
	if m.stale {
		h.refuses(nil, stale, how)
		return
	}
	var want []string
	for _, i := range m.left {
		want = append(want, townGarbage(kind, before)[i])
	}
	if diff := cmp.Diff(want, gone(h.mustRun(how))); diff != "" {
		t.Errorf("gone:\n%s", diff)
	}
	h.keepsNames(before)
}

// A plan file is carried out as it is, or not at all.
func TestAPlanFile(t *testing.T) {
	for _, m := range meanwhiles {
		t.Run(m.what, func(t *testing.T) {
			onBoth(t, func(t *testing.T, kind engine.StoreKind) {
				h := town(t, fakeengine.Options{Store: kind})
				before := h.engine.Held()
				stored := h.stored()
				m.do(h)
				m.proves(t, h, kind, before, app.ErrStale, func(r *app.RunRequest) { r.PlannedAt, r.Named = stored.PlannedAt, stored.Named })
			})
		})
	}
}

// stored is a plan that went through a file.
func (h *host) stored() *report.StoredHost {
	h.t.Helper()
	pass := h.mustCheck()
	data, err := report.JSON(report.NewHostPlan(report.HostPass{
		Plan: pass.Plan, Record: pass.Record, Options: report.HostPolicyOptions(h.policy, 0),
	}))
	if err != nil {
		h.t.Fatalf("plan: %v", err)
	}
	stored, err := report.ReadHostPlan(data, "ebb host check -o json")
	if err != nil {
		h.t.Fatalf("plan: %v", err)
	}
	return stored
}

// A person is asked about a plan, and that plan is carried out, or none.
func TestWhatHappensBeforeTheAnswer(t *testing.T) {
	for _, m := range meanwhiles {
		if m.brings {
			continue // as in any run, that ends it for the repository
		}
		t.Run(m.what, func(t *testing.T) {
			onBoth(t, func(t *testing.T, kind engine.StoreKind) {
				h := town(t, fakeengine.Options{Store: kind})
				before, after := h.engine.Held(), held(nil)
				m.proves(t, h, kind, before, app.ErrBusy, approving(func(*app.Pass) (bool, error) {
					m.do(h)
					after = h.engine.Held()
					return true, nil
				}))
				if diff := cmp.Diff(after, h.engine.Held()); m.stale && diff != "" {
					t.Errorf("a stale plan changed something:\n%s", diff)
				}
			})
		})
	}
}

// A plan of another engine, or of the other kind of store, names nothing that
// is here.
func TestAPlanOfAnotherStore(t *testing.T) {
	onBoth(t, func(t *testing.T, kind engine.StoreKind) {
		h := town(t, fakeengine.Options{Store: kind})
		stored := h.stored()
		h.engine.StoreSwitch()
		before, start := h.engine.Held(), len(h.engine.Calls())
		result := h.mustRun(func(r *app.RunRequest) { r.PlannedAt, r.Named = stored.PlannedAt, stored.Named })
		h.untouched(before, start)
		if len(result.Outcome.Deleted)+len(result.Outcome.Gone) > 0 {
			t.Errorf("it tells of deletions: %+v", result.Outcome)
		}
	})
}
