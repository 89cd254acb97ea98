package host

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	app "github.com/ebb-io/ebb/internal/app/host"
	"github.com/ebb-io/ebb/internal/engine"
	"github.com/ebb-io/ebb/internal/testkit/fakeengine"
)

// A pull that a containerd store shows makes the host busy until it ends.
func TestAPullUnderWay(t *testing.T) {
	h := town(t, fakeengine.Options{Store: engine.Containerd})
	before := h.engine.Held()
	finish := h.engine.Pulling("traefik:v1.5.0", fakeengine.Made("traefik v1.5.0"))
	h.refuses(before, app.ErrBusy)
	if got, want := len(planned(h.mustCheck())), len(townGarbage(engine.Containerd, before)); got != want {
		t.Errorf("a check shows %d images, want %d: it deletes nothing, whoever pulls", got, want)
	}
	pulled := finish()
	h.mustRun()
	h.keepsNames(before)
	if bearer(h.engine.Held(), "traefik:v1.5.0") != pulled {
		t.Error("what was pulled is gone")
	}
}

// Only leases of pulls count, and only for an hour: a pull that was cancelled
// leaves its lease for eight.
func TestLeasesThatAreNoPulls(t *testing.T) {
	pull := map[string]string{"moby/prune.images": "true"}
	for _, test := range []struct {
		reason string
		age    time.Duration
		labels map[string]string
		busy   bool
	}{
		{"a pull", 59 * time.Minute, pull, true},
		{"a pull that was cancelled", 61 * time.Minute, pull, false},
		{"a pull of a clock that is ahead", -time.Hour, pull, true},
		{"another's lease", time.Minute, map[string]string{"containerd.io/gc.expire": "soon"}, false},
	} {
		t.Run(test.reason, func(t *testing.T) {
			h := town(t, fakeengine.Options{Store: engine.Containerd})
			before := h.engine.Held()
			h.engine.AddLease("any", time.Now().Add(-test.age), test.labels)
			if test.busy {
				h.refuses(before, app.ErrBusy)
				return
			}
			h.mustRun()
			h.keeps(before)
		})
	}
}

// Wherever in a run a pull begins, and whether it ends in it: what it brings is
// there, and what was to be kept is.
func TestAPullAtEveryRequest(t *testing.T) {
	opts := fakeengine.Options{Store: engine.Containerd}
	h := town(t, opts)
	h.engine.ResetCalls()
	h.mustRun()
	calls := h.engine.Calls()
	for _, length := range []int{1, len(calls)} {
		for n := range calls {
			t.Run(fmt.Sprint(n+1, " for ", length), func(t *testing.T) {
				h := town(t, opts)
				before := h.engine.Held()
				h.engine.ResetCalls()
				var finish func() string
				h.engine.OnRequest(func(c fakeengine.Call) {
					switch c.Nth {
					case n + 1:
						finish = h.engine.Pulling("traefik:v1.5.0", fakeengine.Made("traefik v1.0.0"))
					case n + 1 + length:
						finish()
						finish = nil
					}
				})
				_, _ = h.run(h.ctx()) // busy, or not
				if finish != nil {
					finish()
				}
				h.keepsNames(before)
				if bearer(h.engine.Held(), "traefik:v1.5.0") != bearer(before, "traefik:v1.0.0") {
					t.Error("what was pulled is gone")
				}
			})
		}
	}
}

// Somebody pulls while a person thinks: the answer comes too late.
func TestAPullBeginsBeforeTheAnswer(t *testing.T) {
	h := town(t, fakeengine.Options{Store: engine.Containerd})
	before := h.engine.Held()
	h.refuses(before, app.ErrBusy, approving(func(*app.Pass) (bool, error) {
		h.engine.Pulling("traefik:v1.5.0", fakeengine.Made("traefik v1.5.0"))
		return true, nil
	}))
}

func quietFor(d time.Duration) func(*app.RunRequest) {
	return func(r *app.RunRequest) { r.QuietFor = d }
}

