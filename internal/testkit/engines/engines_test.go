package engines_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/moby/moby/client"

	"github.com/ebb-io/ebb/internal/engine"
	"github.com/ebb-io/ebb/internal/testkit/engines"
)

func TestAnEngineStartsKeepsItsImagesAndEnds(t *testing.T) {
	began := time.Now()
	engines.Each(t, func(t *testing.T, e *engines.Engine) {
		t.Logf("started after %s", time.Since(began))
		id := e.Import(t, "example.org/a:1", "one")
		if other := e.Import(t, "example.org/a:2", "two"); other == id {
			t.Errorf("both images have ID %s", id)
		}
		began = time.Now()
		e.Restart(t)
		t.Logf("restarted after %s", time.Since(began))
		if got := e.ID(t, "example.org/a:1"); got != id {
			t.Errorf("after a restart it is %s, want %s", got, id)
		}
		began = time.Now()
	})
}

func TestAContainerRuns(t *testing.T) {
	engines.Each(t, func(t *testing.T, e *engines.Engine) {
		e.ImportSleeper(t, "example.org/sleep:1", "one")
		id := e.Run(t, "sleeper", "example.org/sleep:1")
		e.Stop(t, id)
		e.Start(t, id)
		if e.Kind == engine.Containerd {
			e.Import(t, "example.org/mounted:1", "data")
			e.Start(t, e.CreateMounting(t, "with", "example.org/sleep:1", "example.org/mounted:1"))
		}
		e.Remove(t, id)
		e.Run(t, "left", "example.org/sleep:1") // it runs until the engine ends
	})
}

func TestAnEngineStartsAgainAfterAPowerCut(t *testing.T) {
	engines.Each(t, func(t *testing.T, e *engines.Engine) {
		e.ImportSleeper(t, "example.org/sleep:1", "one")
		e.Run(t, "sleeper", "example.org/sleep:1")
		e.Kill()
		e.Restart(t)
		e.Start(t, "sleeper")
	})
}

func TestAPullWaits(t *testing.T) {
	engines.Each(t, func(t *testing.T, e *engines.Engine) {
		r := engines.NewRegistry(t)
		ref := r.Push(t, "infra/app:1", engines.Image(t, "one"))
		hold := r.Hold(t)
		pulled := make(chan error)
		go func() { pulled <- e.TryPull(t.Context(), ref) }()
		<-hold.Reached
		if e.Exists(t, ref) {
			t.Error("the image is there although its download waits")
		}
		hold.Release()
		if err := <-pulled; err != nil {
			t.Fatal(err)
		}
		e.Load(t, engines.Image(t, "two"), "example.org/b:1", "example.org/c:1")
		e.Tag(t, ref, "example.org/a:2")
		want := []string{ref, "example.org/a:2", "example.org/b:1", "example.org/c:1"}
		if diff := cmp.Diff(want, e.Names(t)); diff != "" {
			t.Errorf("names (-want +got):\n%s", diff)
		}
		broken := engines.API{Client: dial(t, e.Proxy(t, func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/containers/json") }))}
		if _, err := broken.Client.ContainerList(t.Context(), client.ContainerListOptions{}); err == nil {
			t.Error("the list of containers does not fail")
		}
		if diff := cmp.Diff(want, broken.Names(t)); diff != "" {
			t.Errorf("names behind the proxy (-want +got):\n%s", diff)
		}
	})
}

func dial(t *testing.T, socket string) *client.Client {
	t.Helper()
	c, err := client.New(client.WithHost("unix://" + socket))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}
