package retention_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ebb-io/ebb/internal/policy"
	"github.com/ebb-io/ebb/internal/reason"
	"github.com/ebb-io/ebb/internal/retention"
	. "github.com/ebb-io/ebb/internal/testkit/hostworld" //nolint:revive // a world reads as its words
)

// decision is the one for the image that a test is about, which is called old.
func decision(t *testing.T, w *World, p policy.Host) retention.Decision {
	t.Helper()
	for _, d := range retention.Build(input(w, p)).Decisions {
		if w.Label(d.Image.ID) == "old" {
			return d
		}
	}
	t.Fatal("no image is called old")
	return retention.Decision{}
}

// about is a repository with pins, and one image that the test is about.
func about(old Part, more ...Part) *World {
	return New(append([]Part{Tagged("web:3.0", "web:2.0"), Pin("web:3.0"), old}, more...)...)
}

func keep(patterns ...string) func(*policy.Host) {
	return func(p *policy.Host) {
		for _, pattern := range patterns {
			glob, err := policy.ParseGlob(pattern)
			if err != nil {
				panic(err)
			}
			p.Keep = append(p.Keep, glob)
		}
	}
}

func healthy(p *policy.Host) { p.RequireHealthy = true }

// floating is a repository whose pin is no version.
func floating(more ...Part) *World {
	return New(append([]Part{Image("now", "web:latest"), Pin("web:latest"), Saw("now", 0, "web:latest")}, more...)...)
}