// What counts as no quiet is what changed an image, as far as anybody knows.
func TestQuietFor(t *testing.T) {
	for _, test := range []struct {
		reason string
		happen func(h *host)
		busy   bool
	}{
		{"nothing at all", func(*host) {}, false},
		{"a pull that finds nothing new", func(h *host) { h.engine.Pull("traefik:v1.4.0", fakeengine.Made("traefik v1.4.0")) }, false},
		{"a pull by digest of what is here", func(h *host) { h.engine.Pull("traefik@sha256", fakeengine.Made("traefik v1.4.0")) }, true},
		{"a tag moves", func(h *host) { h.engine.Pull("traefik:v1.4.0", fakeengine.Made("rebuilt")) }, true},
		{"a tag moves, and a check sees it", func(h *host) {
			h.engine.Pull("traefik:v1.4.0", fakeengine.Made("rebuilt"))
			h.mustCheck()
		}, true},
		{"a tag moves in a repository that nobody pins", func(h *host) { h.engine.Pull("cafe:1", fakeengine.Made("rebuilt")) }, true},
		{"a pull of what nobody has seen before", func(h *host) {
			h.forget()
			h.engine.Pull("traefik:v1.4.0", fakeengine.Made("traefik v1.4.0"))
		}, true},
		{"a new name", func(h *host) { h.engine.Tag("cafe:1", "cafe:2") }, true},
		{"an import", func(h *host) { h.engine.Import("", fakeengine.Made("imported")) }, true},
		{"a build", func(h *host) { h.engine.Emit("image", "create", built, map[string]string{"name": built}) }, true},
		{"an emptied build cache", func(h *host) { h.engine.Emit("builder", "prune", "", nil) }, false},
		{"a name goes", func(h *host) { _ = h.engine.Rmi("cafe:1") }, false},
		{"a container", func(h *host) { h.engine.AddContainer(fakeengine.Container{From: "cafe:1"}) }, false},
		{"as much as an engine remembers", func(h *host) { h.chatter(256) }, true},
		{"a little less", func(h *host) { h.chatter(255) }, false},
	} {
		t.Run(test.reason, func(t *testing.T) {
			onBoth(t, func(t *testing.T, kind engine.StoreKind) {
				h := town(t, fakeengine.Options{Store: kind})
				h.engine.Restart() // what a town is made of is forgotten
				test.happen(h)
				before := h.engine.Held()
				if test.busy {
					h.refuses(before, app.ErrBusy, quietFor(time.Hour))
					h.mustRun() // and without that wish it goes on
				} else {
					h.mustRun(quietFor(time.Hour))
				}
				if len(lost(before, h.engine.Held())) == 0 {
					t.Error("nothing went at last")
				}
			})
		})
	}
}

// chatter is events that concern no image.
func (h *host) chatter(events int) {
	for n := range events {
		h.engine.Emit("container", "exec_start: true", strconv.Itoa(n), nil)
	}
}

// What happened before the time that is asked for does not count, and what the
// engine remembers of it shows that it has forgotten nothing since.
func TestQuietSinceLongEnough(t *testing.T) {
	var behind atomic.Int64 // the engine's clock, while a town is made
	behind.Store(int64(2 * time.Hour))
	now := func() time.Time { return time.Now().Add(-time.Duration(behind.Load())) }
	h := town(t, fakeengine.Options{Store: engine.GraphDriver, Now: now})
	h.chatter(256)
	behind.Store(0)
	h.chatter(255)
	before := h.engine.Held()
	h.refuses(before, app.ErrBusy, quietFor(3*time.Hour))
	h.mustRun(quietFor(time.Hour))
	if diff := cmp.Diff(len(townGarbage(engine.GraphDriver, before)), len(lost(before, h.engine.Held()))); diff != "" {
		t.Errorf("images that went:\n%s", diff)
	}
}

// A refusal names the last of what happened, and when it is over.
func TestQuietFrom(t *testing.T) {
	var behind atomic.Int64
	at := time.Now().Add(-time.Hour)
	h := town(t, fakeengine.Options{Store: engine.GraphDriver, Now: func() time.Time { return time.Now().Add(-time.Duration(behind.Load())) }})
	h.engine.Restart()
	behind.Store(int64(time.Hour))
	h.engine.Tag("cafe:1", "cafe:2")
	behind.Store(int64(time.Since(at.Add(20 * time.Minute))))
	h.engine.Tag("cafe:1", "cafe:3")
	behind.Store(0)
	_, err := h.run(t.Context(), quietFor(2*time.Hour))
	last := at.Add(20 * time.Minute).UTC()
	want := regexp.MustCompile(`^busy until [0-9-]+ ([0-9:]+) UTC \(tag cafe:3\): not quiet for long enough before [0-9-]+ ([0-9:]+) UTC$`)
	if !errors.Is(err, app.ErrBusy) {
		t.Fatal(err)
	}
	found := want.FindStringSubmatch(err.Error())
	if found == nil || !near(found[1], last) || !near(found[2], last.Add(2*time.Hour)) {
		t.Errorf("%v, want cafe:3 at %s", err, last)
	}
}

// near tells whether a time of day is another one, within a second.
func near(text string, at time.Time) bool {
	return text == at.Format(time.TimeOnly) || text == at.Add(time.Second).Format(time.TimeOnly)
}
