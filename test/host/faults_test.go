package host

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ebb-io/ebb/internal/engine"
	"github.com/ebb-io/ebb/internal/testkit/fakeengine"
)

// kinds of engine that are asked in different ways.
func faultyEngines() map[string]fakeengine.Options {
	return map[string]fakeengine.Options{
		"graph driver":        {Store: engine.GraphDriver},
		"old graph driver":    {Store: engine.GraphDriver, API: "1.41"}, // asks for sizes by themselves
		"containerd":          {Store: engine.Containerd},
		"older containerd":    {Store: engine.Containerd, API: "1.47"},
		"podman, in its ways": {Store: engine.GraphDriver, API: "1.44", Podman: true},
	}
}

var faults = map[string]fakeengine.Fault{
	"status 500": {Status: 500, Message: "no"},
	"status 404": {Status: 404, Message: "page not found"}, // a proxy's word, and no engine's
	"empty 404":  {Status: 404, Page: true},
	"page 404":   {Status: 404, Message: "<html><body>\nno such image\n</body></html>", Page: true},
	"empty":      {Empty: true},
	"half":       {Half: true},
	"reset":      {Reset: true},
}

// harmless tells whether a pass may go on after a call failed: sizes, the times
// of pulls and whether an image can be pulled again are for people, and a
// greeting that failed is tried in another way. A history may well be empty.
func harmless(calls []fakeengine.Call, nth int, fault fakeengine.Fault) bool {
	came := func(kind fakeengine.Kind) bool {
		return slices.ContainsFunc(calls[:nth-1], func(c fakeengine.Call) bool { return c.Kind == kind })
	}
	switch calls[nth-1].Kind {
	case fakeengine.DiskUsage, fakeengine.Ping:
		return true
	case fakeengine.Events:
		return fault.Empty && calls[nth-1].Query.Has("until") // nothing happened
	case fakeengine.Leases:
		return came(fakeengine.ListImages) // before that the gate asks, which is told of pulls
	case fakeengine.InspectImage:
		return came(fakeengine.ListServices) // after the last evidence
	}
	return false
}

// requests are those of a check, or of a run up to its first deletion.
func requests(t *testing.T, opts fakeengine.Options, pass func(*host) error) []fakeengine.Call {
	t.Helper()
	h := town(t, opts)
	h.engine.ResetCalls()
	if err := pass(h); err != nil {
		t.Fatal(err)
	}
	calls := h.engine.Calls()
	if first := slices.IndexFunc(calls, fakeengine.Call.Mutates); first >= 0 {
		return calls[:first-1] // without the look at what is deleted, which has tests of its own
	}
	return calls
}

func run(h *host) error {
	_, err := h.run(h.ctx())
	return err
}

// An error never means that there is nothing.
func TestNothingIsDeletedAfterAFailedLook(t *testing.T) {
	for name, opts := range faultyEngines() {
		t.Run(name, func(t *testing.T) {
			for n := range requests(t, opts, run) {
				for what, fault := range faults {
					t.Run(fmt.Sprint(n+1, " ", what), func(t *testing.T) { failedLook(t, opts, n+1, fault) })
				}
			}
		})
	}
}

func failedLook(t *testing.T, opts fakeengine.Options, n int, fault fakeengine.Fault) {
	h := town(t, opts)
	before := h.engine.Held()
	h.only(h.mustCheck())
	h.engine.ResetCalls()
	h.engine.FailNth(n, fault)
	h.engine.OnRequest(func(c fakeengine.Call) {
		if c.Kind == fakeengine.ListImages && c.Nth > n && h.engine.Calls()[n-1].Kind == fakeengine.Events {
			hear() // that the stream has ended
		}
	})
	err := run(h)
	calls := h.engine.Calls()
	if harmless(calls, n, fault) {
		h.keeps(before)
		return
	}
	if err == nil {
		t.Errorf("no error after a failed call: %+v", calls[n-1])
	}
	if diff := cmp.Diff(before, h.engine.Held()); diff != "" {
		t.Errorf("%+v failed, and yet:\n%s", calls[n-1], diff)
	}
}

