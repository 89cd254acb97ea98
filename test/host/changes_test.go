package host

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	app "github.com/ebb-io/ebb/internal/app/host"
	"github.com/ebb-io/ebb/internal/engine"
	"github.com/ebb-io/ebb/internal/store/docker"
	"github.com/ebb-io/ebb/internal/testkit/fakeengine"
)

// moment is one request of a run over a town.
type moment struct {
	*host
	before held            // as it was when the run began
	now    held            // right before the request is answered
	call   fakeengine.Call // the request
	points map[string]int  // by ID of an image that goes: the request from which on nobody listens for it
}

// change is what somebody else does at a moment. It returns what must be there
// when the run is over: images with their names.
type change func(m moment) held

// changes are by what they do.
var changes = map[string]change{
	"a name that goes is another image's":              func(m moment) held { return m.repoint("traefik:v0.9.0") },
	"one of two names that go is another image's":      func(m moment) held { return m.repoint("traefik:1.0.0") },
	"the other of two names that go is another's":      func(m moment) held { return m.repoint("traefik:v1.0.0") },
	"the pin is another image's":                       func(m moment) held { return m.repoint("traefik:v1.3.0") },
	"a name that goes is that of an image that stays":  func(m moment) held { return m.tag("traefik:v1.2.0", "traefik:v0.9.0") },
	"what goes gets another repository's name":         func(m moment) held { return m.tag("traefik:v0.9.0", "mine/traefik:v0.9.0") },
	"what goes by two names gets another repository's": func(m moment) held { return m.tag("traefik:v1.0.0", "mine/traefik:v1.0.0") },
	"what goes gets a name that stays":                 func(m moment) held { return m.tag("traefik:v1.0.0", "traefik:v1.5.0") },
	"a container is made of what goes":                 func(m moment) held { return m.container(fakeengine.Container{From: "traefik:v0.9.0"}) },
	"a container is made of what goes by two names":    func(m moment) held { return m.container(fakeengine.Container{From: "traefik:1.0.0"}) },
	"a container mounts what goes":                     func(m moment) held { return m.mount("ghcr.io/org/app:1.0.0") },
	"a newer version is pulled":                        func(m moment) held { return m.pull("traefik:v1.5.0", "traefik v1.5.0") },
	"what goes is pulled once more":                    func(m moment) held { return m.pull("traefik:v0.9.0", "traefik v0.9.0") },
	"what goes is pulled under a newer name":           func(m moment) held { return m.pull("traefik:v1.5.0", "traefik v1.0.0") },
}

// repoint pulls something new under a name. An engine has no call that takes a
// name away only if it still is an image's: what comes right before is lost.
func (m moment) repoint(name string) held {
	id := m.engine.Pull(name, fakeengine.Made("new "+name))
	if m.call.Kind == fakeengine.DeleteImage && m.call.Target == full(name) {
		return nil
	}
	return m.borne(id, name)
}

// tag gives an image one more name, if it is there to be found by its own.
func (m moment) tag(of, name string) held {
	id := bearer(m.now, of)
	if id == "" || m.call.Kind == fakeengine.DeleteImage && m.call.Target == full(name) {
		return nil
	}
	moved := bearer(m.now, name)
	m.engine.Tag(of, name)
	must := m.borne(id, name)
	if moved == "" { // else it is no other image's, and names that went before come back
		must[id] = slices.Concat(m.before[id], must[id])
	}
	return must
}

func (m moment) borne(id, name string) held { return held{id: {full(name)}} }

func (m moment) container(c fakeengine.Container) held {
	id := bearer(m.now, c.From)
	if id == "" {
		return nil
	}
	c.State = "created"
	m.engine.AddContainer(c)
	return held{id: m.before[id]}
}

// mount is no reason for an engine to refuse a deletion: that it must be heard
// of in time is all there is.
func (m moment) mount(name string) held {
	id := bearer(m.now, name)
	if id == "" {
		return nil
	}
	m.engine.AddContainer(fakeengine.Container{From: "cafe:1", State: "created", Mounts: []string{name}})
	if !m.inTime(id) {
		return nil
	}
	return held{id: m.before[id]}
}

