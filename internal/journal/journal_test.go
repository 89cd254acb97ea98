package journal_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ebb-io/ebb/internal/engine"
	"github.com/ebb-io/ebb/internal/image"
	"github.com/ebb-io/ebb/internal/journal"
	"github.com/ebb-io/ebb/internal/pin"
	. "github.com/ebb-io/ebb/internal/testkit/hostworld" //nolint:revive // a world reads as its words
)

var names = cmpopts.EquateComparable(image.Name{})

// observe looks at a world some time after now.
func observe(r journal.Record, w *World, later time.Duration) journal.Record {
	return r.Observe(&w.Snapshot, nil, w.Pins.Stacks, Now().Add(later)).Pinned(&w.Snapshot, w.Pins.Pins)
}

func TestFirstSeen(t *testing.T) {
	for _, test := range []struct {
		reason string
		before time.Time
		want   time.Time
	}{
		{"never seen", time.Time{}, Now()},
		{"seen before", Now().Add(-Day), Now().Add(-Day)},
		{"seen just now", Now(), Now()},
		{"a time to come is no age", Now().Add(time.Second), Now()},
		{"nor is that of a clock without a battery", time.Unix(0, 0).UTC(), Now()},
	} {
		r := journal.Record{Images: map[image.Digest]journal.Image{ID("web:1"): {FirstSeen: test.before}}}
		got := observe(r, New(Tagged("web:1")), 0).Images[ID("web:1")]
		if !got.FirstSeen.Equal(test.want) || !got.LastSeen.Equal(Now()) {
			t.Errorf("%s: first %s and last %s, want %s and now", test.reason, got.FirstSeen, got.LastSeen, test.want)
		}
	}
}

// What a clock that went back has seen needed was needed until later.
func TestTheClockGoesBack(t *testing.T) {
	web := New(Tagged("web:1"), Pin("web:1"))
	web.Snapshot.Containers = []engine.Container{{ID: "a", Compose: engine.Compose{Project: "web", Files: []string{"/a"}}}}
	first := observe(journal.Record{}, web, 0)
	back := observe(first, web, -Day)
	for what, got := range map[string]time.Time{
		"used": back.Images[ID("web:1")].LastUsed, "pinned": back.Pins[Name("web:1").String()].Last,
		"a stack": back.Stacks[web.Snapshot.Containers[0].Compose.Key()].LastSeen,
	} {
		if !got.Equal(Now()) {
			t.Errorf("%s: last %s, want %s", what, got, Now())
		}
	}
	if !back.Since.Equal(Now()) || !back.Seen.Equal(Now()) {
		t.Errorf("the journal is of %s, and the last look of %s", back.Since, back.Seen)
	}
	came := observe(first, New(Tagged("web:1", "web:2")), -8*Day)
	right := observe(came, New(Tagged("web:1", "web:2")), time.Minute)
	if got := right.Images[ID("web:2")].FirstSeen; !got.Equal(Now()) {
		t.Errorf("what came by the clock that went back is of %s: older than it is", got)
	}
}

// A clock that was far ahead is not believed for ever.
func TestTheClockWasAhead(t *testing.T) {
	web := New(Tagged("web:1"), Pin("web:1"))
	ahead := observe(journal.Record{}, web, 4000*Day)
	for _, w := range []*World{web, New(Tagged("web:1"))} {
		r := observe(ahead, w, 0)
		if got := r.Images[ID("web:1")]; !got.FirstSeen.Equal(Now()) || !got.LastUsed.Equal(Now()) || !r.Seen.Equal(Now()) {
			t.Errorf("first seen %s, last used %s, looked at %s", got.FirstSeen, got.LastUsed, r.Seen)
		}
	}
}