// A call that fails amid the deletions ends them, or is told of: nothing goes
// but by plan, and what stays has its names.
func TestAFailedCallAmidDeletions(t *testing.T) {
	for name, opts := range faultyEngines() {
		t.Run(name, func(t *testing.T) {
			looks := len(requests(t, opts, run))
			h := town(t, opts)
			h.engine.ResetCalls()
			h.mustRun()
			for n := looks + 1; n <= len(h.engine.Calls()); n++ {
				for what, fault := range faults {
					t.Run(fmt.Sprint(n, " ", what), func(t *testing.T) { failedDeletion(t, opts, n, fault) })
					if fault.Status != 0 || fault.Reset {
						fault.Done = true
						t.Run(fmt.Sprint(n, " done, ", what), func(t *testing.T) { failedDeletion(t, opts, n, fault) })
					}
				}
			}
		})
	}
}

func failedDeletion(t *testing.T, opts fakeengine.Options, n int, fault fakeengine.Fault) {
	h := town(t, opts)
	before := h.engine.Held()
	pass := h.mustCheck()
	h.only(pass)
	h.engine.ResetCalls()
	h.engine.FailNth(n, fault)
	result, err := h.run(h.ctx())
	if err == nil {
		t.Errorf("no error after a failed call: %+v", h.engine.Calls()[n-1])
	}
	gone := lost(before, h.engine.Held())
	if !inside(gone, planned(pass)) {
		t.Errorf("gone, and not planned: %v of %v", gone, planned(pass))
	}
	if diff := cmp.Diff(gone, deleted(result)); diff != "" {
		t.Errorf("gone and told of:\n%s", diff)
	}
	if len(result.Outcome.Failed) == 0 {
		h.keeps(before)
	}
	h.engine.Fail(nil)
	h.mustRun()
	if diff := cmp.Diff(planned(pass), lost(before, h.engine.Held())); diff != "" {
		t.Errorf("the next run did not finish:\n%s", diff)
	}
}

// An engine that does not answer is left when the pass is told to end.
func TestAnEngineThatHangs(t *testing.T) {
	onBoth(t, func(t *testing.T, kind engine.StoreKind) {
		opts := fakeengine.Options{Store: kind}
		for n, call := range requests(t, opts, run) {
			if call.Kind == fakeengine.Leases {
				continue // containerd of this engine never hangs
			}
			t.Run(fmt.Sprint(n+1), func(t *testing.T) {
				h := town(t, opts)
				before := h.engine.Held()
				ctx, cancel := context.WithCancel(t.Context())
				start := len(h.engine.Calls())
				h.engine.Fail(func(c fakeengine.Call) *fakeengine.Fault {
					if c.Nth != start+n+1 {
						return nil
					}
					cancel()
					return &fakeengine.Fault{Hang: make(chan struct{})}
				})
				if _, err := h.run(ctx); err == nil {
					t.Errorf("no error although %+v hung", call)
				}
				if diff := cmp.Diff(before, h.engine.Held()); diff != "" {
					t.Errorf("%+v hung, and yet:\n%s", call, diff)
				}
			})
		}
	})
}

// A crash after any step, and another run, come to the same end.
func TestACrashAfterAnyStep(t *testing.T) {
	onBoth(t, func(t *testing.T, kind engine.StoreKind) {
		opts := fakeengine.Options{Store: kind}
		clean := town(t, opts)
		clean.engine.ResetCalls()
		clean.mustRun()
		steps := 0
		for _, c := range clean.engine.Calls() {
			if c.Mutates() {
				steps++
			}
		}
		for n := 1; n <= steps; n++ {
			t.Run(fmt.Sprint(n), func(t *testing.T) {
				h := town(t, opts)
				h.engine.CrashAfter(n)
				if err := run(h); err == nil {
					t.Error("no error after a crash")
				}
				h.engine.Revive()
				if err := run(h); err != nil {
					t.Error(err)
				}
				if diff := cmp.Diff(clean.engine.Held(), h.engine.Held()); diff != "" {
					t.Errorf("without and with a crash:\n%s", diff)
				}
			})
		}
	})
}
