package engines

import (
	"context"
	"net"
	"testing"

	"github.com/moby/moby/api/types/swarm"
	"github.com/moby/moby/client"
)

// Swarm makes the engine the manager of a swarm of its own until the test ends.
func (e API) Swarm(t testing.TB) {
	t.Helper()
	at := unused(t)
	if _, err := e.Client.SwarmInit(t.Context(), client.SwarmInitOptions{ListenAddr: at, AdvertiseAddr: at}); err != nil {
		t.Fatalf("swarm init: %v", err)
	}
	t.Cleanup(func() {
		if _, err := e.Client.SwarmLeave(context.Background(), client.SwarmLeaveOptions{Force: true}); err != nil {
			t.Errorf("swarm leave: %v", err)
		}
	})
}

// unused is an address on loopback that nobody listens on.
func unused(t testing.TB) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return l.Addr().String()
}

// Serve makes a Swarm service of an image and returns its ID, or updates the one
// that has this ID. It runs no container.
func (e API) Serve(t testing.TB, id, image string) string {
	t.Helper()
	none := uint64(0)
	spec := swarm.ServiceSpec{
		Annotations:  swarm.Annotations{Name: "service"},
		TaskTemplate: swarm.TaskSpec{ContainerSpec: &swarm.ContainerSpec{Image: image}},
		Mode:         swarm.ServiceMode{Replicated: &swarm.ReplicatedService{Replicas: &none}},
	}
	if id == "" {
		made, err := e.Client.ServiceCreate(t.Context(), client.ServiceCreateOptions{Spec: spec})
		if err != nil {
			t.Fatalf("create a service of %s: %v", image, err)
		}
		return made.ID
	}
	now, err := e.Client.ServiceInspect(t.Context(), id, client.ServiceInspectOptions{})
	if err != nil {
		t.Fatalf("inspect service %s: %v", id, err)
	}
	if _, err := e.Client.ServiceUpdate(t.Context(), id, client.ServiceUpdateOptions{Version: now.Service.Version, Spec: spec}); err != nil {
		t.Fatalf("update service %s to %s: %v", id, image, err)
	}
	return id
}
