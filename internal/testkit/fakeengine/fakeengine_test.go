package fakeengine_test

import (
	"context"
	"errors"
	"testing"

	"github.com/containerd/errdefs"
	"github.com/google/go-cmp/cmp"
	"github.com/moby/moby/client"

	"github.com/ebb-io/ebb/internal/engine"
	"github.com/ebb-io/ebb/internal/testkit/fakeengine"
)

var both = []engine.StoreKind{engine.GraphDriver, engine.Containerd}

// onBoth runs a test against each kind of store.
func onBoth(t *testing.T, f func(t *testing.T, e *fakeengine.Engine, c *client.Client)) {
	t.Helper()
	for _, s := range both {
		t.Run(string(s), func(t *testing.T) {
			e := fakeengine.Start(t, fakeengine.Options{Store: s})
			f(t, e, dial(t, e))
		})
	}
}

func dial(t *testing.T, e *fakeengine.Engine) *client.Client {
	t.Helper()
	c, err := client.New(client.WithHost(e.Host()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func rmi(c *client.Client, image string) error {
	_, err := c.ImageRemove(context.Background(), image, client.ImageRemoveOptions{})
	return err
}

func names(e *fakeengine.Engine, id string) []string { return e.Held()[id] }

func equal(t *testing.T, what string, got, want any) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

func conflict(t *testing.T, what string, err error) {
	t.Helper()
	if !errdefs.IsConflict(err) {
		t.Errorf("%s: got %v, want a conflict", what, err)
	}
}

func TestRemoveByID(t *testing.T) {
	onBoth(t, func(t *testing.T, e *fakeengine.Engine, c *client.Client) {
		one := e.Pull("infra/a:1", fakeengine.Made("one"))
		equal(t, "one tag goes with its digests", rmi(c, one), nil)
		two := e.Pull("infra/a:1", fakeengine.Made("two"))
		e.Tag(two, "infra/a:2")
		conflict(t, "two tags of one repository", rmi(c, two))
		other := e.Pull("infra/b:1", fakeengine.Made("other"))
		e.Tag(other, "infra/c:1")
		conflict(t, "two repositories", rmi(c, other))
		used := e.Pull("infra/d:1", fakeengine.Made("used"))
		e.AddContainer(fakeengine.Container{From: "infra/d:1", State: "exited"})
		conflict(t, "a stopped container", rmi(c, used))
		mounted := e.Pull("infra/e:1", fakeengine.Made("mounted"))
		e.AddContainer(fakeengine.Container{From: "infra/d:1", Mounts: []string{"infra/e:1"}})
		conflict(t, "a mount, by name", rmi(c, "infra/e:1"))
		equal(t, "a mount is not looked at by ID", rmi(c, mounted), nil)
		if err := rmi(c, one); !errdefs.IsNotFound(err) {
			t.Errorf("removed twice: %v", err)
		}
		if _, there := e.Held()[one]; there {
			t.Error("it is still there")
		}
	})
}

func TestRemoveByName(t *testing.T) {
	onBoth(t, func(t *testing.T, e *fakeengine.Engine, c *client.Client) {
		id := e.Pull("infra/a:1", fakeengine.Made("one"))
		e.Tag(id, "infra/b:1")
		e.AddContainer(fakeengine.Container{From: "infra/a:1", State: "exited"})
		equal(t, "not the last name", rmi(c, "infra/a:1"), nil)
		equal(t, "what is left", names(e, id), []string{"docker.io/infra/b:1"})
		conflict(t, "the last name of what a container uses", rmi(c, "infra/b:1"))
		e.RemoveContainer(onlyContainer(t, c))
		equal(t, "the last name", rmi(c, "infra/b:1"), nil)
		equal(t, "all", len(e.Held()), 0)
	})
}

func onlyContainer(t *testing.T, c *client.Client) string {
	t.Helper()
	list, err := c.ContainerList(context.Background(), client.ContainerListOptions{All: true})
	if err != nil || len(list.Items) != 1 {
		t.Fatalf("containers: %v %v", list, err)
	}
	return list.Items[0].ID
}

func TestViolations(t *testing.T) {
	onBoth(t, func(t *testing.T, e *fakeengine.Engine, c *client.Client) {
		id := e.Pull("infra/a:1", fakeengine.Made("one"))
		e.Allow(func(string, string, []string) bool { return false })
		ctx := context.Background()
		_, err := c.ImageRemove(ctx, id, client.ImageRemoveOptions{Force: true})
		_, err2 := c.ImageRemove(ctx, id, client.ImageRemoveOptions{PruneChildren: true})
		_, err3 := c.ImagePrune(ctx, client.ImagePruneOptions{})
		_, err4 := c.ContainerList(ctx, client.ContainerListOptions{})
		_ = errors.Join(err, err2, err3, err4)
		equal(t, "violations: force, not allowed, parents, prune, running alone", len(e.TakeViolations()), 5)
	})
}
