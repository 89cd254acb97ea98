package host

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	app "github.com/ebb-io/ebb/internal/app/host"
	"github.com/ebb-io/ebb/internal/engine"
	"github.com/ebb-io/ebb/internal/image"
	"github.com/ebb-io/ebb/internal/testkit/fakeengine"
)

const (
	day     = 24 * time.Hour
	century = 36525 * day
)

// story is a scene over ten days: five days after other pins and more
// containers were seen.
type story struct {
	scene
	unusedFor time.Duration
	pinned    []string // until then
	removed   []string // containers, then
}

func drawStory(t *rapid.T) story {
	s := story{scene: drawScene(t), unusedFor: rapid.SampledFrom([]time.Duration{0, 7 * day}).Draw(t, "unused for")}
	if names := s.names(); len(names) > 0 {
		s.pinned = rapid.SliceOfN(rapid.SampledFrom(names), 0, 3).Draw(t, "pinned until then")
	}
	for _, c := range s.world.Containers {
		if rapid.Bool().Draw(t, "goes") {
			s.removed = append(s.removed, c.Name)
		}
	}
	return s
}

// tell lets it happen to a host, with what happens to it on the fifth day.
func (s story) tell(t *rapid.T, fifth func(h *host)) *host {
	t.Helper()
	h := s.start(t)
	h.policy.MinAge, h.policy.UnusedFor = time.Hour, s.unusedFor
	h.pins = s.pinned
	h.bind()
	h.ahead = 5 * day
	h.bind()
	fifth(h)
	h.pins = s.pins
	for _, name := range s.removed {
		h.engine.RemoveContainer(name)
	}
	h.ahead = 10 * day
	return h
}

func (s story) happens(t *rapid.T) *host {
	t.Helper()
	return s.tell(t, func(*host) {})
}

func (h *host) file(name string) string { return filepath.Join(h.dir, name) }

func (h *host) write(text string) {
	h.t.Helper()
	if err := os.WriteFile(h.file("journal.json"), []byte(text), 0o600); err != nil {
		h.t.Fatalf("journal: %v", err)
	}
}

// losses are the ways to lose a journal.
var losses = []func(h *host){
	func(h *host) { h.forget() },
	func(h *host) { h.write("") },
	func(h *host) { h.write(`{"apiVersion": "ebb.io/v1alpha1", "kind": "Journal", "engines": {`) },
	func(h *host) { h.write(`{"apiVersion": "ebb.io/v9", "kind": "Journal", "engines": {}}`) },
	func(h *host) { // of another engine
		h.write(`{"apiVersion": "ebb.io/v1alpha1", "kind": "Journal", "engines": {"OTHER/graphdriver/overlay2": {}}}`)
	},
}

// With a new journal every image is new, whatever an engine says of its age:
// what was needed until yesterday is not known any more.
func TestALostJournalKeepsMore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := drawStory(t).happens(t)
		h.mustCheck()
		losses[rapid.IntRange(0, len(losses)-1).Draw(t, "loss")](h)
		if after := planned(h.mustCheck()); len(after) > 0 {
			t.Fatalf("%v would go", after)
		}
	})
}

// A clock that is wrong makes nothing older, neither then nor when it is right
// again.
func TestAClockThatGoesBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawStory(t)
		before := planned(s.happens(t).mustCheck())
		back := rapid.SampledFrom([]time.Duration{time.Minute, 2 * time.Hour, 8 * day, 100 * day, century}).Draw(t, "back")
		h := s.tell(t, wrong(back))
		if after := planned(h.mustCheck()); !inside(after, before) {
			t.Fatalf("%v is planned where the clock was always right, and %v where it was not", before, after)
		}
		if back == century {
			return
		}
		h.ahead -= back
		if then := planned(h.mustCheck()); !inside(then, before) {
			t.Fatalf("%v was planned, and now %v", before, then)
		}
	})
}

