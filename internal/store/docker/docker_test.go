package docker_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ebb-io/ebb/internal/engine"
	"github.com/ebb-io/ebb/internal/image"
	"github.com/ebb-io/ebb/internal/store/docker"
	fake "github.com/ebb-io/ebb/internal/testkit/fakeengine"
)

func open(t *testing.T, host string) *docker.Engine {
	t.Helper()
	e, err := docker.Open(t.Context(), docker.Options{Host: host})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	return e
}

func name(t *testing.T, s string) image.Name {
	t.Helper()
	n, err := image.ParseName(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// world has an image with two names, one without a name, a container whose
// image's name has moved on and a service with a previous image.
func world(t *testing.T, opts fake.Options) *fake.Engine {
	t.Helper()
	e := fake.Start(t, opts)
	e.Pull("traefik:1", fake.Made("one"))
	e.Pull("traefik:2", fake.Made("two"))
	e.Tag("traefik:2", "other:x")
	e.AddContainer(fake.Container{Name: "web", From: "traefik:1", State: "exited", Health: "healthy", Mounts: []string{"other:x"}})
	e.Pull("traefik:1", fake.Made("three"))
	e.AddService(fake.Service{Name: "s", Image: "a:2", Previous: "a:1"})
	return e
}

func each(t *testing.T, test func(*testing.T, fake.Options)) {
	t.Helper()
	for title, opts := range map[string]fake.Options{
		"20.10":      {API: "1.41", Store: engine.GraphDriver, Manager: true},
		"podman":     {API: "1.41", Store: engine.GraphDriver, Podman: true, Manager: true},
		"containerd": {API: "1.56", Store: engine.Containerd, Manager: true},
		"upgraded":   {API: "1.56", Store: engine.GraphDriver, Manager: true},
	} {
		t.Run(title, func(t *testing.T) { test(t, opts) })
	}
}

func TestSnapshotIsAllThatIsThere(t *testing.T) {
	each(t, func(t *testing.T, opts fake.Options) {
		f := world(t, opts)
		e := open(t, f.Host())
		f.ResetCalls()
		s, err := e.Snapshot(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		byName := map[string]engine.Image{}
		for _, i := range s.Images {
			if len(i.Names) == 0 {
				byName[""] = i
			}
			for _, n := range i.Names {
				byName[n.Familiar()] = i
			}
			if i.Shared < 0 {
				t.Errorf("image %s: what it shares is not known", i.ID)
			}
			if pulled := !i.Pulled.IsZero(); pulled != (opts.Store == engine.GraphDriver && opts.API == "1.56") {
				t.Errorf("image %s: pulled %s", i.ID, i.Pulled)
			}
		}
		if len(s.Images) != 3 || byName["traefik:2"].ID != byName["other:x"].ID {
			t.Errorf("images: %+v", s.Images)
		}
		if opts.Store == engine.Containerd && cmp.Diff([]string{"docker.io/library/traefik"}, byName[""].Origins) != "" {
			t.Errorf("origins: %v", byName[""].Origins)
		}
		c := s.Containers[0]
		if c.Name != "web" || c.From != "traefik:1" || c.Image != byName[""].ID || c.Health != "healthy" || c.State != "exited" {
			t.Errorf("container: %+v", c)
		}
		if diff := cmp.Diff([]string{"other:x"}, c.Mounts); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff([]engine.Service{{Name: "s", Images: []string{"a:2", "a:1"}}}, s.Services); diff != "" {
			t.Error(diff)
		}
		lists := f.Count(fake.GetInfo) + f.Count(fake.ListImages) + f.Count(fake.DiskUsage) + f.Count(fake.ListContainers) + f.Count(fake.ListServices)
		if lists > 5 {
			t.Errorf("%d calls for lists, want 5 at most", lists)
		}
	})
}

func TestAnyFailingCallIsAnIncompleteView(t *testing.T) {
	faults := map[string]fake.Fault{
		"500": {Status: 500, Message: "broken"}, "404 of a proxy": {Status: 404, Message: "page not found"},
		"empty 404": {Status: 404, Page: true}, "page of a proxy": {Status: 404, Message: "<img>\nno such image or container\n", Page: true},
		"empty": {Empty: true}, "half": {Half: true}, "reset": {Reset: true},
	}
	kinds := []fake.Kind{fake.GetInfo, fake.ListImages, fake.InspectImage, fake.ListContainers, fake.InspectContainer, fake.ListServices}
	f := world(t, fake.Options{Store: engine.Containerd, Manager: true})
	e := open(t, f.Host())
	for title, fault := range faults {
		for _, kind := range kinds {
			t.Run(title+" "+string(kind), func(t *testing.T) {
				met := false
				f.Fail(func(c fake.Call) *fake.Fault {
					if c.Kind != kind {
						return nil
					}
					met = true
					return &fault
				})
				defer f.Fail(nil)
				s, err := e.Snapshot(t.Context())
				if !errors.Is(err, docker.ErrIncomplete) || s != nil {
					t.Errorf("got %v, %v", s, err)
				}
				if !met {
					t.Error("the call was never made")
				}
			})
		}
	}
}

func TestHangingEngineEndsWithTheContext(t *testing.T) {
	f := world(t, fake.Options{})
	e := open(t, f.Host())
	hang := make(chan struct{})
	defer close(hang)
	f.Fail(func(c fake.Call) *fake.Fault {
		if c.Kind == fake.InspectContainer {
			return &fake.Fault{Hang: hang}
		}
		return nil
	})
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := e.Snapshot(ctx); !errors.Is(err, docker.ErrIncomplete) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

func TestVanishedContainerIsNoError(t *testing.T) {
	f := world(t, fake.Options{})
	e := open(t, f.Host())
	f.ResetCalls()
	f.OnRequest(func(c fake.Call) {
		if c.Kind == fake.InspectContainer {
			f.RemoveContainer("web")
		}
	})
	s, err := e.Snapshot(t.Context())
	if err != nil || len(s.Containers) != 0 || f.Count(fake.ListContainers) != 2 {
		t.Errorf("got %+v, %v after %d lists", s, err, f.Count(fake.ListContainers))
	}
}

func TestContainerThatIsListedButNotThereIsAnError(t *testing.T) {
	f := world(t, fake.Options{})
	e := open(t, f.Host())
	f.ResetCalls()
	f.Fail(func(c fake.Call) *fake.Fault {
		if c.Kind == fake.InspectContainer {
			return &fake.Fault{Status: 404, Message: "No such container: web"}
		}
		return nil
	})
	if _, err := e.Snapshot(t.Context()); !errors.Is(err, docker.ErrIncomplete) {
		t.Errorf("got %v", err)
	}
	if n := f.Count(fake.ListContainers); n != 5 {
		t.Errorf("%d lists, want 5", n)
	}
	f.ResetCalls()
	f.Fail(func(c fake.Call) *fake.Fault {
		if c.Kind == fake.InspectContainer {
			return &fake.Fault{Status: 404, Page: true}
		}
		return nil
	})
	if _, err := e.Snapshot(t.Context()); !errors.Is(err, docker.ErrIncomplete) || f.Count(fake.ListContainers) != 1 {
		t.Errorf("a proxy's word is taken for the engine's: %v after %d lists", err, f.Count(fake.ListContainers))
	}
	f.SetState("web", "removing", "")
	s, err := e.Snapshot(t.Context())
	if err != nil || len(s.Containers) != 1 || s.Containers[0].State != "removing" {
		t.Errorf("while it is being removed the list must do: %+v, %v", s, err)
	}
}

func TestOtherStoreThanOpenedIsAnError(t *testing.T) {
	f := world(t, fake.Options{})
	e := open(t, f.Host())
	f.StoreSwitch()
	if _, err := e.Snapshot(t.Context()); !errors.Is(err, docker.ErrIncomplete) {
		t.Errorf("got %v", err)
	}
}

func TestVersionsThatCannotTalk(t *testing.T) {
	for _, c := range []struct{ api, min, env, want, reason string }{
		{"1.39", "1.12", "", "upgrade the engine", "older than any that is known"},
		{"1.99", "1.90", "", "upgrade ebb-host", "it refuses what this program speaks"},
		{"1.41", "1.12", "1.50", "lower DOCKER_API_VERSION", "a version that the engine does not have"},
		{"1.41", "1.12", "1.24", "too old", "a version that this program does not have"},
	} {
		f := fake.Start(t, fake.Options{API: c.api, MinAPI: c.min})
		env := func(k string) (string, bool) { return c.env, k == "DOCKER_API_VERSION" }
		_, err := docker.Open(t.Context(), docker.Options{Host: f.Host(), Env: env})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v", c.reason, err)
		}
	}
}

func TestRemoveNeverForcesAndTellsRefusals(t *testing.T) {
	each(t, func(t *testing.T, opts fake.Options) {
		f := world(t, opts) // it holds force and prune against the test
		e := open(t, f.Host())
		ctx := t.Context()
		got, err := e.Inspect(ctx, "traefik:2")
		if err != nil || len(got.Names) != 2 {
			t.Fatalf("inspect: %+v, %v", got, err)
		}
		if err := e.Remove(ctx, got.ID.String()); !errors.Is(err, docker.ErrConflict) {
			t.Errorf("two repositories: %v", err)
		}
		if err := e.Remove(ctx, "other:x"); err != nil {
			t.Error(err)
		}
		if err := e.Tag(ctx, got.ID, name(t, "other:y")); err != nil {
			t.Error(err)
		}
		if again, err := e.Inspect(ctx, got.ID.String()); err != nil || len(again.Names) != 2 {
			t.Errorf("after tag: %+v, %v", again, err)
		}
		for _, gone := range []string{"other:x", fake.Digest("never")} {
			if err := e.Remove(ctx, gone); !errors.Is(err, docker.ErrNotFound) {
				t.Errorf("remove %s: %v", gone, err)
			}
			if _, err := e.Inspect(ctx, gone); !errors.Is(err, docker.ErrNotFound) {
				t.Errorf("inspect %s: %v", gone, err)
			}
		}
	})
}

func TestRemoveSendsNothingInexact(t *testing.T) {
	f := world(t, fake.Options{})
	e := open(t, f.Host())
	for _, ref := range []string{"", "traefik", "abcdef012345", "sha256:abcd", "a/../b:c", "<none>:<none>"} {
		if err := e.Remove(t.Context(), ref); err == nil {
			t.Errorf("%q was removed", ref)
		}
	}
	if n := f.Count(fake.DeleteImage); n != 0 {
		t.Errorf("%d calls", n)
	}
}

func TestNotFoundOfAProxyIsNotGone(t *testing.T) {
	f := world(t, fake.Options{})
	e := open(t, f.Host())
	id, err := e.Inspect(t.Context(), "traefik:2")
	if err != nil {
		t.Fatal(err)
	}
	for title, fault := range map[string]fake.Fault{
		"an engine without that path": {Status: 404, Message: "page not found"},
		"nothing":                     {Status: 404, Page: true}, // the client's words then hold the URL, /images/ and all
		"a page":                      {Status: 404, Message: "<html><img alt=image>\nno such image: x\n</html>", Page: true},
		"no image's":                  {Status: 404, Message: "No such container: image"},
		"a part of one":               {Status: 404, Message: "image sha256:0123: content digest: not found"},
	} {
		f.Fail(func(fake.Call) *fake.Fault { return &fault })
		_, inspected := e.Inspect(t.Context(), "traefik:2")
		for what, err := range map[string]error{
			"inspect": inspected, "remove": e.Remove(t.Context(), "traefik:2"), "tag": e.Tag(t.Context(), id.ID, name(t, "traefik:3")),
		} {
			if err == nil || errors.Is(err, docker.ErrNotFound) {
				t.Errorf("%s, answered with %s: %v", what, title, err)
			}
		}
	}
}

// An engine that went away is told from one that refuses.
func TestAChangeWithoutAnAnswerMeansAway(t *testing.T) {
	f := world(t, fake.Options{})
	e := open(t, f.Host())
	id, err := e.Inspect(t.Context(), "traefik:2")
	if err != nil {
		t.Fatal(err)
	}
	for what, call := range map[string]func() error{
		"inspect": func() error { _, err := e.Inspect(t.Context(), "traefik:2"); return err },
		"remove":  func() error { return e.Remove(t.Context(), "traefik:2") },
		"tag":     func() error { return e.Tag(t.Context(), id.ID, name(t, "traefik:3")) },
	} {
		f.Fail(func(fake.Call) *fake.Fault { return &fake.Fault{Reset: true} })
		if err := call(); !errors.Is(err, docker.ErrAway) {
			t.Errorf("%s without an answer: %v", what, err)
		}
		f.Fail(func(fake.Call) *fake.Fault { return &fake.Fault{Status: 500, Message: "broken"} })
		if err := call(); err == nil || errors.Is(err, docker.ErrAway) {
			t.Errorf("%s that fails: %v", what, err)
		}
	}
}

func TestChangesAndTheirEnd(t *testing.T) {
	f := world(t, fake.Options{})
	e := open(t, f.Host())
	c, err := e.Subscribe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	f.Emit("container", "exec_create: sh", "c", nil)
	f.Emit("network", "create", "n", nil)
	f.Pull("traefik:9", fake.Made("nine"))
	f.CutEvents()
	<-c.Done()
	if err := c.Err(); !errors.Is(err, docker.ErrIncomplete) {
		t.Errorf("a stream that was cut: %v", err)
	}
	var got []string
	for _, ev := range c.Events() {
		got = append(got, ev.Type+" "+ev.Action+" "+ev.Name.Familiar())
	}
	if diff := cmp.Diff([]string{"image pull traefik:9"}, got); diff != "" {
		t.Error(diff)
	}
	f.Fail(func(fake.Call) *fake.Fault { return &fake.Fault{Status: 500, Message: "no"} })
	if _, err := e.Subscribe(t.Context()); !errors.Is(err, docker.ErrIncomplete) {
		t.Errorf("a stream that does not open: %v", err)
	}
}

func TestHistoryIsCompleteUnlessLaterEventsPushedItOut(t *testing.T) {
	f := fake.Start(t, fake.Options{})
	e := open(t, f.Host())
	begin := time.Now()
	if _, complete, err := e.History(t.Context(), begin); !complete || err != nil {
		t.Errorf("nothing happened: %v, %v", complete, err)
	}
	f.Pull("a:1", fake.Made("a"))
	since := time.Now()
	f.Pull("a:2", fake.Made("b"))
	got, complete, err := e.History(t.Context(), since)
	if err != nil || !complete || len(got) != 1 || got[0].Name.Tag != "2" {
		t.Errorf("got %+v, %v, %v", got, complete, err)
	}
	for range 300 {
		f.Emit("network", "connect", "n", nil)
	}
	if got, complete, err = e.History(t.Context(), begin); err != nil || complete || len(got) != 0 {
		t.Errorf("after 300 other events: got %+v, %v, %v", got, complete, err)
	}
}