// TestWhyAnImageStays: the strongest reason for each kind of image.
func TestWhyAnImageStays(t *testing.T) {
	old := Image("old", "web:1.0")
	nameless := Image("old")
	for _, test := range []struct {
		reason string
		world  *World
		policy policy.Host
		want   reason.Code // the first reason
	}{
		{"older than one step back", about(old), atOnce(), reason.OlderThanPrevious},
		{"used by a container", about(old, Container("dead", "old", "")), atOnce(), reason.InUse},
		{"mounted by an unreadable name", about(old, Container("dead", "x", "", "WEB:::")), atOnce(), reason.Unreadable},
		{"used comes before pinned", about(old, Passive("web:1.0"), Container("dead", "old", "")), atOnce(), reason.InUse},
		{"pinned", about(old, Passive("web:1.0")), atOnce(), reason.Pinned},
		{"newer", about(Image("old", "web:9.0")), atOnce(), reason.NewerThanPin},
		{"one step back", New(Tagged("web:3.0"), old, Pin("web:3.0")), atOnce(), reason.PreviousOfPin},
		{"another stream", about(Image("old", "web:1.0-alpine")), atOnce(), reason.OtherStream},
		{"no version", about(Image("old", "web:stable")), atOnce(), reason.NotAVersion},
		{"no pin is of its repository", about(Image("old", "shop:1.0")), atOnce(), reason.Unclaimed},
		{"a pin is missing", about(old, Pin("web:7")), atOnce(), reason.PinMissing},
		{"its repository is skipped", about(old, Skip("web")), atOnce(), reason.Unreadable},
		{"it is another repository's too", about(Image("old", "web:1.0", "shop:1.0")), atOnce(), reason.OtherRepository},
		{"it is two others'", about(Image("old", "a:1", "b:1")), atOnce(), reason.Unclaimed},

		{"--keep by its short name", about(old), atOnce(keep("web:1*")), reason.KeptByPolicy},
		{"--keep by its full name", about(old), atOnce(keep("docker.io/library/web:1.0")), reason.KeptByPolicy},
		{"--keep by its repository", about(old), atOnce(keep("nothing", "w*")), reason.KeptByPolicy},
		{"--keep by its full repository", about(old), atOnce(keep("docker.io/**")), reason.KeptByPolicy},
		{"--keep of something else", about(old), atOnce(keep("w", "web:2*", "shop/**")), reason.OlderThanPrevious},
		{"--keep by the digest that it was pulled under", about(nameless, Digests("web@d"), Saw("old", Day, "web:1.0")), atOnce(keep("web@*")), reason.KeptByPolicy},

		{"no container of the pin", about(old), atOnce(healthy), reason.KeptByPolicy},
		{"the pin's container is stopped", about(old, Container("exited", "web:3.0", "")), atOnce(healthy), reason.KeptByPolicy},
		{"the pin's container is unwell", about(old, Container("running", "web:3.0", ""), Health("unhealthy")), atOnce(healthy), reason.KeptByPolicy},
		{"the pin's container is starting", about(old, Container("running", "web:3.0", ""), Health("starting")), atOnce(healthy), reason.KeptByPolicy},
		{"another image's container is well", about(old, Container("running", "web:2.0", "")), atOnce(healthy), reason.KeptByPolicy},
		{"one of two pins is not well", about(old, Pin("web:2.0"), Container("running", "web:3.0", "")), atOnce(healthy), reason.KeptByPolicy},
		{"the pin's container is well", about(old, Container("running", "web:3.0", ""), Health("healthy")), atOnce(healthy), reason.OlderThanPrevious},
		{"the pin's container runs and tells no health", about(old, Container("running", "web:3.0", "")), atOnce(healthy), reason.OlderThanPrevious},
		{"a passive pin need not be well", about(old, Passive("web:3.0"), Container("running", "web:3.0", ""), Passive("shop:1")), atOnce(healthy), reason.OlderThanPrevious},

		{"it was seen with a tag of the repository", about(nameless, Saw("old", Day, "web:1.0")), atOnce(), reason.Untagged},
		{"and another's", about(nameless, Saw("old", Day, "web:1.0", "shop:1.0")), atOnce(), reason.DigestOnly},
		{"and the engine says another", about(nameless, Saw("old", Day, "web:1.0"), Origins("docker.io/library/shop")), atOnce(), reason.DigestOnly},
		{"and it has another's digest", about(nameless, Saw("old", Day, "web:1.0"), Digests("shop@d")), atOnce(), reason.Unclaimed},
		{"and it was pinned as another's", about(nameless, Saw("old", Day, "web:1.0"), WasPin("shop:1.0", "old", Day)), atOnce(), reason.DigestOnly},
		{"it was seen with a repository's tag that no pin names", about(nameless, Saw("old", Day, "shop:1.0")), atOnce(), reason.Unclaimed},
		{"nothing is known of it", about(nameless), atOnce(), reason.DigestOnly},
		{"it was pinned", about(nameless, WasPin("web:1.0", "old", Day)), atOnce(), reason.Untagged},
		{"it lost its tag in a skipped repository", about(nameless, Saw("old", Day, "web:1.0"), Skip("web")), atOnce(), reason.Unreadable},
		{"only a digest says where it was", about(nameless, Digests("web@d")), atOnce(), reason.DigestOnly},
		{"only a digest of what no pin names", about(nameless, Digests("shop@d")), atOnce(), reason.Unclaimed},
		{"the engine says that it came from there alone", about(nameless, Origins("docker.io/library/web")), atOnce(), reason.Untagged},
		{"or from elsewhere", about(nameless, Origins("docker.io/library/web", "docker.io/library/shop")), atOnce(), reason.DigestOnly},
		{"an origin beside a digest is no proof", about(nameless, Origins("docker.io/library/web"), Digests("web@d")), atOnce(), reason.DigestOnly},
		{"an origin without its port", New(Tagged("r.io:5000/web:3", "r.io:5000/web:2"), Pin("r.io:5000/web:3"), nameless, Origins("r.io/web")), atOnce(), reason.Untagged},
		{"an origin that may be two repositories", New(Tagged("r.io:5000/web:3", "r.io:5000/web:2", "r.io:6000/web:1"), Pin("r.io:5000/web:3"), nameless, Origins("r.io/web")), atOnce(), reason.DigestOnly},

		{"pulled by its digest", about(Image("old", "web@d"), Saw("old", Day, "web:1.0")), atOnce(), reason.DigestOnly},
		{"pulled by its digest, which was a pin", about(Image("old", "web@d"), Digests("web@d"), WasPin("web:1.0@d", "old", 30*Day)), atOnce(), reason.PreviousOfPin},
		{"pulled by its digest, which was a pin before the last", about(Image("old", "web@d"), Digests("web@d"), WasPin("web:1.0@d", "old", 90*Day), WasPin("web:2.0", "web:2.0", 30*Day)), atOnce(), reason.OlderThanPrevious},
		{"and which was another repository's", about(Image("old", "web@d"), Digests("web@d"), WasPin("web:1.0@d", "old", 90*Day), WasPin("web:2.0", "web:2.0", 30*Day), Saw("old", Day, "shop:1")), atOnce(), reason.DigestOnly},

		{"a tag beside a pin that is no version", floating(old), atOnce(), reason.NotAVersion},
		{"the last that was latest", floating(nameless, Saw("old", 10*Day, "web:latest")), atOnce(), reason.PreviousOfPin},
		{"the one before the last", floating(nameless, Saw("old", 20*Day, "web:latest"), Image("last"), Saw("last", 10*Day, "web:latest")), atOnce(), reason.Untagged},
		{"the one before the last, of two steps back", floating(nameless, Saw("old", 20*Day, "web:latest"), Image("last"), Saw("last", 10*Day, "web:latest")), atOnce(previous(2)), reason.PreviousOfPin},
		{"the last of none", floating(nameless, Saw("old", 10*Day, "web:latest")), atOnce(previous(0)), reason.Untagged},
		{"it was pinned as latest", floating(nameless, WasPin("web:latest", "old", 10*Day)), atOnce(), reason.PreviousOfPin},
		{"the last but for what is a pin itself", floating(nameless, Saw("old", 10*Day, "web:latest"), Image("pin"), Digests("web@d"), Saw("pin", 5*Day, "web:latest"), Pin("web@d")), atOnce(), reason.PreviousOfPin},
		{"the last but for what has a tag", floating(nameless, Saw("old", 10*Day, "web:latest"), Tagged("web:1.0"), Saw("web:1.0", 5*Day, "web:latest")), atOnce(), reason.PreviousOfPin},
		{"it was a pin with a version, and nobody saw it as latest", floating(nameless, Digests("web@d"), WasPin("web:1.0@d", "old", 10*Day)), atOnce(), reason.AgeUnknown},
		{"nobody saw it as latest", floating(nameless, Saw("old", 10*Day, "web:1.0")), atOnce(), reason.AgeUnknown},
		{"the engine alone says where it was", floating(nameless, Origins("docker.io/library/web")), atOnce(), reason.AgeUnknown},
	} {
		d := decision(t, test.world, test.policy)
		if d.Reasons[0].Code != test.want {
			t.Errorf("%s: %v, want %s", test.reason, d.Reasons, test.want)
		}
		if goes := test.want == reason.OlderThanPrevious || test.want == reason.Untagged; goes != d.Delete {
			t.Errorf("%s: it goes: %t, for %v", test.reason, d.Delete, d.Reasons)
		}
	}
}

