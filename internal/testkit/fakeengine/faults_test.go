package fakeengine_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/client"

	"github.com/ebb-io/ebb/internal/testkit/fakeengine"
)

func list(c *client.Client) error {
	_, err := c.ImageList(context.Background(), client.ImageListOptions{All: true})
	return err
}

func TestFaults(t *testing.T) {
	tests := []struct {
		reason string
		fault  fakeengine.Fault
	}{
		{"a status", fakeengine.Fault{Status: 500, Message: "no"}},
		{"a page", fakeengine.Fault{Status: 404, Message: "<html>", Page: true}},
		{"a reset", fakeengine.Fault{Reset: true}},
		{"an empty answer", fakeengine.Fault{Empty: true}},
		{"half an answer", fakeengine.Fault{Half: true}},
	}
	for _, test := range tests {
		t.Run(test.reason, func(t *testing.T) {
			e := fakeengine.Start(t, fakeengine.Options{})
			c := dial(t, e)
			e.Pull("x:1", fakeengine.Made("x"))
			equal(t, "before", list(c), nil)
			e.FailNth(2, test.fault)
			equal(t, "the first", list(c), nil)
			if err := list(c); err == nil {
				t.Error("the second passed")
			}
			equal(t, "the third", list(c), nil)
			equal(t, "counted", e.Count(fakeengine.ListImages), 4)
		})
	}
}

func TestHang(t *testing.T) {
	e := fakeengine.Start(t, fakeengine.Options{})
	c := dial(t, e)
	equal(t, "before", list(c), nil)
	release := make(chan struct{})
	e.FailNth(1, fakeengine.Fault{Hang: release})
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	if _, err := c.ImageList(ctx, client.ImageListOptions{}); !errdefs.IsDeadlineExceeded(err) && ctx.Err() == nil {
		t.Errorf("it did not hang: %v", err)
	}
	e.FailNth(1, fakeengine.Fault{Hang: release})
	close(release)
	equal(t, "released", list(c), nil)
}

func TestCrash(t *testing.T) {
	onBoth(t, func(t *testing.T, e *fakeengine.Engine, c *client.Client) {
		one := e.Pull("x:1", fakeengine.Made("1"))
		e.Pull("y:2", fakeengine.Made("2"))
		e.CrashAfter(2)
		equal(t, "the first", rmi(c, one), nil)
		if err := rmi(c, "y:2"); err == nil {
			t.Error("the second was answered")
		}
		if err := list(c); err == nil {
			t.Error("it answers after the crash")
		}
		equal(t, "both took effect", len(e.Held()), 0)
		e.Revive()
		equal(t, "revived", list(c), nil)
	})
}

func TestHookChangesTheWorld(t *testing.T) {
	onBoth(t, func(t *testing.T, e *fakeengine.Engine, c *client.Client) {
		id := e.Pull("x:1", fakeengine.Made("1"))
		e.OnRequest(func(call fakeengine.Call) {
			if call.Kind == fakeengine.DeleteImage && call.Of == 1 {
				e.AddContainer(fakeengine.Container{From: "x:1", State: "created"})
			}
		})
		conflict(t, "a container came between", rmi(c, id))
		equal(t, "the target", e.Calls()[len(e.Calls())-1].Target, id)
	})
}

func TestEventsFlow(t *testing.T) {
	onBoth(t, func(t *testing.T, e *fakeengine.Engine, c *client.Client) {
		e.Pull("x:0", fakeengine.Made("0"))
		filters := make(client.Filters).Add("type", "image")
		stream := c.Events(context.Background(), client.EventsListOptions{Filters: filters})
		id := e.Pull("x:1", fakeengine.Made("1"))
		e.AddContainer(fakeengine.Container{From: "x:1"})
		e.Tag(id, "y:1")
		for _, want := range []string{"pull x:1 x", "tag " + id + " y:1"} {
			m := <-stream.Messages
			equal(t, "event", string(m.Action)+" "+m.Actor.ID+" "+m.Actor.Attributes["name"], want)
		}
		equal(t, "watchers", e.Watchers(), 1)
		e.CutEvents()
		if err := <-stream.Err; !errors.Is(err, io.EOF) {
			t.Errorf("the end: %v", err)
		}
	})
}
