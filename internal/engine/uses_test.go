package engine_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ebb-io/ebb/internal/engine"
	"github.com/ebb-io/ebb/internal/image"
	. "github.com/ebb-io/ebb/internal/testkit/hostworld" //nolint:revive // a world reads as its words
)

// ofManifest is a container of one platform's manifest in an index.
func ofManifest(label string) Part {
	return func(w *World) {
		w.Snapshot.Containers = append(w.Snapshot.Containers,
			engine.Container{Name: "p", State: "running", Image: ID("x"), Manifest: ID(label), HasManifest: true})
	}
}

func TestUses(t *testing.T) {
	id := ID("web:1")
	for _, test := range []struct {
		reason string
		part   Part
		want   map[string][]string // users by label
	}{
		{"by ID and by name it is one user", Container("running", "web:1", "web:1"), map[string][]string{"web:1": {"container c0 (running)"}}},
		{"by a name that is another image", Container("exited", "x", "web:1"), map[string][]string{"web:1": {"container c0 (exited) was made from this name"}}},
		{"a name without a tag is latest", Container("exited", "x", "web"), map[string][]string{"latest": {"container c0 (exited) was made from this name"}}},
		{"a digest beside a tag: both", Container("exited", "x", "web:1@d"), map[string][]string{
			"web:1": {"container c0 (exited) was made from this name"}, "index": {"container c0 (exited) was made from this name"},
		}},
		{"a full ID", Container("exited", "x", id.String()), map[string][]string{"web:1": {"container c0 (exited) was made from this name"}}},
		{"the beginning of an ID", Container("exited", "x", "", id.String()[:15]), map[string][]string{"web:1": {"container c0 (exited) mounts it"}}},
		{"a platform's manifest", ofManifest("m"), map[string][]string{"index": {"container p (running)"}}},
		{"a service", Service("web:1", "web@m"), map[string][]string{"web:1": {"service s0 names it"}, "index": {"service s0 names it"}}},
		{"a name of another repository", Container("exited", "x", "shop:1"), map[string][]string{}},
		{"an empty name", Container("exited", "x", ""), map[string][]string{}},
	} {
		w := New(Tagged("web:1"), Image("latest", "web:latest"), Image("index"), Digests("web@d"), Manifests("m"), test.part)
		uses := w.Snapshot.Uses()
		got := map[string][]string{}
		for _, img := range w.Snapshot.Images {
			for _, user := range uses.Of(img.ID) {
				got[w.Label(img.ID)] = append(got[w.Label(img.ID)], user.String())
			}
			if uses.Needed(img.ID) != (len(got[w.Label(img.ID)]) > 0) {
				t.Errorf("%s: %s is needed without users, or has users and is not needed", test.reason, w.Label(img.ID))
			}
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s:\n%s", test.reason, diff)
		}
		if len(uses.Unreadable) > 0 {
			t.Errorf("%s: %v can not be read", test.reason, uses.Unreadable)
		}
	}
}

// TestTheBeginningOfSeveralIDs means them all.
func TestTheBeginningOfSeveralIDs(t *testing.T) {
	var parts []Part
	for n := range 40 {
		parts = append(parts, Image(string(rune('a'+n))))
	}
	w := New(append(parts, Container("running", "nothing", "", ID("a").Hex()[:1]))...)
	uses := w.Snapshot.Uses()
	needed := func(id image.Digest) bool { return id.Hex()[0] == ID("a").Hex()[0] }
	several := 0
	for _, img := range w.Snapshot.Images {
		if uses.Needed(img.ID) != needed(img.ID) {
			t.Errorf("%s is needed: %t", img.ID, uses.Needed(img.ID))
		}
		if needed(img.ID) {
			several++
		}
	}
	if several < 2 {
		t.Fatalf("the test has %d such IDs", several)
	}
}

func TestUnreadable(t *testing.T) {
	w := New(Tagged("web:1"), Container("running", "web:1", "WEB:::", "MOUNT:::"), Service("SERVICE:::"))
	var got []string
	for _, user := range w.Snapshot.Uses().Unreadable {
		got = append(got, user.String())
	}
	want := []string{`container c0 (running) names "MOUNT:::", which can not be read`, `service s0 names "SERVICE:::", which can not be read`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what a container was made from is known by its ID:\n%s", diff)
	}
}