func TestWhatComesBackIsNew(t *testing.T) {
	r := observe(journal.Record{}, New(Tagged("web:1", "web:2")), 0).Refuse(ID("web:1"), "conflict", Now())
	gone := observe(r, New(Tagged("web:2")), Day)
	if len(gone.Images) != 1 || len(gone.Refused) != 0 {
		t.Fatalf("what is gone is remembered: %+v", gone)
	}
	back := observe(gone, New(Tagged("web:1", "web:2")), 2*Day)
	if got := back.Images[ID("web:1")].FirstSeen; !got.Equal(Now().Add(2 * Day)) {
		t.Errorf("first seen %s: it was away since", got)
	}
	if got := back.Images[ID("web:2")].FirstSeen; !got.Equal(Now()) {
		t.Errorf("first seen %s: it was here all the time", got)
	}
	if still := observe(r, New(Tagged("web:1")), Day); len(still.Refused) != 1 {
		t.Error("a refusal is forgotten while the image is here")
	}
}

func TestNamesSeen(t *testing.T) {
	r := observe(journal.Record{}, New(Image("x", "web:1", "web:latest", "web@y")), 0)
	r = observe(r, New(Image("x", "web:1")), Day)
	want := map[string]time.Time{Name("web:1").String(): Now().Add(Day), Name("web:latest").String(): Now()}
	if diff := cmp.Diff(want, r.Images[ID("x")].Names); diff != "" {
		t.Errorf("each tag with when it was last seen:\n%s", diff)
	}
}

func TestUsed(t *testing.T) {
	pair := func(more ...Part) *World {
		return New(append([]Part{Tagged("web:1"), Image("old", "web:2"), Digests("web@d"), Manifests("m")}, more...)...)
	}
	short := ID("web:1").Hex()[:12]
	for _, test := range []struct {
		reason string
		world  *World
		want   []string
	}{
		{"nobody needs them", pair(), nil},
		{"a container made from it", pair(Container("exited", "web:1", "")), []string{"web:1"}},
		{"a container made from its name, of another image", pair(Container("created", "x", "web:1")), []string{"web:1"}},
		{"from a short ID", pair(Container("dead", "x", short)), []string{"web:1"}},
		{"a mount by name", pair(Container("running", "x", "", "web:1")), []string{"web:1"}},
		{"a mount of what latest was", pair(Saw("old", Day, "web:latest"), Container("running", "x", "", "web")), []string{"old"}},
		{"a mount by digest", pair(Container("running", "x", "", "web@d")), []string{"old"}},
		{"a mount of what the name was", pair(Saw("old", Day, "web:1"), Container("running", "x", "", "web:1")), []string{"old", "web:1"}},
		{"a service", pair(Service("web:2@d")), []string{"old"}},
		{"a pin", pair(Pin("web:1")), []string{"web:1"}},
		{"a pin by the digest of one of its manifests", pair(Pin("web@m")), []string{"old"}},
		{"a passive pin", pair(Passive("web:2")), []string{"old"}},
		{"what can not be read is nothing to remember", pair(Container("running", "x", "", "WEB:::")), nil},
	} {
		var got []string
		for id, seen := range test.world.Observed().Images {
			if seen.LastUsed.Equal(Now()) {
				got = append(got, test.world.Label(id))
			}
		}
		if slices.Sort(got); !slices.Equal(got, test.want) {
			t.Errorf("%s: used are %q, want %q", test.reason, got, test.want)
		}
	}
	used := observe(journal.Record{}, pair(Pin("web:1")), 0)
	if got := observe(used, pair(), Day).Images[ID("web:1")].LastUsed; !got.Equal(Now()) {
		t.Errorf("last used %s, want when that was", got)
	}
}

// TestUsedSinceTheLastLook: a container that is gone by now was a use.
func TestUsedSinceTheLastLook(t *testing.T) {
	w := New(Tagged("web:1", "web:2", "web:3"))
	from := func(kind, action, ref string, ago time.Duration) engine.Event {
		return engine.Event{At: Now().Add(-ago), Type: kind, Action: action, ID: "c", From: ref}
	}
	r := journal.Record{}.Observe(&w.Snapshot, []engine.Event{
		from(engine.OfContainer, "create", "web:1", 2*Day), from(engine.OfContainer, "destroy", "web:1", Day),
		from(engine.OfContainer, "die", ID("web:2").Hex()[:12], -time.Minute),
		from(engine.OfImage, "tag", "web:3", 0), from(engine.OfContainer, "create", "WEB:::", 0), from(engine.OfContainer, "create", "", 0),
	}, nil, Now())
	want := map[string]time.Time{"web:1": Now().Add(-Day), "web:2": Now(), "web:3": {}}
	for label, at := range want {
		if got := r.Images[ID(label)].LastUsed; !got.Equal(at) {
			t.Errorf("%s was last used %s, want %s", label, got, at)
		}
	}
}