func TestWhatWaits(t *testing.T) {
	const week = 7 * Day
	for _, test := range []struct {
		reason string
		parts  []Part
		until  time.Duration // from now; zero: it goes
		want   []reason.Code
	}{
		{"seen now", nil, time.Hour, []reason.Code{reason.TooYoung}},
		{"seen just before it is old enough", []Part{Saw("old", time.Hour-time.Second)}, time.Second, []reason.Code{reason.TooYoung}},
		{"seen long enough ago", []Part{Saw("old", time.Hour)}, 0, nil},
		{"the engine saw it come", []Part{Pulled(time.Hour)}, 0, nil},
		{"the engine saw it come a moment ago, but it was here before", []Part{Pulled(time.Minute), Saw("old", Day)}, 0, nil},
		{"the engine saw it come before there was a journal", []Part{Pulled(Day), Remembering(time.Minute)}, time.Hour - time.Minute, []reason.Code{reason.TooYoung}},
		{"a pull that is to come", []Part{Pulled(-time.Hour)}, time.Hour, []reason.Code{reason.TooYoung}},
		{"used just now", []Part{Saw("old", Day), Used("old", 0)}, week, []reason.Code{reason.RecentlyUsed}},
		{"used a while ago", []Part{Saw("old", Day), Used("old", week-time.Second)}, time.Second, []reason.Code{reason.RecentlyUsed}},
		{"used long ago", []Part{Saw("old", Day), Used("old", week)}, 0, nil},
		{"a use that is to come was now", []Part{Saw("old", Day), Used("old", -Day)}, week, []reason.Code{reason.RecentlyUsed}},
		{"seen and used just now", []Part{Used("old", 0)}, week, []reason.Code{reason.RecentlyUsed, reason.TooYoung}},
		{"refused", []Part{Saw("old", Day), Refused("old", time.Minute)}, time.Minute, []reason.Code{reason.RefusedBefore}},
		{"refused long ago", []Part{Saw("old", Day), Refused("old", 0)}, 0, nil},
		{
			"everything at once: the last counts",
			[]Part{Used("old", week-time.Minute), Refused("old", time.Second)},
			time.Hour,
			[]reason.Code{reason.RecentlyUsed, reason.TooYoung, reason.RefusedBefore},
		},
	} {
		w := about(Image("old", "web:1.0"), test.parts...)
		d := decision(t, w, policy.DefaultHost())
		var got []reason.Code
		for _, r := range d.Reasons {
			got = append(got, r.Code)
		}
		if diff := cmp.Diff(append(test.want, reason.OlderThanPrevious), got); diff != "" {
			t.Errorf("%s:\n%s", test.reason, diff)
		}
		want := time.Time{}
		if test.until > 0 {
			want = Now().Add(test.until)
		}
		if d.Delete != (test.until == 0) || !d.Until.Equal(want) {
			t.Errorf("%s: it goes: %t, waits until %s, want %s", test.reason, d.Delete, d.Until, want)
		}
	}
	for _, kept := range []Part{Container("exited", "old", ""), Passive("web:1.0")} {
		if d := decision(t, about(Image("old", "web:1.0"), kept), policy.DefaultHost()); !d.Until.IsZero() {
			t.Errorf("%v: it waits until %s, although more than time keeps it", d.Reasons, d.Until)
		}
	}
}