// An image ID means nothing in another store or engine, and nor does what is
// remembered of it.
func TestAnotherStoreIsNew(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := drawStory(t).happens(t)
		before := planned(h.mustCheck())
		other := drawStory(t).happens(t)
		other.state = h.state
		if after := planned(other.mustCheck()); len(after) > 0 {
			t.Fatalf("of another engine %v would go", after)
		}
		if after := planned(h.mustCheck()); !cmp.Equal(before, after) {
			t.Fatalf("%v was planned, and since another engine was looked at %v", before, after)
		}
		h.engine.StoreSwitch()
		if after := planned(h.mustCheck()); len(after) > 0 {
			t.Fatalf("of another store %v would go", after)
		}
	})
}

// What the laws come to, over the days of one repository: until the fifth
// v1.0.0 was used and v1.1.0 was pinned, after v1.2.0. v0.9.0 was never needed.
func TestWhatWasNeededUntilLately(t *testing.T) {
	never, used, last := "traefik:v0.9.0", "traefik:v1.0.0", "traefik:v1.1.0"
	type goes map[time.Duration][]string
	for _, test := range []struct {
		what  string
		fifth func(h *host) // happens then
		tenth func(h *host)
		want  goes
	}{
		{"a clock that is right", nil, nil, goes{10 * day: {never}, 13 * day: {never, used}}},
		{"a clock that went back", wrong(8 * day), nil, goes{10 * day: {never}, 13 * day: {never, used}}},
		{"a clock without a battery", wrong(century), nil, goes{10 * day: {never}, 13 * day: {never, used}}},
		{"a lost journal", nil, (*host).forget, goes{10 * day: nil, 10*day + 59*time.Minute: nil, 10*day + time.Hour: {never, used, last}}},
	} {
		t.Run(test.what, func(t *testing.T) {
			onBoth(t, func(t *testing.T, kind engine.StoreKind) {
				h := start(t, fakeengine.Options{Store: kind})
				h.policy.MinAge, h.policy.UnusedFor = time.Hour, 7*day
				for _, tag := range []string{"v0.9.0", "v1.0.0", "v1.1.0", "v1.2.0", "v1.3.0"} {
					h.engine.Pull("traefik:"+tag, fakeengine.Made("traefik "+tag))
				}
				h.engine.AddContainer(fakeengine.Container{Name: "old", From: "traefik:v1.0.0"})
				h.engine.AddContainer(fakeengine.Container{Name: "other", From: "traefik:v1.3.0"})
				h.pins = []string{"traefik:v1.2.0"}
				h.bind()
				h.ahead = 5 * day
				h.pins = []string{last}
				h.bind()
				if test.fifth != nil {
					test.fifth(h)
				}
				h.engine.RemoveContainer("old")
				h.pins = []string{"traefik:v1.3.0"}
				if test.tenth != nil {
					test.tenth(h)
				}
				for _, at := range slices.Sorted(maps.Keys(test.want)) {
					h.ahead = at
					if diff := cmp.Diff(test.want[at], h.names(planned(h.mustCheck()))); diff != "" {
						t.Errorf("what goes after %s:\n%s", at, diff)
					}
				}
			})
		})
	}
}

// A stack that is down keeps its images through a wrong clock.
func TestAComposeFileIsRemembered(t *testing.T) {
	for what, back := range map[string]time.Duration{"right": 0, "back": 40 * day, "without a battery": century} {
		t.Run(what, func(t *testing.T) {
			onBoth(t, func(t *testing.T, kind engine.StoreKind) {
				h := start(t, fakeengine.Options{Store: kind})
				h.policy.MinAge, h.policy.UnusedFor, h.running = time.Hour, 7*day, true
				for _, tag := range []string{"v0.8.0", "v0.9.0", "v1.0.0", "v1.2.0", "v1.3.0"} {
					h.engine.Pull("traefik:"+tag, fakeengine.Made("traefik "+tag))
				}
				file := h.file("compose.yaml")
				if err := os.WriteFile(file, []byte("services: {web: {image: 'traefik:v1.0.0'}}"), 0o600); err != nil {
					t.Fatal(err)
				}
				h.engine.AddContainer(fakeengine.Container{Name: "now", From: "traefik:v1.3.0"})
				h.engine.AddContainer(fakeengine.Container{Name: "stack", From: "traefik:v1.0.0", Labels: map[string]string{
					"com.docker.compose.project": "web", "com.docker.compose.project.config_files": file,
				}})
				h.bind()
				wrong(back)(h)
				h.engine.RemoveContainer("stack")
				h.ahead = 13 * day
				h.bind()
				h.ahead = 21 * day
				if diff := cmp.Diff([]string{"traefik:v0.8.0"}, h.names(planned(h.mustCheck()))); diff != "" {
					t.Errorf("what goes:\n%s", diff)
				}
			})
		})
	}
}