// TestALookThatWasOvertaken takes nothing back of what was written down meanwhile.
func TestALookThatWasOvertaken(t *testing.T) {
	all := New(Tagged("web:1", "web:2"), Pin("web:1"))
	r := observe(journal.Record{}, New(Tagged("web:1", "web:2", "web:3"), Pin("web:3")), time.Second)
	r = r.Deleted(journal.Deletion{At: Now().Add(-time.Minute), Ended: Now().Add(time.Second), ID: ID("web:2")})
	got := observe(r, all, 0)
	if _, back := got.Images[ID("web:2")]; back {
		t.Error("what was deleted meanwhile is remembered again")
	}
	if !got.Images[ID("web:3")].LastUsed.Equal(Now().Add(time.Second)) || len(got.Pins[Name("web:3").String()].Images) != 1 {
		t.Errorf("what was seen meanwhile is forgotten: %+v", got)
	}
	if later := observe(r, all, 2*time.Second); len(later.Images) != 2 {
		t.Errorf("%v: a later look sees what is here", later.Images)
	}
}

// TestWhatAnotherRemovedIsNew when it is back, and was used all the same.
func TestWhatAnotherRemovedIsNew(t *testing.T) {
	w := New(Tagged("web:1", "web:2"), Container("exited", "web:1", ""))
	r := observe(journal.Record{}, w, 0)
	w.Snapshot.Containers = nil
	removed := event(engine.OfImage, "delete", ID("web:1").String(), time.Hour)
	r = r.Observe(&w.Snapshot, []engine.Event{removed, event(engine.OfImage, "untag", ID("web:2").String(), time.Hour)}, nil, Now().Add(Day))
	if got := r.Images[ID("web:1")]; !got.FirstSeen.Equal(Now().Add(Day)) || !got.LastUsed.Equal(Now()) {
		t.Errorf("first seen %s, last used %s", got.FirstSeen, got.LastUsed)
	}
	if got := r.Images[ID("web:2")]; !got.FirstSeen.Equal(Now()) {
		t.Errorf("what only lost a name is first seen %s", got.FirstSeen)
	}
}

// TestADeletionThatWasBegun is one if the image is gone, and none else.
func TestADeletionThatWasBegun(t *testing.T) {
	both := observe(journal.Record{}, New(Tagged("web:1", "web:2"), Pin("web:1")), 0)
	d := journal.Deletion{At: Now(), ID: ID("web:1"), Names: []string{"web:1"}}
	begun := both.Begin(d)
	if both.Pending != nil {
		t.Error("an older record was changed")
	}
	gone := observe(begun, New(Tagged("web:2")), time.Minute)
	if diff := cmp.Diff([]journal.Deletion{d}, gone.Deletions, cmpopts.EquateComparable(image.Digest{})); diff != "" || gone.Pending != nil {
		t.Errorf("its image is gone; pending is %v:\n%s", gone.Pending, diff)
	}
	if again := observe(gone, New(Tagged("web:2")), time.Hour); len(again.Deletions) != 1 {
		t.Errorf("it is told twice: %v", again.Deletions)
	}
	if said := gone.Deleted(d); len(said.Deletions) != 1 {
		t.Errorf("it is said to be done after a look saw so: %v", said.Deletions)
	}
	here := observe(begun, New(Tagged("web:1", "web:2")), time.Minute)
	if len(here.Deletions) != 0 || here.Pending == nil {
		t.Errorf("its image may be going just now: %v, %v", here.Deletions, here.Pending)
	}
	if r := observe(here.Dropped(), New(Tagged("web:2")), time.Hour); len(r.Deletions) != 0 || r.Pending != nil {
		t.Errorf("it came to nothing: %v, %v", r.Deletions, r.Pending)
	}
	if said := begun.Deleted(d); len(said.Deletions) != 1 || said.Pending != nil {
		t.Errorf("it is done: %v, %v", said.Deletions, said.Pending)
	}
}