func TestMaxDeletes(t *testing.T) {
	w := New(Tagged("web:10.0", "web:9.0", "web:8.0", "web:3.0", "shop:4", "shop:3", "shop:2", "shop:1"), Pin("web:10.0", "shop:4"))
	all := []string{"shop:1", "shop:2", "web:3.0", "web:8.0"}
	for n := range 6 {
		p := atOnce()
		p.MaxDeletes = n
		plan := retention.Build(input(w, p))
		goes := min(n, len(all))
		if diff := cmp.Diff(all[:goes], gone(w, plan)); diff != "" {
			t.Errorf("the oldest %d go:\n%s", n, diff)
		}
		var left []string
		for _, d := range plan.Decisions {
			if d.Postponed {
				left = append(left, w.Label(d.Image.ID))
			}
			if d.Postponed && (d.Delete || d.Reasons[0].Code != reason.KeptByPolicy) {
				t.Errorf("%d: %s: %v", n, w.Label(d.Image.ID), d.Reasons)
			}
		}
		if !slices.Equal(left, all[goes:]) {
			t.Errorf("%d: %q are left to the next pass, want %q", n, left, all[goes:])
		}
	}
}

func TestTotals(t *testing.T) {
	w := New(Tagged("web:3.0", "web:2.0", "web:1.0", "web:0.5", "shop:1"), Pin("web:3.0", "cache:1"), Used("web:0.5", 0))
	for i := range w.Snapshot.Images {
		w.Snapshot.Images[i].Size, w.Snapshot.Images[i].Shared = int64(100+i), 40 // 60, 61, 62, 63, 64 alone
	}
	plan := retention.Build(input(w, atOnce()))
	want := retention.Totals{Images: 5, Keep: 4, Delete: 1, Bytes: 60 + 61 + 62 + 63 + 64 + 40, ReclaimableBytes: 62}
	if diff := cmp.Diff(want, plan.Totals); diff != "" {
		t.Error(diff)
	}
	var got []retention.Repository
	for _, r := range plan.Repositories {
		if (r.Skipped != nil) != (r.Images == 0) {
			t.Errorf("%s is skipped: %v", r.Name, r.Skipped)
		}
		got = append(got, retention.Repository{Name: r.Name, Images: r.Images, Candidates: r.Candidates, Delete: r.Delete, Bytes: r.Bytes})
	}
	repositories := []retention.Repository{
		{Name: "docker.io/library/cache"},
		{Name: "docker.io/library/web", Images: 4, Candidates: 2, Delete: 1, Bytes: 62},
	}
	if diff := cmp.Diff(repositories, got); diff != "" {
		t.Error(diff)
	}
	if names := plan.Repositories[1].Previous; len(names) != 1 || names[0] != Name("web:2.0") {
		t.Errorf("previous are %v", names)
	}
}

