package host

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	app "github.com/ebb-io/ebb/internal/app/host"
	"github.com/ebb-io/ebb/internal/engine"
	"github.com/ebb-io/ebb/internal/journal"
	"github.com/ebb-io/ebb/internal/pin"
	"github.com/ebb-io/ebb/internal/testkit/fakeengine"
)

// aged is a host on which one image has been garbage for a day.
func aged(t *testing.T, kind engine.StoreKind) *host {
	t.Helper()
	h := start(t, fakeengine.Options{Store: kind})
	for _, tag := range []string{"v1.0.0", "v1.1.0", "v1.2.0"} {
		h.engine.Pull("traefik:"+tag, fakeengine.Made("traefik "+tag))
	}
	h.pins = []string{"traefik:v1.2.0"}
	h.policy.MinAge = time.Hour
	h.ahead = -day
	h.bind()
	h.ahead = 0
	return h
}

func (h *host) told() []string {
	h.t.Helper()
	var names []string
	for _, d := range h.mustCheck().Record.Deletions {
		names = append(names, d.Names...)
	}
	return names
}

// A check that began before a run ended brings nothing back of what that deleted.
func TestACheckBesideARun(t *testing.T) {
	onBoth(t, func(t *testing.T, kind engine.StoreKind) {
		h := aged(t, kind)
		e, err := h.open(h.ctx())
		if err != nil {
			t.Fatal(err)
		}
		req := h.request()
		req.Pins = func(ctx context.Context, seen *engine.Snapshot, record *journal.Record) (pin.Set, error) {
			if got := h.mustRun().Outcome.Deleted; len(got) != 1 {
				t.Errorf("deleted %v", got)
			}
			return h.readPins(ctx, seen, record)
		}
		pass, err := app.Check(h.ctx(), e, h.state, req)
		if err != nil {
			t.Fatal(err)
		}
		record, _, err := h.state.Load(pass.Plan.Engine.Key())
		if err != nil || len(record.Deletions) != 1 {
			t.Fatalf("%v: %v", err, record.Deletions)
		}
		if again, here := record.Images[record.Deletions[0].ID]; here {
			t.Errorf("first seen %s, and it is gone", again.FirstSeen)
		}
	})
}

// A check while an image goes does not forget that it is going.
func TestACheckAmidADeletion(t *testing.T) {
	onBoth(t, func(t *testing.T, kind engine.StoreKind) {
		h := aged(t, kind)
		var amid []byte
		h.engine.OnRequest(func(c fakeengine.Call) {
			if c.Kind == fakeengine.DeleteImage && amid == nil {
				h.mustCheck()
				amid, _ = os.ReadFile(h.file("journal.json"))
			}
		})
		if got := h.mustRun().Outcome.Deleted; len(got) != 1 {
			t.Fatalf("deleted %v", got)
		}
		h.write(string(amid)) // it was killed right behind
		if diff := cmp.Diff([]string{full("traefik:v1.0.0")}, h.told()); diff != "" {
			t.Errorf("what the history tells:\n%s", diff)
		}
	})
}

// What somebody else deletes is none of Ebb's deletions, also where a signal ends
// the run behind it.
func TestAnotherIsFaster(t *testing.T) {
	onBoth(t, func(t *testing.T, kind engine.StoreKind) {
		h := aged(t, kind)
		h.engine.Pull("traefik:v0.9.0", fakeengine.Made("traefik v0.9.0"))
		h.policy.MinAge = 0
		ctx, cancel := context.WithCancel(h.ctx())
		defer cancel()
		h.engine.OnRequest(func(c fakeengine.Call) {
			if c.Kind == fakeengine.DeleteImage && ctx.Err() == nil {
				cancel()
				if err := h.engine.Rmi("traefik:v0.9.0"); err != nil {
					t.Error(err)
				}
			}
		})
		result, err := h.run(ctx)
		if err == nil || len(result.Outcome.Gone) != 1 {
			t.Fatalf("%v: %+v", err, result)
		}
		if got := h.told(); len(got) != 0 {
			t.Errorf("Ebb says that it deleted %v", got)
		}
	})
}

