package docker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/moby/moby/api/types/events"
	"github.com/moby/moby/client"

	"github.com/ebb-io/ebb/internal/engine"
	"github.com/ebb-io/ebb/internal/image"
)

// Changes collects what happens in the engine until it is closed.
type Changes struct {
	cancel context.CancelFunc
	done   chan struct{}

	mu     sync.Mutex
	events []engine.Event
	err    error
}

type openedKey struct{}

// tellOpened tells a subscription that the engine answered it.
func tellOpened(r *http.Response) {
	if opened, ok := r.Request.Context().Value(openedKey{}).(chan struct{}); ok && r.StatusCode == http.StatusOK {
		close(opened)
	}
}

// Subscribe listens to the engine's events from now on. It returns when the
// engine has opened the stream.
func (e *Engine) Subscribe(ctx context.Context) (*Changes, error) {
	opened := make(chan struct{})
	ctx, cancel := context.WithCancel(context.WithValue(ctx, openedKey{}, opened))
	timer := time.AfterFunc(listTimeout, cancel)
	// An engine answers a moment before it listens: what happens in between is
	// in its history.
	since := stamp(e.now().Add(e.skew))
	stream := e.api.Events(ctx, client.EventsListOptions{Since: since})
	inTime := timer.Stop()
	select {
	case <-opened:
	default:
		cancel()
		return nil, incomplete("events: %w", failed(<-stream.Err))
	}
	if !inTime {
		cancel()
		return nil, incomplete("events: no answer for %s", listTimeout)
	}
	c := &Changes{cancel: cancel, done: make(chan struct{})}
	go c.collect(stream)
	return c, nil
}

func failed(err error) error {
	if err == nil {
		return io.ErrUnexpectedEOF
	}
	return err
}

// stamp is a time as the events take it.
func stamp(t time.Time) string {
	if t.Unix() < 1 { // a clock that has just begun, and no time for an engine
		return "1"
	}
	return fmt.Sprintf("%d.%09d", t.Unix(), t.Nanosecond())
}

func (c *Changes) collect(stream client.EventsResult) {
	defer close(c.done)
	for {
		select {
		case m := <-stream.Messages:
			c.add(m)
		case err := <-stream.Err:
			c.mu.Lock()
			c.err = incomplete("events: the stream ended: %w", failed(err))
			c.mu.Unlock()
			return
		}
	}
}

func (c *Changes) add(m events.Message) {
	if ev, ok := event(m); ok {
		c.mu.Lock()
		c.events = append(c.events, ev)
		c.mu.Unlock()
	}
}

// Events are those so far, in the order in which they came.
func (c *Changes) Events() []engine.Event {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.events)
}

// Err tells that the stream ended, so that events may be missing: ErrIncomplete.
func (c *Changes) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Done is closed when the stream has ended.
func (c *Changes) Done() <-chan struct{} { return c.done }

// Close ends the subscription and waits until it has.
func (c *Changes) Close() {
	c.cancel()
	<-c.done
}

// remembered is how many events of all kinds an engine keeps, none of them from
// before its start.
const remembered = 256

// History is what happened since a time, as far as the engine remembers.
// Complete means that nothing since then was pushed out by later events.
func (e *Engine) History(ctx context.Context, since time.Time) (happened []engine.Event, complete bool, err error) {
	since = since.Add(e.skew)
	all, older := 0, false
	err = e.past(ctx, "1", func(m events.Message) {
		all++
		if at(m).Before(since) {
			older = true
		} else if ev, ok := event(m); ok {
			happened = append(happened, ev)
		}
	})
	if err != nil {
		return nil, false, err
	}
	return happened, older || all < remembered, nil
}

// Happened is what happened since a time, as far as the engine remembers: an
// engine that writes its events down may remember for long.
func (e *Engine) Happened(ctx context.Context, since time.Time) (happened []engine.Event, err error) {
	err = e.past(ctx, stamp(since.Add(e.skew)), func(m events.Message) {
		if ev, ok := event(m); ok {
			happened = append(happened, ev)
		}
	})
	return happened, err
}

// past reads the events up to now.
func (e *Engine) past(ctx context.Context, since string, each func(events.Message)) error {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	stream := e.api.Events(ctx, client.EventsListOptions{Since: since, Until: stamp(e.now().Add(e.skew))})
	for {
		select {
		case m := <-stream.Messages:
			each(m)
		case err := <-stream.Err:
			if err != nil && !errors.Is(err, io.EOF) {
				return incomplete("history: %w", err)
			}
			return nil
		}
	}
}

func at(m events.Message) time.Time {
	if m.TimeNano != 0 {
		return time.Unix(0, m.TimeNano).UTC()
	}
	return time.Unix(m.Time, 0).UTC()
}

// event reads an event if it concerns images. Health checks and commands run in
// a container do not.
func event(m events.Message) (engine.Event, bool) {
	switch m.Type {
	case events.ImageEventType, events.ContainerEventType:
	default:
		return engine.Event{}, false
	}
	action := string(m.Action)
	if strings.HasPrefix(action, "exec_") || strings.HasPrefix(action, "health_status") || action == "top" {
		return engine.Event{}, false
	}
	ev := engine.Event{At: at(m), Type: string(m.Type), Action: action, ID: m.Actor.ID}
	switch m.Type {
	case events.ImageEventType:
		ev.Name = firstName(m.Actor.ID, m.Actor.Attributes["name"])
	case events.ContainerEventType:
		ev.From = m.Actor.Attributes["image"]
		ev.Name = firstName(ev.From)
	}
	return ev, true
}

// firstName is the first that is a name and no ID; zero if none is.
func firstName(list ...string) image.Name {
	for _, s := range list {
		if n, err := image.ParseName(s); err == nil && !isShortID(s) {
			return n
		}
	}
	return image.Name{}
}

// isShortID tells whether a text may as well be an ID that was cut.
func isShortID(s string) bool {
	if len(s) != 12 {
		return false
	}
	_, err := strconv.ParseUint(s, 16, 64)
	return err == nil
}