func TestMaxDeleteShare(t *testing.T) {
	for share, exceeded := range map[policy.Share]bool{100: false, 25: false, 24: true, 0: true} {
		p := atOnce()
		p.MaxDeleteShare = share
		plan := retention.Build(input(New(Tagged("web:3.0", "web:2.0", "web:1.0", "shop:1"), Pin("web:3.0")), p))
		if got := len(plan.Exceeded) > 0; got != exceeded {
			t.Errorf("one of four with a limit of %s: %v", share, plan.Exceeded)
		}
	}
}

func TestAPlanThatWasStored(t *testing.T) {
	many := func(more ...Part) *World { return three(append([]Part{Tagged("web:0.5", "web:0.4")}, more...)...) }
	w := many()
	stored := retention.Build(input(w, atOnce())).Names()
	if len(stored) != 3 {
		t.Fatalf("the plan is %v", stored)
	}
	for _, test := range []struct {
		reason string
		world  *World
		max    int
		want   []string
		stale  []string
	}{
		{"nothing has changed", many(), -1, []string{"web:0.4", "web:0.5", "web:1.0"}, nil},
		{"what is garbage since then waits", many(Tagged("web:0.3", "web:0.6")), -1, []string{"web:0.4", "web:0.5", "web:1.0"}, nil},
		{"what is gone is done", three(Tagged("web:0.5")), -1, []string{"web:0.5", "web:1.0"}, nil},
		{"what is needed since then", many(Container("created", "web:0.5", "")), -1, []string{"web:0.4", "web:1.0"}, []string{"web:0.5"}},
		{"a new name", three(Image("web:0.5", "web:0.5", "web:0.1"), Tagged("web:0.4")), -1, []string{"web:0.4", "web:1.0"}, []string{"web:0.1"}},
		{
			"another image under the name", three(Image("x", "web:0.5"), Tagged("web:0.4"), Image("web:0.5"), Saw("web:0.5", 0, "web:0.5")), -1,
			[]string{"web:0.4", "web:1.0"},
			[]string{ID("web:0.5").Short()},
		},
		{"the limit leaves what is named to this plan", many(Tagged("web:0.1", "web:1.5")), 1, []string{"web:0.4", "web:0.5", "web:1.0"}, nil},
	} {
		p := atOnce()
		p.MaxDeletes = test.max
		now := retention.Build(input(test.world, p))
		if got := now.Stale(stored); !slices.Equal(got, test.stale) {
			t.Errorf("%s: stale are %q, want %q", test.reason, got, test.stale)
		}
		restricted := now.Restrict(stored)
		if diff := cmp.Diff(test.want, gone(test.world, restricted)); diff != "" {
			t.Errorf("%s:\n%s", test.reason, diff)
		}
		if restricted.Totals.Delete != len(test.want) || restricted.Repositories[0].Delete != len(test.want) {
			t.Errorf("%s: it says %d, and %d in its repository", test.reason, restricted.Totals.Delete, restricted.Repositories[0].Delete)
		}
		if again := retention.Build(input(test.world, p)); now.Fingerprint() != again.Fingerprint() {
			t.Errorf("%s: the plan itself was changed", test.reason)
		}
	}
}

// TestTheLimitsOfAStoredPlan are held to what it deletes, not to what is
// garbage by now.
func TestTheLimitsOfAStoredPlan(t *testing.T) {
	p := atOnce()
	p.MaxDeleteShare = 40
	stored := retention.Build(input(three(), p))
	now := retention.Build(input(three(Tagged("web:0.5", "web:0.4")), p))
	if len(stored.Exceeded) > 0 || len(now.Exceeded) == 0 {
		t.Fatalf("one of three: %v, three of five: %v", stored.Exceeded, now.Exceeded)
	}
	if got := now.Restrict(stored.Names()).Exceeded; len(got) > 0 {
		t.Errorf("one of five: %v", got)
	}
	if len(now.Exceeded) == 0 {
		t.Error("the plan itself was changed")
	}
}

func TestFingerprint(t *testing.T) {
	of := func(w *World) string { return retention.Build(input(w, atOnce())).Fingerprint() }
	base := of(three())
	if of(three()) != base || of(three(Tagged("web:4.0", "shop:1"))) != base {
		t.Error("what is kept changes it")
	}
	for _, w := range []*World{three(Tagged("web:0.5")), three(Container("dead", "web:1.0", "")), three(Image("web:1.0", "web:0.1"))} {
		if of(w) == base {
			t.Errorf("%v: it is the same", gone(w, retention.Build(input(w, atOnce()))))
		}
	}
}