// pull brings contents under a name. What is here already and goes is the only
// thing that can come too late.
func (m moment) pull(name, contents string) held {
	id := m.engine.Pull(name, fakeengine.Made(contents))
	if _, here := m.now[id]; here && bearer(m.now, name) == id && !m.inTime(id) {
		return nil
	}
	return m.borne(id, name)
}

// inTime tells whether what happens now is heard of before an image goes.
func (m moment) inTime(id string) bool {
	if m.call.Nth >= m.points[id] {
		return false
	}
	hear()
	return true
}

// hear waits until events have come through the stream, which nothing shows.
func hear() { time.Sleep(30 * time.Millisecond) }

// subscribed is the request after which a run hears of all that happens: what
// came before that was there before the run.
func subscribed(calls []fakeengine.Call) int {
	return 1 + slices.IndexFunc(calls, func(c fakeengine.Call) bool { return c.Kind == fakeengine.Events })
}

// Whatever changes under a run, at whichever of its requests: what it brought
// or needs is there afterwards, what was to be kept is, and nothing went that
// was not planned.
func TestAChangeAtEveryRequest(t *testing.T) {
	onBoth(t, func(t *testing.T, kind engine.StoreKind) {
		opts := fakeengine.Options{Store: kind}
		h := town(t, opts)
		h.engine.ResetCalls()
		h.mustRun()
		calls := h.engine.Calls()
		for what, change := range changes {
			t.Run(what, func(t *testing.T) {
				t.Parallel()
				for _, c := range calls[subscribed(calls):] {
					t.Run(fmt.Sprint(c.Nth), func(t *testing.T) { changed(t, opts, calls, c.Nth, change) })
				}
			})
		}
	})
}

func changed(t *testing.T, opts fakeengine.Options, calls []fakeengine.Call, n int, change change) {
	h := town(t, opts)
	before := h.engine.Held()
	may := townGarbage(opts.Store, before)
	var must held
	h.engine.ResetCalls()
	h.engine.OnRequest(func(c fakeengine.Call) {
		if c.Nth == n {
			must = change(moment{host: h, before: before, now: h.engine.Held(), call: c, points: points(calls)})
			if h.engine.Count(fakeengine.ListContainers) == 0 {
				hear() // of what may yet be listed as if it had always been there
			}
		}
	})
	result, err := h.run(h.ctx())
	if err != nil && !errors.Is(err, app.ErrBusy) {
		t.Errorf("it failed: %v", err)
	}
	after := h.engine.Held()
	if gone := lost(before, after); !inside(gone, may) {
		t.Errorf("gone, and nobody planned it: %v of %v", gone, may)
	}
	for _, name := range townKeeps {
		if at := bearer(after, name); at != bearer(before, name) && !slices.Contains(must[at], full(name)) {
			t.Errorf("%s was %q and is %q", name, bearer(before, name), at)
		}
	}
	for id, names := range must {
		if _, there := after[id]; !there || !inside(names, after[id]) {
			t.Errorf("%s must have %v and has %v (%v)", id, names, after[id], deleted(result))
		}
	}
}

// points are the first requests of a clean run that are about each image that
// it deletes.
func points(calls []fakeengine.Call) map[string]int {
	at := map[string]int{}
	for _, c := range slices.Backward(calls) {
		switch c.Kind {
		case fakeengine.DeleteImage, fakeengine.InspectImage:
			at[c.Target] = c.Nth
		}
	}
	return at
}

