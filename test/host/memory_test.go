package host

import (
	"errors"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	app "github.com/ebb-io/ebb/internal/app/host"
	"github.com/ebb-io/ebb/internal/engine"
	"github.com/ebb-io/ebb/internal/testkit/fakeengine"
)

// A check asks what would be if other things were pinned, and a run to which
// somebody says no does too. Neither changes what is one step back.
func TestAQuestionBindsNothing(t *testing.T) {
	for what, ask := range map[string]func(h *host){
		"a check": func(h *host) { h.mustCheck() },
		"a no":    func(h *host) { h.mustRun(approving(func(*app.Pass) (bool, error) { return false, nil })) },
	} {
		t.Run(what, func(t *testing.T) {
			onBoth(t, func(t *testing.T, kind engine.StoreKind) {
				h := start(t, fakeengine.Options{Store: kind})
				for _, tag := range []string{"v0.9.0", "v1.0.0", "v1.1.0", "v1.2.0", "v1.3.0"} {
					h.engine.Pull("traefik:"+tag, fakeengine.Made("traefik "+tag))
				}
				h.pins = []string{"traefik:v1.0.0"}
				h.bind()
				h.pins = []string{"traefik:v1.3.0"}
				h.bind()
				for _, pin := range []string{"traefik:v1.2.0", "traefik:v1.1.0", "traefik:v0.9.0"} {
					h.pins = []string{pin}
					ask(h)
				}
				h.pins = []string{"traefik:v1.3.0"}
				if diff := cmp.Diff([]string{"traefik:v0.9.0"}, h.names(planned(h.mustCheck()))); diff != "" {
					t.Errorf("what goes:\n%s", diff)
				}
			})
		})
	}
}

// What was deleted and is brought back is new, also where nobody looked in
// between.
func TestWhatIsBroughtBackIsNew(t *testing.T) {
	onBoth(t, func(t *testing.T, kind engine.StoreKind) {
		var h *host
		h = start(t, fakeengine.Options{Store: kind, Now: func() time.Time {
			if h == nil {
				return time.Now()
			}
			return h.clock()
		}})
		for _, tag := range []string{"v1.0.0", "v1.1.0", "v1.2.0"} {
			h.engine.Pull("traefik:"+tag, fakeengine.Made("traefik "+tag))
		}
		h.pins = []string{"traefik:v1.2.0"}
		h.policy.MinAge = time.Hour
		h.bind()
		h.ahead = day
		if got := h.mustRun().Outcome.Deleted; len(got) != 1 {
			t.Fatalf("deleted: %v", got)
		}
		h.engine.Pull("traefik:v1.0.0", fakeengine.Made("traefik v1.0.0"))
		if got := h.mustRun().Outcome.Deleted; len(got) != 0 {
			t.Errorf("a moment later it is deleted again: %v", got)
		}
		h.ahead = day + time.Hour
		if got := h.names(planned(h.mustCheck())); len(got) != 1 {
			t.Errorf("an hour later %v would go", got)
		}
	})
}

// The last container may go: the engine says so. One that shows none after its
// start is not believed at once.
func TestTheLastContainerGoes(t *testing.T) {
	onBoth(t, func(t *testing.T, kind engine.StoreKind) {
		h := start(t, fakeengine.Options{Store: kind})
		h.engine.Pull("traefik:v1.0.0", fakeengine.Made("traefik"))
		h.pins = []string{"traefik:v1.0.0"}
		h.engine.AddContainer(fakeengine.Container{Name: "last", From: "traefik:v1.0.0"})
		h.mustCheck()
		h.engine.RemoveContainer("last")
		h.mustCheck()

		h.engine.AddContainer(fakeengine.Container{Name: "last", From: "traefik:v1.0.0"})
		h.mustCheck()
		h.engine.RemoveContainer("last")
		h.engine.Restart()
		if _, err := h.check(h.ctx()); !errors.Is(err, app.ErrImplausible) {
			t.Errorf("%v, and nothing explains that there is none", err)
		}
		h.ahead = 15 * time.Minute
		h.mustCheck()
	})
}

// A container that came and went between two looks was a use of its image: the
// engine tells of it.
func TestUsedBetweenTwoLooks(t *testing.T) {
	onBoth(t, func(t *testing.T, kind engine.StoreKind) {
		h := start(t, fakeengine.Options{Store: kind})
		for _, tag := range []string{"v0.9.0", "v1.0.0", "v1.1.0", "v1.2.0"} {
			h.engine.Pull("traefik:"+tag, fakeengine.Made("traefik "+tag))
		}
		h.pins = []string{"traefik:v1.2.0"}
		h.policy.UnusedFor = 7 * day
		h.bind()
		h.engine.AddContainer(fakeengine.Container{Name: "job", From: "traefik:v1.0.0"})
		h.engine.RemoveContainer("job")
		if diff := cmp.Diff([]string{"traefik:v0.9.0"}, h.names(planned(h.mustCheck()))); diff != "" {
			t.Errorf("what goes:\n%s", diff)
		}
	})
}

// A process that is killed between a deletion and its record: the next look
// tells of it.
func TestADeletionThatWasNotWrittenDown(t *testing.T) {
	onBoth(t, func(t *testing.T, kind engine.StoreKind) {
		h := town(t, fakeengine.Options{Store: kind})
		journal := func() []string {
			record, _, err := h.state.Load(h.mustCheck().Plan.Engine.Key())
			if err != nil {
				t.Fatal(err)
			}
			var ids []string
			for _, d := range record.Deletions {
				ids = append(ids, d.ID.String())
			}
			return ids
		}
		var before []byte
		h.engine.OnRequest(func(c fakeengine.Call) {
			if c.Kind == fakeengine.DeleteImage && before == nil {
				before, _ = os.ReadFile(h.file("journal.json"))
			}
		})
		h.policy.MaxDeletes = 1
		done := h.mustRun().Outcome.Deleted
		h.write(string(before))
		if diff := cmp.Diff([]string{done[0].ID.String()}, journal()); diff != "" {
			t.Errorf("what the history tells:\n%s", diff)
		}
	})
}
