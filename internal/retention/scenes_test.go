package retention_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ebb-io/ebb/internal/policy"
	"github.com/ebb-io/ebb/internal/reason"
	"github.com/ebb-io/ebb/internal/retention"
	. "github.com/ebb-io/ebb/internal/testkit/hostworld" //nolint:revive // a world reads as its words
)

// atOnce is the default but that it does not wait for an image's age.
func atOnce(change ...func(*policy.Host)) policy.Host {
	p := policy.DefaultHost()
	p.MinAge = 0
	for _, c := range change {
		c(&p)
	}
	return p
}

func input(w *World, p policy.Host) retention.Input {
	return retention.Input{Snapshot: &w.Snapshot, Pins: w.Pins, Record: w.Observed(), Policy: p, Now: Now()}
}

// gone are the labels of what a plan deletes, in its order.
func gone(w *World, p *retention.Plan) []string {
	found := []string{}
	for _, s := range p.Steps() {
		found = append(found, w.Label(s.ID))
	}
	return found
}

func previous(n int) func(*policy.Host) { return func(p *policy.Host) { p.KeepPrevious = n } }
func newer(n int) func(*policy.Host)    { return func(p *policy.Host) { p.KeepNewer = n } }

func household(more ...Part) *World {
	return New(append([]Part{
		Tagged("traefik:v3.1.2", "traefik:v3.1.0", "traefik:v3.0.4",
			"cloudflare/cloudflared:2024.9.1", "cloudflare/cloudflared:2024.8.3", "cloudflare/cloudflared:2024.6.1", "cloudflare/cloudflared:2024.4.0",
			"filebrowser/filebrowser:v2.31.2", "filebrowser/filebrowser:v2.30.0", "filebrowser/filebrowser:v2.27.0",
			"samba:4.19.2", "samba:4.18.9"),
		Pin("traefik:v3.1.2", "cloudflare/cloudflared:2024.9.1", "filebrowser/filebrowser:v2.31.2", "samba:4.19.2"),
	}, more...)...)
}

var householdGarbage = []string{
	"cloudflare/cloudflared:2024.4.0", "cloudflare/cloudflared:2024.6.1", "filebrowser/filebrowser:v2.27.0", "traefik:v3.0.4",
}

func TestHousehold(t *testing.T) {
	w := household()
	if diff := cmp.Diff(householdGarbage, gone(w, retention.Build(input(w, atOnce())))); diff != "" {
		t.Errorf("what is older than one step back goes:\n%s", diff)
	}
	p := retention.Build(input(w, policy.DefaultHost()))
	var waits []string
	for _, d := range p.Decisions {
		if !d.Until.IsZero() {
			waits = append(waits, w.Label(d.Image.ID))
			if want := Now().Add(time.Hour); !d.Until.Equal(want) {
				t.Errorf("%s waits until %s, want %s", w.Label(d.Image.ID), d.Until, want)
			}
		}
	}
	if diff := cmp.Diff(householdGarbage, waits); diff != "" || !p.Nothing() {
		t.Errorf("at the first look all of it waits for an hour, and %d go:\n%s", p.Totals.Delete, diff)
	}
}

// three is a repository with garbage in it, which more may keep.
func three(more ...Part) *World {
	return New(append([]Part{Tagged("web:3.0", "web:2.0", "web:1.0"), Pin("web:3.0")}, more...)...)
}

