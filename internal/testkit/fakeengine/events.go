package fakeengine

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const historySize = 256

type actor struct {
	ID         string
	Attributes map[string]string
}

type message struct {
	Type     string
	Action   string
	Actor    actor
	Scope    string `json:"scope"`
	Time     int64  `json:"time"`
	TimeNano int64  `json:"timeNano"`
}

// ring is the history of events and those who watch them.
type ring struct {
	history  []message
	watchers map[chan message]struct{}
}

// cut ends all streams.
func (r *ring) cut() {
	for w := range r.watchers {
		delete(r.watchers, w)
		close(w)
	}
}

func (e *Engine) emit(kind, action, id string, attributes map[string]string) {
	now := e.opts.Now()
	m := message{
		Type: kind, Action: action, Scope: "local", Time: now.Unix(), TimeNano: now.UnixNano(),
		Actor: actor{ID: id, Attributes: attributes},
	}
	e.events.history = append(e.events.history, m)
	if n := len(e.events.history) - historySize; n > 0 {
		e.events.history = e.events.history[n:]
	}
	for w := range e.events.watchers {
		select {
		case w <- m:
		default: // a watcher that does not read loses events, as in an engine
		}
	}
}

// Emit lets an event happen, such as a build's.
func (e *Engine) Emit(kind, action, id string, attributes map[string]string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.emit(kind, action, id, attributes)
}

// CutEvents ends the streams of events that are open.
func (e *Engine) CutEvents() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.events.cut()
}

// Watchers is how many streams of events are open.
func (e *Engine) Watchers() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.events.watchers)
}

// watch writes what happened between since and until, and then what happens
// until the stream is cut or until is reached.
func (e *Engine) watch(w http.ResponseWriter, r *http.Request, c Call) {
	since, until := moment(c.Query.Get("since")), moment(c.Query.Get("until"))
	wanted := wants(c.Query.Get("filters"))
	e.mu.Lock()
	var past []message
	if !since.IsZero() || !until.IsZero() {
		for _, m := range e.events.history {
			if m.TimeNano >= since.UnixNano() && (until.IsZero() || m.TimeNano <= until.UnixNano()) {
				past = append(past, m)
			}
		}
	}
	live := make(chan message, 1024)
	over := !until.IsZero() && until.Before(e.opts.Now())
	if !over {
		e.events.watchers[live] = struct{}{}
	}
	e.mu.Unlock()
	defer e.unwatch(live)

	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusOK)
	out := json.NewEncoder(w)
	send := func(m message) bool {
		ok := !wanted(m) || out.Encode(m) == nil
		w.(http.Flusher).Flush()
		return ok
	}
	w.(http.Flusher).Flush()
	for _, m := range past {
		if !send(m) {
			return
		}
	}
	if over {
		return
	}
	for {
		select {
		case <-r.Context().Done():
			return
		case m, ok := <-live:
			if !ok || !send(m) {
				return
			}
		}
	}
}

func (e *Engine) unwatch(live chan message) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.events.watchers, live)
}

// moment reads a time of the API: seconds with nanoseconds after a point.
func moment(s string) time.Time {
	if s == "" {
		return time.Time{}
	}
	whole, part, _ := strings.Cut(s, ".")
	sec, _ := strconv.ParseInt(whole, 10, 64)
	nano, _ := strconv.ParseInt((part + "000000000")[:9], 10, 64)
	return time.Unix(sec, nano)
}

// wants reads a filter of types and actions; others are passed over.
func wants(filters string) func(message) bool {
	f := map[string]map[string]bool{}
	_ = json.Unmarshal([]byte(filters), &f)
	return func(m message) bool {
		return (len(f["type"]) == 0 || f["type"][m.Type]) && (len(f["event"]) == 0 || f["event"][m.Action])
	}
}