func TestPinned(t *testing.T) {
	r := observe(journal.Record{}, New(Tagged("web:1", "web:2"), Pin("web:1")), 0)
	moved := New(Image("web:1"), Image("new", "web:1"), Tagged("web:2"), Pin("web:1"))
	r = observe(r, moved, Day)
	r = observe(r, New(Image("web:1"), Image("new", "web:1"), Tagged("web:2"), Pin("web:2")), 2*Day)
	want := map[string]journal.Pin{
		Name("web:1").String(): {First: Now(), Last: Now().Add(Day), Images: map[image.Digest]time.Time{ID("web:1"): Now(), ID("new"): Now().Add(Day)}},
		Name("web:2").String(): {First: Now().Add(2 * Day), Last: Now().Add(2 * Day), Images: map[image.Digest]time.Time{ID("web:2"): Now().Add(2 * Day)}},
	}
	if diff := cmp.Diff(want, r.Pins); diff != "" {
		t.Error(diff)
	}
	r = observe(r, New(Image("new", "web:1")), 3*Day)
	if images := r.Pins[Name("web:1").String()].Images; len(images) != 1 {
		t.Errorf("%v: an image that is gone is still remembered", images)
	}
	for later, want := range map[time.Duration]int{400 * Day: 2, 401 * Day: 1, 402 * Day: 0} {
		if got := observe(r, New(Tagged("web:1")), later); len(got.Pins) != want {
			t.Errorf("after %s there are %d pins, want %d", later, len(got.Pins), want)
		}
	}
}

func TestStacks(t *testing.T) {
	web := engine.Compose{Project: "web", Files: []string{"/srv/a.yml", "/srv/b.yml"}, Dir: "/srv", EnvFiles: []string{"/srv/.env"}}
	test := engine.Compose{Project: "test", Files: web.Files}
	up := New(Tagged("web:1"))
	up.Snapshot.Containers = []engine.Container{{ID: "a", Compose: web}, {ID: "b", Compose: test}, {ID: "c", Compose: engine.Compose{Project: "none"}}}
	up.Pins.Stacks = []pin.Stack{{Key: web.Key(), Images: []string{"web:1"}}, {Key: "of nobody", Images: []string{"x:1"}}}
	r := observe(journal.Record{}, up, 0)
	want := map[string]journal.Stack{
		web.Key():  {Compose: web, LastSeen: Now(), Images: []string{"web:1"}},
		test.Key(): {Compose: test, LastSeen: Now()},
	}
	if diff := cmp.Diff(want, r.Stacks); diff != "" {
		t.Error(diff)
	}
	up.Pins.Stacks = nil
	if again := observe(r, up, Day).Stacks[web.Key()]; len(again.Images) != 1 || !again.LastSeen.Equal(Now().Add(Day)) {
		t.Errorf("%+v: files that can not be read any more keep what they said", again)
	}
	readable := New(Tagged("web:1"))
	readable.Pins.Stacks = []pin.Stack{{Key: web.Key(), Images: []string{"web:1", "web:2"}}}
	r = observe(r, readable, 40*Day)
	want = map[string]journal.Stack{web.Key(): {Compose: web, LastSeen: Now().Add(40 * Day), Images: []string{"web:1", "web:2"}}}
	if diff := cmp.Diff(want, r.Stacks); diff != "" {
		t.Errorf("a stack that is down stays as long as its files can be read:\n%s", diff)
	}
	for later, want := range map[time.Duration]int{40*Day + 29*Day: 1, 40*Day + 30*Day: 0} {
		if got := observe(r, New(Tagged("web:1")), later); len(got.Stacks) != want {
			t.Errorf("%s after its containers there are %d stacks, want %d", later, len(got.Stacks), want)
		}
	}
}