func TestScenes(t *testing.T) {
	old := []string{"web:1.0"}
	none := []string{}
	for _, test := range []struct {
		reason string
		world  *World
		policy policy.Host
		want   []string
	}{
		{"the pin, one step back, and no more", three(), atOnce(), old},
		{
			"a box that was rolled back keeps the way forward",
			New(Tagged("web:3.0", "web:2.0", "web:1.0"), Pin("web:2.0")), atOnce(), none,
		},
		{
			"two pins: one step back from each (S1)",
			New(Tagged("web:2.11.0", "web:2.10.0", "web:2.9.0", "web:3.1.2", "web:3.1.1", "web:3.1.0"), Pin("web:2.11.0", "web:3.1.2")), atOnce(),
			[]string{"web:2.9.0"},
		},
		{
			"two pins, and nothing newer: the lower one is the last pin below the other, and all between stays",
			New(Tagged("web:2.11.0", "web:2.10.0", "web:2.9.0", "web:3.1.2", "web:3.1.1", "web:3.1.0", "web:3.2.0"), Pin("web:2.11.0", "web:3.1.2")), atOnce(newer(0)),
			[]string{"web:2.9.0", "web:3.2.0"},
		},
		{
			"the last pin is one step back too, and all between",
			three(Tagged("web:0.5"), WasPin("web:1.0", "web:1.0", 30*Day)), atOnce(),
			[]string{"web:0.5"},
		},
		{
			"of former pins the last one counts",
			three(Tagged("web:0.5"), WasPin("web:0.5", "web:0.5", 90*Day), WasPin("web:2.0", "web:2.0", 30*Day)), atOnce(),
			[]string{"web:0.5", "web:1.0"},
		},
		{
			"of former pins at one time the lowest counts",
			three(Tagged("web:0.5", "web:0.4"), WasPin("web:0.5", "", 30*Day), WasPin("web:1.0", "", 30*Day)), atOnce(),
			[]string{"web:0.4"},
		},
		{
			"no step back is asked for",
			three(WasPin("web:1.0", "web:1.0", 30*Day)), atOnce(previous(0)),
			[]string{"web:1.0", "web:2.0"},
		},
		{"two steps back are", three(), atOnce(previous(2)), none},

		{"another repository's name", three(Image("both", "web:0.9", "shop:0.9")), atOnce(), old},
		{
			"two pinned repositories' names",
			three(Image("both", "web:0.9", "shop:0.9"), Tagged("shop:2", "shop:1"), Pin("shop:2")), atOnce(), old,
		},
		{"another repository's digest alone", three(Image("both", "web:0.9"), Digests("shop@x")), atOnce(), old},
		{
			"one tag and its own digest",
			New(Tagged("web:3.0", "web:2.0"), Image("web:1.0", "web:1.0"), Digests("web@x"), Pin("web:3.0")), atOnce(), old,
		},
		{"a tag beside a pull by digest", three(Image("both", "web:0.9", "web@both")), atOnce(), old},
		{"all of its versions are old", three(Image("two", "web:0.9", "web:0.8")), atOnce(), []string{"two", "web:1.0"}},
		{"one of its versions stays", three(Image("two", "web:0.9", "web:4.0")), atOnce(), old},
		{"one of its tags is no version", three(Image("two", "web:0.9", "web:stable")), atOnce(), old},
		{"a repository without a pin", three(Tagged("shop:3", "shop:2", "shop:1")), atOnce(), old},

		{"a stopped container's image", three(Container("exited", "web:1.0", "web:1.0")), atOnce(), none},
		{"a created container's image", three(Container("created", "web:1.0", "")), atOnce(), none},
		{"a name that has moved since protects what bears it", three(Container("running", "x", "web:1.0")), atOnce(), none},
		{"a container from a digest", three(Image("d", "web:0.9"), Digests("web@x"), Container("dead", "y", "web@x")), atOnce(), old},
		{"a mount by name", three(Container("running", "y", "", "web:1.0")), atOnce(), none},
		{"a mount by ID", three(Container("running", "y", "", ID("web:1.0").String())), atOnce(), none},
		{"a mount by a short ID", three(Container("running", "y", "", ID("web:1.0").Hex()[:12])), atOnce(), none},
		{"a mount by a short ID with its algorithm", three(Container("running", "y", "", ID("web:1.0").String()[:20])), atOnce(), none},
		{"a mount without a tag is latest", three(Container("running", "y", "", "web")), atOnce(), old},
		{"a mount that can not be read may be any", three(Container("running", "y", "", "WEB:::")), atOnce(), none},
		{"a from that can not be read is an ID that is known", three(Container("running", "y", "WEB:::")), atOnce(), old},
		{"a service", three(Service("web:3.0", "web:1.0@x")), atOnce(), none},
		{"a service that can not be read", three(Service("WEB:::")), atOnce(), none},

		{"a pin that is not present (S11)", three(Pin("web:4.0")), atOnce(), none},
		{"a passive pin need not be", three(Passive("web:4.0")), atOnce(), old},
		{
			"a passive pin keeps itself and one step back",
			three(Tagged("web:0.5"), Passive("web:1.0")), atOnce(), none,
		},
		{"a passive pin without a version keeps tags", three(Passive("web:latest")), atOnce(), none},
		{
			"a passive pin claims no stream",
			three(Tagged("web:3-alpine", "web:2-alpine", "web:1-alpine"), Passive("web:3-alpine")), atOnce(), old,
		},
		{
			"a passive pin claims no repository",
			three(Tagged("shop:3", "shop:2", "shop:1"), Passive("shop:3")), atOnce(), old,
		},
		{
			"a pin by digest is in another repository by its tag",
			New(Tagged("web:3", "web:2", "web:1"), Image("d", "web:0.9"), Digests("web@d"), Pin("web:3", "shop@d")), atOnce(),
			[]string{"web:1"},
		},
		{
			"and does not count as present then (S11)",
			New(Tagged("web:3", "web:2", "web:1", "web:0"), Image("d", "shop:3"), Digests("shop@d"), Pin("web:3", "web:2@d")), atOnce(), none,
		},
		{"a skipped repository", three(Skip("web")), atOnce(), none},
		{"another skipped repository", three(Skip("shop")), atOnce(), old},

		{
			"release candidates are no step back (S2)",
			New(Tagged("web:3.1.2", "web:3.1.2-rc.1", "web:3.1.1", "web:3.1.0"), Pin("web:3.1.2")), atOnce(),
			[]string{"web:3.1.0"},
		},
		{
			"nor are floating tags (S2)",
			New(Tagged("web:3.1.2", "web:3.1", "web:3", "web:3.1.0", "web:3.0.0"), Pin("web:3.1.2")), atOnce(),
			[]string{"web:3.0.0"},
		},
		{
			"of a pin that is a candidate itself they are",
			New(Tagged("web:3.0.0-rc.3", "web:3.0.0-rc.2", "web:3.0.0-rc.1"), Pin("web:3.0.0-rc.3")), atOnce(),
			[]string{"web:3.0.0-rc.1"},
		},
		{
			"variants are apart (S3)",
			three(Tagged("web:1.0-alpine", "web:0.9-alpine")), atOnce(), old,
		},
		{
			"a variant's pin judges the variant alone",
			New(Tagged("web:3-alpine", "web:2-alpine", "web:1-alpine", "web:1", "web:2"), Pin("web:3-alpine")), atOnce(),
			[]string{"web:1-alpine"},
		},
		{"a stray tag is another stream (S9)", three(Tagged("web:5512.0")), atOnce(newer(0)), old},
		{
			"another spelling of the pin (S13)",
			New(Tagged("web:2024.09.1", "web:2024.9.1", "web:2024.8.1", "web:2024.7.1"), Pin("web:2024.9.1")), atOnce(),
			[]string{"web:2024.7.1"},
		},
		{
			"another spelling of one step back (S13)",
			New(Tagged("web:v3.1.3", "web:v3.1.2", "web:3.1.2", "web:3.1.1"), Pin("web:v3.1.3")), atOnce(),
			[]string{"web:3.1.1"},
		},
		{
			"another name of the pin's own image is no step back",
			New(Image("pin", "web:3.0", "web:2.9"), Tagged("web:2.0", "web:1.0"), Pin("web:3.0")), atOnce(), old,
		},

		{
			"nothing newer is asked for",
			New(Tagged("web:4", "web:3", "web:2", "web:1"), Pin("web:2")), atOnce(newer(0)),
			[]string{"web:3", "web:4"},
		},
		{
			"the newest is",
			New(Tagged("web:4", "web:3", "web:2", "web:1"), Pin("web:2")), atOnce(newer(1)),
			[]string{"web:3"},
		},
		{
			"the two newest are",
			New(Tagged("web:4", "web:3", "web:2", "web:1"), Pin("web:2")), atOnce(newer(2)), none,
		},

		{
			"a former pin by digest is one step back",
			New(Image("p"), Digests("web@p"), Image("q"), Digests("web@q"), Image("r"), Digests("web@r"),
				Pin("web:3.0@p"), WasPin("web:2.0@q", "q", 30*Day), WasPin("web:1.0@r", "r", 60*Day)), atOnce(),
			[]string{"r"},
		},
	} {
		p := retention.Build(input(test.world, test.policy))
		if diff := cmp.Diff(test.want, gone(test.world, p)); diff != "" {
			t.Errorf("%s:\n%s%s", test.reason, diff, told(test.world, p))
		}
	}
}

// TestOpenVersionIsTold: a repository of which a source can not say the version
// is one that is left alone, pinned otherwise or not.
func TestOpenVersionIsTold(t *testing.T) {
	w := New(Tagged("web:3.0", "web:2.0", "web:1.0"), Image("lost", "web@x"), Skip("web"))
	p := retention.Build(input(w, atOnce()))
	if len(p.Repositories) != 1 || p.Repositories[0].Images != len(p.Decisions) || p.Repositories[0].Skipped == nil {
		t.Fatalf("the repositories are %+v", p.Repositories)
	}
	for _, d := range p.Decisions {
		if d.Delete || d.Reasons[0] != *p.Repositories[0].Skipped || d.Reasons[0].Code != reason.Unreadable {
			t.Errorf("not left alone:\n%s", told(w, p))
		}
	}
}

// told is a plan in words.
func told(w *World, p *retention.Plan) string {
	text := ""
	for _, d := range p.Decisions {
		text += w.Label(d.Image.ID) + ":"
		for _, r := range d.Reasons {
			text += " " + string(r.Code) + " (" + r.Detail + ")"
		}
		text += "\n"
	}
	return text
}
