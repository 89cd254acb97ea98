package docker_test

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/ebb-io/ebb/internal/engine"
	"github.com/ebb-io/ebb/internal/store/docker"
	fake "github.com/ebb-io/ebb/internal/testkit/fakeengine"
)

func TestPullsUnderWay(t *testing.T) {
	f := fake.Start(t, fake.Options{Store: engine.Containerd})
	e := open(t, f.Host())
	finish := f.Pulling("a:1", fake.Made("a"))
	f.AddLease("cancelled", time.Now().Add(-2*time.Hour), map[string]string{"moby/prune.images": "true"})
	f.AddLease("other", time.Now(), map[string]string{"containerd.io/gc.flat": "true"})
	pulls, err := e.Pulls(t.Context())
	if err != nil || len(pulls) != 1 || time.Since(pulls[0].Began) > time.Minute {
		t.Errorf("got %+v, %v", pulls, err)
	}
	finish()
	if pulls, err = e.Pulls(t.Context()); err != nil || len(pulls) != 0 {
		t.Errorf("after the pull: %+v, %v", pulls, err)
	}
	f.Fail(func(fake.Call) *fake.Fault { return &fake.Fault{} })
	if _, err = e.Pulls(t.Context()); !errors.Is(err, docker.ErrIncomplete) {
		t.Errorf("a refusal: %v", err)
	}
	if bytes, known := e.Free(t.Context()); !known || bytes <= 0 {
		t.Errorf("free: %d, %v", bytes, known)
	}
}

func TestPullsOfAnotherMachineAreNotKnown(t *testing.T) {
	f := fake.Start(t, fake.Options{Store: engine.Containerd, Root: t.TempDir()})
	e := open(t, f.Host())
	if _, err := e.Pulls(t.Context()); !errors.Is(err, docker.ErrUnseen) || !strings.Contains(err.Error(), "data folder") {
		t.Errorf("got %v", err)
	}
	if _, known := e.Free(t.Context()); known {
		t.Error("the space of another machine is known")
	}
}

// A container that has not got the socket, or may not use it, does not see.
func TestPullsWithoutContainerdsSocketAreNotKnown(t *testing.T) {
	f := fake.Start(t, fake.Options{Store: engine.Containerd})
	e := open(t, f.Host())
	if err := os.Remove(f.Leases()); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Pulls(t.Context()); !errors.Is(err, docker.ErrUnseen) || errors.Is(err, docker.ErrIncomplete) {
		t.Errorf("got %v", err)
	}
	old := open(t, fake.Start(t, fake.Options{Store: engine.Containerd, API: "1.45"}).Host())
	if _, err := old.Pulls(t.Context()); !errors.Is(err, docker.ErrUnseen) || !strings.Contains(err.Error(), "does not name") {
		t.Errorf("an engine that does not say where: %v", err)
	}
	graph := open(t, fake.Start(t, fake.Options{Store: engine.GraphDriver}).Host())
	if pulls, err := graph.Pulls(t.Context()); err != nil || len(pulls) > 0 {
		t.Errorf("a graph driver shows none: %v, %v", pulls, err)
	}
}
