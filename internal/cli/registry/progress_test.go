package registry

import (
	"testing"
	"time"

	"github.com/ebb-io/ebb/internal/store/blob/mem"
	"github.com/ebb-io/ebb/internal/store/registry"
	"github.com/ebb-io/ebb/internal/testkit/world"
)

// What a person reads while a store works through its stages.
func TestProgressTellsTheStage(t *testing.T) {
	const gib = 1 << 30
	for _, test := range []struct {
		look registry.Look
		want string
	}{
		{
			registry.Look{Stage: registry.Listing, Elapsed: 10 * time.Second, Done: 12340, Bytes: 5 * gib, Repositories: 7},
			"listing: 12,340 objects, 1,234/s; 5.0 GiB of blobs, 7 repositories",
		},
		{
			registry.Look{Stage: registry.Tags, Elapsed: 10 * time.Second, Done: 250, Total: 1000},
			"reading tags: 250 of 1,000, 25/s, 30s left",
		},
		{
			registry.Look{Stage: registry.Manifests, Elapsed: 10 * time.Second, Done: 1000, Total: 1000, Cached: 900},
			"reading manifests: 1,000 of 1,000, 100/s (900 from the cache)",
		},
		{
			registry.Look{Stage: registry.Links, Elapsed: 10 * time.Second, Done: 250, Total: 1000},
			"verifying links: 250 of 1,000, 25/s, 30s left",
		},
		{
			registry.Look{Stage: registry.Hashing, Elapsed: 10 * time.Second, Done: 5 * gib, Total: 10 * gib},
			"hashing: 5.0 GiB of 10.0 GiB, 512.0 MiB/s, 10s left",
		},
		{
			registry.Look{Stage: registry.Deleting, Elapsed: 10 * time.Second, Done: 1, Total: 1000},
			"deleting: 1 of 1,000 items, 0/s, 2h46m30s left",
		},
	} {
		if got := line(test.look); got != test.want {
			t.Errorf("got  %q\nwant %q", got, test.want)
		}
	}
}

func TestTimeLeft(t *testing.T) {
	for _, test := range []struct {
		reason      string
		done, total int64
		elapsed     time.Duration
		want        string
	}{
		{"a quarter took ten seconds", 25, 100, 10 * time.Second, ", 30s left"},
		{"it has hardly begun", 25, 100, time.Second / 2, ""},
		{"nothing is done yet", 0, 100, time.Minute, ""},
		{"the whole is not known", 25, 0, time.Minute, ""},
		{"it is done", 100, 100, time.Minute, ""},
	} {
		if got := left(registry.Look{Done: test.done, Total: test.total, Elapsed: test.elapsed}); got != test.want {
			t.Errorf("%s: %q, want %q", test.reason, got, test.want)
		}
	}
}

// A store goes from stage to stage, and from the beginning when it reads again.
func TestProgressFollowsTheStore(t *testing.T) {
	var p progress
	store := mem.New()
	w := world.New(world.Mem(store))
	for _, tag := range []string{"v1", "v2"} {
		w.Image("apps/web", world.Layers(w.Layer(tag)), world.Tag(tag))
	}
	snapshot := func() {
		t.Helper()
		if _, err := registry.New(store, &p.Progress).Snapshot(t.Context()); err != nil {
			t.Fatal(err)
		}
		look := p.Look()
		if look.Stage != registry.Manifests || look.Done != 2 || look.Total != 2 || look.Repositories != 1 || look.Bytes == 0 {
			t.Errorf("after a snapshot: %+v", look)
		}
	}
	snapshot()
	p.Expect(8000)
	if look := p.Look(); look.Stage != registry.Deleting || look.Done != 0 || look.Total != 8000 || look.Elapsed > time.Minute {
		t.Errorf("before deleting: %+v", look)
	}
	snapshot()
}