// wrong is a run by a clock that is back. One of a time that can not be is
// refused.
func wrong(back time.Duration) func(h *host) {
	return func(h *host) {
		h.ahead -= back
		if err := h.tryBind(); err != nil && (back < century || !errors.Is(err, app.ErrImplausible)) {
			h.t.Errorf("run: %v", err)
		}
	}
}

// bind is a run that deletes nothing, so that its pins are remembered.
func (h *host) bind() {
	h.t.Helper()
	if err := h.tryBind(); err != nil {
		h.t.Fatalf("run: %v", err)
	}
}

func (h *host) tryBind() error {
	_, err := h.run(h.ctx(), func(r *app.RunRequest) { r.Policy.MaxDeletes = 0 })
	if errors.Is(err, app.ErrNoPins) {
		return nil
	}
	return err
}

// names are the first names of images.
func (h *host) names(ids []string) []string {
	var names []string
	for _, id := range ids {
		n, err := image.ParseName(h.engine.Held()[id][0])
		if err != nil {
			h.t.Fatalf("%s: %v", id, err)
		}
		names = append(names, n.Familiar())
	}
	slices.Sort(names)
	return names
}

// What can not be written down is not done.
func TestAJournalThatCanNotBeWritten(t *testing.T) {
	folder := func(name string) func(h *host) error {
		return func(h *host) error {
			_ = os.Remove(h.file(name))
			return os.Mkdir(h.file(name), 0o700)
		}
	}
	for what, block := range map[string]func(h *host) error{
		"no folder":                func(h *host) error { return os.RemoveAll(h.dir) },
		"the journal is a folder":  folder("journal.json"),
		"the next one is a folder": folder("journal.json.next"),
		"the lock is a folder":     folder("journal.lock"),
		"a damaged one is in place": func(h *host) error {
			h.write("{")
			return errors.Join(folder("journal.json.damaged")(h), os.WriteFile(h.file("journal.json.damaged/x"), nil, 0o600))
		},
	} {
		t.Run(what, func(t *testing.T) {
			onBoth(t, func(t *testing.T, kind engine.StoreKind) {
				h := town(t, fakeengine.Options{Store: kind})
				before, start := h.engine.Held(), len(h.engine.Calls())
				if err := block(h); err != nil {
					t.Fatal(err)
				}
				if pass := h.mustCheck(); pass.Forgot == nil {
					t.Error("a check does not tell of it")
				}
				if result, err := h.run(h.ctx()); err == nil {
					t.Errorf("no error: %+v", result)
				}
				h.untouched(before, start)
			})
		})
	}
}

// A journal that breaks amid the deletions ends them, and what went is told of.
func TestAJournalThatBreaks(t *testing.T) {
	onBoth(t, func(t *testing.T, kind engine.StoreKind) {
		h := town(t, fakeengine.Options{Store: kind})
		before := h.engine.Held()
		h.engine.OnRequest(func(c fakeengine.Call) {
			if c.Kind == fakeengine.DeleteImage && c.Of == 1 {
				_ = os.Mkdir(h.file("journal.json.next"), 0o700)
			}
		})
		result, err := h.run(h.ctx())
		if err == nil {
			t.Error("no error")
		}
		want := townGarbage(kind, before)[:1]
		if diff := cmp.Diff(want, lost(before, h.engine.Held())); diff != "" {
			t.Errorf("gone:\n%s", diff)
		}
		if diff := cmp.Diff(want, deleted(result)); diff != "" {
			t.Errorf("told of:\n%s", diff)
		}
	})
}