// What came into a repository while a run looked ends the run there, and
// nowhere else.
func TestAPullInARepositoryEndsThePassForIt(t *testing.T) {
	onBoth(t, func(t *testing.T, kind engine.StoreKind) {
		opts := fakeengine.Options{Store: kind}
		calls := requests(t, opts, run)
		for _, c := range calls[subscribed(calls):] {
			t.Run(fmt.Sprint(c.Nth, " ", c.Kind), func(t *testing.T) {
				h := town(t, opts)
				before := h.engine.Held()
				h.engine.ResetCalls()
				h.engine.OnRequest(func(now fakeengine.Call) {
					if now.Nth == c.Nth {
						h.engine.Pull("traefik:v1.5.0", fakeengine.Made("new"))
						hear()
					}
				})
				result := h.mustRun()
				garbage := townGarbage(kind, before)
				if diff := cmp.Diff(slices.Sorted(slices.Values(garbage[2:])), lost(before, h.engine.Held())); diff != "" {
					t.Errorf("what goes of the other repository:\n%s", diff)
				}
				if got := len(result.Outcome.Skipped); got != 2 {
					t.Errorf("%d images are told to be left alone, want 2: %+v", got, result.Outcome)
				}
			})
		}
	})
}

// A build may bring anything: it ends the run.
// built is an image that a build made, without a name.
const built = "sha256:b111b111b111b111b111b111b111b111b111b111b111b111b111b111b111b111"

func TestABuildEndsTheRun(t *testing.T) {
	onBoth(t, func(t *testing.T, kind engine.StoreKind) {
		h := town(t, fakeengine.Options{Store: kind})
		before := h.engine.Held()
		h.engine.OnRequest(func(c fakeengine.Call) {
			if c.Kind == fakeengine.ListServices {
				h.engine.Emit("image", "create", built, map[string]string{"name": built})
				hear()
			}
		})
		result := h.mustRun()
		if left := len(result.Outcome.Skipped); left == 0 || left != result.Plan.Totals.Delete {
			t.Errorf("%d of %d are left alone", left, result.Plan.Totals.Delete)
		}
		h.keeps(before)
	})
}

// A stream of events that ended tells of nothing any more.
func TestAStreamOfEventsThatIsCut(t *testing.T) {
	onBoth(t, func(t *testing.T, kind engine.StoreKind) {
		opts := fakeengine.Options{Store: kind}
		calls := requests(t, opts, run)
		for _, c := range calls[subscribed(calls):] {
			t.Run(fmt.Sprint(c.Nth, " ", c.Kind), func(t *testing.T) {
				h := town(t, opts)
				before := h.engine.Held()
				h.engine.ResetCalls()
				h.engine.OnRequest(func(now fakeengine.Call) {
					if now.Nth == c.Nth {
						h.engine.CutEvents()
						hear()
					}
				})
				h.refuses(before, docker.ErrIncomplete)
			})
		}
		t.Run("after the first deletion", func(t *testing.T) {
			h := town(t, opts)
			before := h.engine.Held()
			h.engine.OnRequest(func(c fakeengine.Call) {
				if c.Kind == fakeengine.DeleteImage && c.Of == 1 {
					h.engine.CutEvents()
					hear()
				}
			})
			result, err := h.run(h.ctx())
			if !errors.Is(err, docker.ErrIncomplete) {
				t.Errorf("%v, want %v", err, docker.ErrIncomplete)
			}
			want := townGarbage(kind, before)[:1]
			if diff := cmp.Diff(want, lost(before, h.engine.Held())); diff != "" {
				t.Errorf("gone:\n%s", diff)
			}
			if diff := cmp.Diff(want, deleted(result)); diff != "" {
				t.Errorf("told of:\n%s", diff)
			}
		})
	})
}

// refuses makes a run that must fail for a reason and touch nothing.
func (h *host) refuses(before held, why error, more ...func(*app.RunRequest)) {
	h.t.Helper()
	start := len(h.engine.Calls())
	if _, err := h.run(h.ctx(), more...); !errors.Is(err, why) {
		h.t.Errorf("%v, want %v", err, why)
	}
	h.untouched(before, start)
}

// untouched fails the test if anything was changed since the call of a number.
func (h *host) untouched(before held, start int) {
	h.t.Helper()
	if i := slices.IndexFunc(h.engine.Calls()[start:], fakeengine.Call.Mutates); i >= 0 {
		h.t.Errorf("it changed the engine: %+v", h.engine.Calls()[start+i])
	}
	if gone := lost(before, h.engine.Held()); len(gone) > 0 {
		h.t.Errorf("gone: %v of %v", gone, slices.Sorted(maps.Keys(before)))
	}
}