// What a person removed and pulled again is new.
func TestRemovedAndPulledAgain(t *testing.T) {
	onBoth(t, func(t *testing.T, kind engine.StoreKind) {
		h := aged(t, kind)
		if err := h.engine.Rmi("traefik:v1.0.0"); err != nil {
			t.Fatal(err)
		}
		h.engine.Pull("traefik:v1.0.0", fakeengine.Made("traefik v1.0.0"))
		if got := planned(h.mustCheck()); len(got) != 0 {
			t.Errorf("a moment after its pull %v would go", got)
		}
	})
}

// A stale plan that is refused changes nothing, not even what is one step back.
func TestAStalePlanBindsNothing(t *testing.T) {
	onBoth(t, func(t *testing.T, kind engine.StoreKind) {
		h := aged(t, kind)
		h.policy.MinAge = 0
		before := planned(h.mustCheck())
		named := h.mustCheck().Plan.Names()
		h.pins = []string{"traefik:v1.0.0"} // which the plan deletes
		if _, err := h.run(h.ctx(), func(r *app.RunRequest) { r.Named = named }); !errors.Is(err, app.ErrStale) {
			t.Fatalf("%v, want stale", err)
		}
		h.pins = []string{"traefik:v1.2.0"}
		if diff := cmp.Diff(before, planned(h.mustCheck())); diff != "" {
			t.Errorf("what goes:\n%s", diff)
		}
	})
}

// A look that fails amid a run ends it.
func TestALookThatFailsAmidARun(t *testing.T) {
	onBoth(t, func(t *testing.T, kind engine.StoreKind) {
		h := aged(t, kind)
		h.engine.Pull("traefik:v0.9.0", fakeengine.Made("traefik v0.9.0"))
		h.policy.MinAge = 0
		deleted := false
		h.engine.OnRequest(func(c fakeengine.Call) {
			if c.Kind == fakeengine.DeleteImage && !deleted {
				deleted = true
				h.engine.Fail(func(c fakeengine.Call) *fakeengine.Fault {
					if c.Kind == fakeengine.ListContainers {
						return &fakeengine.Fault{Status: 500, Message: "no"}
					}
					return nil
				})
				h.engine.AddContainer(fakeengine.Container{Name: "new", From: "traefik:v1.2.0"})
				hear()
			}
		})
		result, err := h.run(h.ctx())
		if err == nil || len(result.Outcome.Deleted) != 1 {
			t.Errorf("%v: %+v", err, result)
		}
	})
}

// blinks makes the journal unreadable for the moment in which a look needs it.
func (h *host) blinks(c fakeengine.Call) {
	switch away := h.file("journal.json.away"); {
	case c.Kind == fakeengine.ListContainers:
		_ = errors.Join(os.Rename(h.file("journal.json"), away), os.Mkdir(h.file("journal.json"), 0o700))
	case c.Kind == fakeengine.Events && c.Query.Has("until"):
		_ = errors.Join(os.Remove(h.file("journal.json")), os.Rename(away, h.file("journal.json")))
	}
}

// A journal that can not be read when it is needed is no empty one, although it
// can be read again a moment later: what it remembers keeps images.
func TestAJournalThatCanNotBeReadForAMoment(t *testing.T) {
	onBoth(t, func(t *testing.T, kind engine.StoreKind) {
		h := aged(t, kind)
		before, start := h.engine.Held(), len(h.engine.Calls())
		h.engine.OnRequest(h.blinks)
		if pass := h.mustCheck(); pass.Forgot == nil {
			t.Error("a check does not tell of it")
		}
		if _, err := h.run(h.ctx()); err == nil {
			t.Error("no error")
		}
		h.untouched(before, start)
	})
}

// The same in a look amid a run, which ends by it.
func TestAJournalThatCanNotBeReadAmidARun(t *testing.T) {
	onBoth(t, func(t *testing.T, kind engine.StoreKind) {
		h := aged(t, kind)
		h.engine.Pull("traefik:v0.9.0", fakeengine.Made("traefik v0.9.0"))
		h.policy.MinAge = 0
		deleted := false
		h.engine.OnRequest(func(c fakeengine.Call) {
			if deleted {
				h.blinks(c)
			} else if deleted = c.Kind == fakeengine.DeleteImage; deleted {
				h.engine.AddContainer(fakeengine.Container{Name: "new", From: "traefik:v1.2.0"})
				hear()
			}
		})
		result, err := h.run(h.ctx())
		if err == nil || len(result.Outcome.Deleted) != 1 {
			t.Errorf("%v: %+v", err, result)
		}
	})
}
