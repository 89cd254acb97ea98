package enginetest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/moby/moby/client"
)

// ring is how many past events an engine remembers.
const ring = 256

func events() []fact {
	return []fact{
		{name: "a pull of nothing new is an event", test: pullAgain},
		{name: "an engine remembers 256 events, and none of before its start", test: remembered},
	}
}

func pullAgain(t *testing.T, l look) {
	l.Pull(t, "events/again:1", "again", ByTag)
	began := time.Now()
	repository, _ := l.Pull(t, "events/again:1", "again", ByTag)
	var pulls []string
	for _, e := range l.past(t, began) {
		if e.action == "pull" {
			pulls = append(pulls, e.id)
		}
	}
	equal(t, "pulls", []string{repository + ":1"}, pulls)
}

func remembered(t *testing.T, l look) {
	id := l.Import(t, "example.org/events/many:1", "many")
	for n := range ring + 10 {
		l.tag(t, id, fmt.Sprintf("example.org/events/many:%d", n%2+1))
	}
	equal(t, "past events", ring, len(l.past(t, time.Unix(0, 0))))
	l.Restart(t)
	for _, e := range l.past(t, time.Unix(0, 0)) {
		if e.action == "tag" {
			t.Errorf("after a restart there is an event of before: %v", e)
		}
	}
}

type event struct{ action, id string }

// past are the events since a time until now, as far as they are remembered.
func (l look) past(t *testing.T, since time.Time) []event {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	stream := l.Client.Events(ctx, client.EventsListOptions{Since: stamp(since), Until: stamp(time.Now())})
	var found []event
	for {
		select {
		case m := <-stream.Messages:
			found = append(found, event{string(m.Action), m.Actor.ID})
		case err := <-stream.Err:
			if !errors.Is(err, io.EOF) {
				t.Fatal(err)
			}
			return found
		}
	}
}

func stamp(at time.Time) string { return fmt.Sprintf("%d.%09d", at.Unix(), at.Nanosecond()) }
