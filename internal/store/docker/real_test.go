package docker_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/ebb-io/ebb/internal/engine"
	"github.com/ebb-io/ebb/internal/image"
	"github.com/ebb-io/ebb/internal/store/docker"
	"github.com/ebb-io/ebb/internal/testkit/engines"
	fake "github.com/ebb-io/ebb/internal/testkit/fakeengine"
)

func TestRealEngines(t *testing.T) {
	engines.Each(t, func(t *testing.T, real *engines.Engine) {
		a := real.Import(t, "infra/a:1", "one")
		b := real.Import(t, "infra/a:2", "two")
		e := open(t, real.Host())
		changes, err := e.Subscribe(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		real.Tag(t, "infra/a:2", "other:x")
		real.Create(t, "web", "infra/a:1")
		real.Tag(t, "infra/a:2", "infra/a:1")
		s, err := e.Snapshot(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if s.Engine.Store != real.Kind || s.Engine.Root != real.Root || s.Engine.ID == "" {
			t.Errorf("engine: %+v", s.Engine)
		}
		if len(s.Images) != 2 || len(s.Containers) != 1 {
			t.Fatalf("snapshot: %+v", s)
		}
		c := s.Containers[0]
		if c.From != "infra/a:1" || c.Image.String() != a || c.State != "created" || c.Name != "web" {
			t.Errorf("container: %+v", c)
		}
		ctx := t.Context()
		if err := e.Remove(ctx, a); !errors.Is(err, docker.ErrConflict) {
			t.Errorf("in use: %v", err)
		}
		for _, name := range []string{"other:x", "infra/a:1", b} {
			if err := e.Remove(ctx, name); err != nil {
				t.Errorf("remove %s: %v", name, err)
			}
		}
		if _, err := e.Inspect(ctx, b); !errors.Is(err, docker.ErrNotFound) {
			t.Errorf("inspect of what was removed: %v", err)
		}
		if err := e.Remove(ctx, b); !errors.Is(err, docker.ErrNotFound) {
			t.Errorf("remove of what was removed: %v", err)
		}
		awaitDelete(t, changes)
		changes.Close()
		if _, known := e.Free(ctx); !known {
			t.Error("the free space is not known")
		}
		if _, complete, err := e.History(ctx, time.Now()); err != nil || !complete {
			t.Errorf("history: %v, %v", complete, err)
		}
	})
}

// TestRealEnginesSayThatThereIsNone: what is not there is known by the words of
// each engine.
func TestRealEnginesSayThatThereIsNone(t *testing.T) {
	none := func(t *testing.T, real *engines.Engine) {
		e := open(t, real.Host())
		never := fake.Digest("never")
		for _, ref := range []string{"x:1", "example.org:5000/a/b:1", "x@" + never, never} {
			_, inspected := e.Inspect(t.Context(), ref)
			for what, err := range map[string]error{"inspect": inspected, "remove": e.Remove(t.Context(), ref)} {
				if !errors.Is(err, docker.ErrNotFound) {
					t.Errorf("%s %s: %v", what, ref, err)
				}
			}
		}
		if err := e.Tag(t.Context(), image.SHA256([]byte("never")), name(t, "x:1")); !errors.Is(err, docker.ErrNotFound) {
			t.Errorf("tag: %v", err)
		}
	}
	engines.Each(t, none)
	t.Run("today's graphdriver", func(t *testing.T) { none(t, engines.StartNewGraph(t)) })
	t.Run("podman", func(t *testing.T) { none(t, engines.StartPodman(t)) })
}

// An engine that was upgraded, and still has its graph driver, tells when it
// pulled an image. It shows no pulls under way.
func TestARealEngineTellsWhenItPulled(t *testing.T) {
	real := engines.StartNewGraph(t)
	began := time.Now().Add(-time.Second)
	pulled := real.Pull(t, engines.NewRegistry(t).Push(t, "infra/pulled:1", engines.Image(t, "base", "pulled")))
	real.Import(t, "infra/imported:1", "imported")
	e := open(t, real.Host())
	s, err := e.Snapshot(t.Context())
	if err != nil || len(s.Images) != 2 {
		t.Fatalf("snapshot: %+v, %v", s, err)
	}
	for _, i := range s.Images {
		if known := i.Pulled.After(began); known != (i.ID.String() == pulled) || !known && !i.Pulled.IsZero() {
			t.Errorf("image %s %v: pulled %s", i.ID, i.Names, i.Pulled)
		}
	}
	if pulls, err := e.Pulls(t.Context()); len(pulls) > 0 || err != nil {
		t.Errorf("pulls under way: %v, %v", pulls, err)
	}
}

// awaitDelete waits for the event of a deletion.
func awaitDelete(t *testing.T, c *docker.Changes) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		for _, ev := range c.Events() {
			if ev.Type == "image" && ev.Action == "delete" {
				return
			}
		}
	}
	t.Errorf("no event of a deletion: %+v", c.Events())
}

func TestRealPullUnderWay(t *testing.T) {
	real := engines.StartNew(t)
	registry := engines.NewRegistry(t)
	ref := registry.Push(t, "infra/slow:1", engines.Image(t, "slow"))
	hold := registry.Hold(t)
	e := open(t, real.Host())
	done := make(chan error, 1)
	go func() { done <- real.TryPull(context.WithoutCancel(t.Context()), ref) }()
	<-hold.Reached
	pulls, err := e.Pulls(t.Context())
	if err != nil || len(pulls) != 1 {
		t.Errorf("during the pull: %+v, %v", pulls, err)
	}
	hold.Release()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if pulls, err = e.Pulls(t.Context()); err != nil || len(pulls) != 0 {
		t.Errorf("after the pull: %+v, %v", pulls, err)
	}
	s, err := e.Snapshot(t.Context())
	if err != nil || s.Engine.Store != engine.Containerd || len(s.Images) != 1 {
		t.Errorf("snapshot: %+v, %v", s, err)
	}
}
