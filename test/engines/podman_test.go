package engines

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	app "github.com/ebb-io/ebb/internal/app/host"
	"github.com/ebb-io/ebb/internal/engine"
	"github.com/ebb-io/ebb/internal/journal"
	"github.com/ebb-io/ebb/internal/pin"
	"github.com/ebb-io/ebb/internal/policy"
	"github.com/ebb-io/ebb/internal/source/pins"
	"github.com/ebb-io/ebb/internal/store/docker"
	"github.com/ebb-io/ebb/internal/store/state"
	"github.com/ebb-io/ebb/internal/testkit/engines"
)

// TestPodman: its socket speaks Docker's API, and what Ebb relies on holds there
// too, by what it does and not by its name.
func TestPodman(t *testing.T) {
	e := engines.StartPodman(t)
	for _, tag := range []string{"v3.1.2", "v3.1.0", "v3.0.4", "v3.0.3", "v2.9.0"} {
		e.Import(t, "docker.io/library/traefik:"+tag, tag)
	}
	e.Tag(t, "docker.io/library/traefik:v3.0.3", "docker.io/library/traefik:v3.0.2")
	e.Tag(t, "docker.io/library/traefik:v2.9.0", "docker.io/mine/copy:1")
	e.Create(t, "stopped", "docker.io/library/traefik:v3.0.4")

	store, err := docker.Open(t.Context(), docker.Options{Host: e.Host()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	dir, err := state.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	choices := policy.DefaultHost()
	choices.MinAge = 0
	result, err := app.Run(t.Context(), store, dir, app.RunRequest{Request: app.Request{
		Pins: func(context.Context, *engine.Snapshot, *journal.Record) (pin.Set, error) {
			return pins.Args([]string{"traefik:v3.1.2"}, "--pin")
		},
		Policy: choices, Clock: time.Now,
	}})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(result.Outcome.Deleted); n != 1 || !result.Measured {
		t.Errorf("deleted %d images, measured %v: want the one with two names, and a measure", n, result.Measured)
	}
	want := []string{
		"docker.io/library/traefik:v2.9.0", "docker.io/library/traefik:v3.0.4", "docker.io/library/traefik:v3.1.0",
		"docker.io/library/traefik:v3.1.2", "docker.io/mine/copy:1",
	}
	if diff := cmp.Diff(want, slices.Sorted(slices.Values(e.Names(t)))); diff != "" {
		t.Errorf("names that are left:\n%s", diff)
	}
}
