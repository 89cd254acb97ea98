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
	var p progress
	store := mem.New()
	w := world.New(world.Mem(store))
	for _, tag := range []string{"v1", "v2"} {
		w.Image("apps/web", world.Layers(w.Layer(tag)), world.Tag(tag))
	}
	if got, want := p.line(0), "listing: 0 objects, 0/s; 0 B of blobs, 0 repositories"; got != want {
		t.Errorf("at first: %q, want %q", got, want)
	}
	snapshot(t, store, &p)
	if got, want := p.line(20*time.Second), "reading manifests: 2 of 2, 2/s"; got != want {
		t.Errorf("after a snapshot: %q, want %q", got, want)
	}
	p.Expect(8000)
	if got, want := p.line(30*time.Second), "deleting: 0 of 8,000 items, 0/s"; got != want {
		t.Errorf("before deleting: %q, want %q", got, want)
	}
	snapshot(t, store, &p)
	if got, want := p.line(31*time.Second), "reading manifests: 2 of 2, 2/s"; got != want {
		t.Errorf("read again: %q, want %q", got, want)
	}
}

func snapshot(t *testing.T, store *mem.Store, p *progress) {
	t.Helper()
	if _, err := registry.New(store, &p.Progress).Snapshot(t.Context()); err != nil {
		t.Fatal(err)
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
		{"hours", 1, 1000, 10 * time.Second, ", 2h46m30s left"},
	} {
		if got := left(registry.Look{Done: test.done, Total: test.total}, test.elapsed); got != test.want {
			t.Errorf("%s: %q, want %q", test.reason, got, test.want)
		}
	}
}