// TestObserveLeavesTheOldRecordAlone, and looking again at the same time is
// nothing new, in whatever order things are listed.
func TestObserveLeavesTheOldRecordAlone(t *testing.T) {
	build := func() *World {
		return New(Tagged("web:2", "web:1"), Image("x"), Pin("web:2", "web:1"), Container("running", "x", "web:1", "web:2"), Service("web:1"))
	}
	first := observe(journal.Record{}, build(), 0)
	kept := observe(journal.Record{}, build(), 0)
	w := build()
	slices.Reverse(w.Snapshot.Images)
	slices.Reverse(w.Pins.Pins)
	again := observe(first, w, 0)
	if diff := cmp.Diff(first, again, names); diff != "" {
		t.Errorf("a second look found something new:\n%s", diff)
	}
	observe(first, New(Image("web:1", "web:9"), Pin("web:9")), Day)
	if diff := cmp.Diff(kept, first, names); diff != "" {
		t.Errorf("a later look changed an older record:\n%s", diff)
	}
}

func event(kind, action, id string, later time.Duration) engine.Event {
	return engine.Event{At: Now().Add(later), Type: kind, Action: action, ID: id}
}

func TestPlausible(t *testing.T) {
	full := New(Tagged("web:1"), Container("running", "web:1", "web:1"))
	for _, test := range []struct {
		reason string
		before *World
		now    *World
		later  time.Duration
		want   string
		// history is what the engine remembers.
		history []engine.Event
	}{
		{"all is there", full, full, 0, "", nil},
		{"the first look", nil, New(), 0, "", nil},
		{"all images are gone", full, New(Container("running", "web:1", "web:1")), time.Minute, "no image although it had 1", nil},
		{"all containers are gone", full, New(Tagged("web:1")), time.Minute, "no container although it had 1", nil},
		{"just before it is believed", full, New(), 15*time.Minute - 1, "no image", nil},
		{"it is believed", full, New(), 15 * time.Minute, "", nil},
		{"there was none", New(Tagged("web:1")), New(Tagged("web:1")), time.Minute, "", nil},
		{"a clock that went back", full, New(), -Day, "no image", nil},
		{"a last look by a clock that was far ahead", full, New(), -Day - 1, "", nil},
		{"a clock that has just begun", full, full, -56 * 366 * Day, "the clock says 1970", nil},
		{"a clock that has just begun, and the first look", nil, New(), -56 * 366 * Day, "the clock says 1970", nil},
		{"the container was removed since", full, New(Tagged("web:1")), time.Minute, "", []engine.Event{event("container", "destroy", "c", 0)}},
		{"as Podman says it", full, New(Tagged("web:1")), time.Minute, "", []engine.Event{event("container", "remove", "c", 0)}},
		{"both images were deleted since", New(Tagged("web:1", "web:2")), New(), time.Minute, "", []engine.Event{event("image", "delete", "a", 0), event("image", "delete", "b", time.Second)}},
		{"one of two was, twice", New(Tagged("web:1", "web:2")), New(), time.Minute, "no image", []engine.Event{event("image", "delete", "a", 0), event("image", "delete", "a", time.Second)}},
		{"it was removed before", full, New(Tagged("web:1")), time.Minute, "no container", []engine.Event{event("container", "destroy", "c", -1)}},
		{"it only ended", full, New(Tagged("web:1")), time.Minute, "no container", []engine.Event{event("container", "die", "c", 0), event("network", "destroy", "n", 0)}},
		{"an image was deleted, and no container", full, New(Tagged("web:1")), time.Minute, "no container", []engine.Event{event("image", "delete", "a", 0)}},
	} {
		var r journal.Record
		if test.before != nil {
			r = observe(r, test.before, 0)
		}
		err := r.Plausible(&test.now.Snapshot, test.history, Now().Add(test.later))
		if got := err != nil; got != (test.want != "") || got && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", test.reason, err, test.want)
		}
	}
}
