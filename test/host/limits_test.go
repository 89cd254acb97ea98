package host

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	app "github.com/ebb-io/ebb/internal/app/host"
	"github.com/ebb-io/ebb/internal/engine"
	"github.com/ebb-io/ebb/internal/policy"
	"github.com/ebb-io/ebb/internal/testkit/fakeengine"
)

// gone are the images that went, in order of time.
func gone(result *app.Result) []string {
	var ids []string
	for _, done := range result.Outcome.Deleted {
		ids = append(ids, done.ID.String())
	}
	return ids
}

// The oldest versions go now, the rest next time.
func TestMaxDeletes(t *testing.T) {
	onBoth(t, func(t *testing.T, kind engine.StoreKind) {
		h := town(t, fakeengine.Options{Store: kind})
		before := h.engine.Held()
		garbage := townGarbage(kind, before)
		for _, pass := range []struct {
			max  int
			want []string
		}{{0, nil}, {1, garbage[:1]}, {2, garbage[1:3]}, {2, garbage[3:]}, {2, nil}} {
			h.policy.MaxDeletes = pass.max
			if diff := cmp.Diff(pass.want, gone(h.mustRun())); diff != "" {
				t.Errorf("at most %d:\n%s", pass.max, diff)
			}
		}
		h.keeps(before)
	})
}

// An answer does not make more of a plan than it shows.
func TestMaxDeletesOfWhatIsApproved(t *testing.T) {
	onBoth(t, func(t *testing.T, kind engine.StoreKind) {
		h := town(t, fakeengine.Options{Store: kind})
		garbage := townGarbage(kind, h.engine.Held())
		h.policy.MaxDeletes = 2
		var shown []string
		result := h.mustRun(approving(func(p *app.Pass) (bool, error) {
			shown = planned(p)
			return true, h.engine.Rmi(garbage[0]) // which leaves room for another
		}))
		if diff := cmp.Diff(garbage[1:2], gone(result)); diff != "" || !inside(gone(result), shown) {
			t.Errorf("shown were %v, gone are:\n%s", shown, diff)
		}
	})
}

// A plan over its share is refused whole, unless a person names the engine.
func TestMaxDeleteShare(t *testing.T) {
	onBoth(t, func(t *testing.T, kind engine.StoreKind) {
		h := town(t, fakeengine.Options{Store: kind})
		before := h.engine.Held()
		garbage := len(townGarbage(kind, before))
		share := policy.Share(100 * garbage / len(before)) // rounded down: less than what goes
		h.policy.MaxDeleteShare = share
		h.refuses(before, app.ErrLimit)
		h.policy.MaxDeletes = garbage - 1
		if got := len(h.mustRun().Outcome.Deleted); got != garbage-1 {
			t.Errorf("what is left for the next time counts: %d went", got)
		}

		h = town(t, fakeengine.Options{Store: kind})
		h.policy.MaxDeleteShare = share + 1
		if got := len(h.mustRun().Outcome.Deleted); got != garbage {
			t.Errorf("%d went under the limit, want %d", got, garbage)
		}

		h = town(t, fakeengine.Options{Store: kind})
		h.policy.MaxDeleteShare, h.policy.Confirmed = 0, true
		if got := len(h.mustRun().Outcome.Deleted); got != garbage {
			t.Errorf("%d went although a person said so, want %d", got, garbage)
		}
	})
}

// approving lets a test answer.
func approving(answer func(*app.Pass) (bool, error)) func(*app.RunRequest) {
	return func(r *app.RunRequest) { r.Approve = answer }
}

// No is no, and so is no answer.
func TestAnAnswerThatIsNotYes(t *testing.T) {
	broken := errors.New("the terminal is gone")
	for what, err := range map[string]error{"no": nil, "no answer": broken} {
		t.Run(what, func(t *testing.T) {
			onBoth(t, func(t *testing.T, kind engine.StoreKind) {
				h := town(t, fakeengine.Options{Store: kind})
				before, start := h.engine.Held(), len(h.engine.Calls())
				result, got := h.run(h.ctx(), approving(func(p *app.Pass) (bool, error) {
					if len(planned(p)) != len(townGarbage(kind, before)) {
						t.Errorf("asked about %v", planned(p))
					}
					return false, err
				}))
				if !errors.Is(got, err) || result == nil || result.Approved {
					t.Errorf("%+v, %v, want no approval and %v", result, got, err)
				}
				h.untouched(before, start)
			})
		})
	}
}

// A repository whose pinned container is not well is left alone, and no other.
func TestRequireHealthy(t *testing.T) {
	for _, test := range []struct {
		state, health string
		well          bool
	}{
		{"running", "", true},
		{"running", "healthy", true},
		{"running", "starting", false},
		{"running", "unhealthy", false},
		{"exited", "healthy", false},
		{"created", "", false},
		{"paused", "healthy", false},
		{"restarting", "", false},
	} {
		t.Run(test.state+" "+test.health, func(t *testing.T) {
			onBoth(t, func(t *testing.T, kind engine.StoreKind) {
				h := town(t, fakeengine.Options{Store: kind})
				before := h.engine.Held()
				h.policy.RequireHealthy = true
				h.engine.SetState("web", test.state, test.health)
				want := []string(nil) // nothing of the app: only a service has it, and no container
				if test.well {
					want = slices.Sorted(slices.Values(townGarbage(kind, before)[:2]))
				}
				h.mustRun()
				if diff := cmp.Diff(want, lost(before, h.engine.Held())); diff != "" {
					t.Errorf("gone:\n%s", diff)
				}
				h.keeps(before)
			})
		})
	}
}
