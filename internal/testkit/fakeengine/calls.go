package fakeengine

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// Kind is what a call is for.
type Kind string

// The kinds of calls that the engine knows.
const (
	Ping             Kind = "ping"
	GetInfo          Kind = "info"
	GetVersion       Kind = "version"
	ListImages       Kind = "list images"
	InspectImage     Kind = "inspect image"
	DeleteImage      Kind = "delete image"
	TagImage         Kind = "tag image"
	ListContainers   Kind = "list containers"
	InspectContainer Kind = "inspect container"
	ListServices     Kind = "list services"
	DiskUsage        Kind = "disk usage"
	Events           Kind = "events"
	Prune            Kind = "prune"
	Leases           Kind = "leases"
	Unknown          Kind = "unknown"
)

// Call is a request as it came.
type Call struct {
	Kind   Kind
	Method string
	Path   string // without the version
	API    string // the version, empty if none was given
	Query  url.Values
	Target string // what image or container it is about, as it was written
	Nth    int    // from 1, among all calls
	Of     int    // from 1, among those of its kind
}

// Mutates tells whether the call changes the engine.
func (c Call) Mutates() bool { return c.Kind == DeleteImage || c.Kind == TagImage || c.Kind == Prune }

// Fault is what a call meets instead of its answer, or on the way to it.
type Fault struct {
	Status  int    // an error's status with Message
	Message string // of Status
	Page    bool   // Message is a page, or nothing, as proxies answer
	Reset   bool   // the connection is closed without a word
	Empty   bool   // 200 and nothing else
	Half    bool   // the first half of the answer, then the connection is closed
	Hang    <-chan struct{}
	// Done lets the call take effect before a Status or a Reset.
	Done bool
}

type log struct {
	calls      []Call
	violations []string
	fail       func(Call) *Fault
	hooks      []func(Call)
	allow      func(target, id string, names []string) bool
	down       bool
	left       int // mutations until the crash, if above 0
}

// Calls are all calls so far, in order.
func (e *Engine) Calls() []Call {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.log.calls)
}

// Count is how many calls of a kind there were.
func (e *Engine) Count(k Kind) int {
	n := 0
	for _, c := range e.Calls() {
		if c.Kind == k {
			n++
		}
	}
	return n
}

// ResetCalls forgets the calls so far, but no violation.
func (e *Engine) ResetCalls() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.log.calls = nil
}

// Violations are what the engine was asked and must never be.
func (e *Engine) Violations() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.log.violations)
}

// TakeViolations returns the violations and forgets them: for a test that
// means to see one.
func (e *Engine) TakeViolations() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	out := e.log.violations
	e.log.violations = nil
	return out
}

// Fail asks f of each call what it meets; nil is nothing. A nil f ends it.
func (e *Engine) Fail(f func(Call) *Fault) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.log.fail = f
}

// FailNth lets the n-th call from now on meet a fault, and no other.
func (e *Engine) FailNth(n int, f Fault) {
	before := len(e.Calls())
	e.Fail(func(c Call) *Fault {
		if c.Nth == before+n {
			return &f
		}
		return nil
	})
}

// OnRequest calls f before each call is answered; f may change the engine.
func (e *Engine) OnRequest(f func(Call)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.log.hooks = append(e.log.hooks, f)
}

// Allow makes each name or image that goes and that f does not allow a
// violation: the target as it was written, its ID and the names it had.
func (e *Engine) Allow(f func(target, id string, names []string) bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.log.allow = f
}

// CrashAfter lets the n-th mutating call from now on take effect without an
// answer; from then on nothing is answered until Revive. 0 is at once.
func (e *Engine) CrashAfter(n int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.log.left = n
	if n == 0 {
		e.crash()
	}
}

func (e *Engine) crash() {
	e.log.down = true
	e.events.cut()
}

// Revive lets the engine answer again.
func (e *Engine) Revive() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.log.down, e.log.left = false, 0
	e.events.history = nil
}

// record writes a call down and finds what it meets.
func (e *Engine) record(c Call) (Call, []func(Call), func(Call) *Fault, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.log.down {
		return c, nil, nil, true
	}
	c.Nth, c.Of = len(e.log.calls)+1, 1
	for _, o := range e.log.calls {
		if o.Kind == c.Kind {
			c.Of++
		}
	}
	e.log.calls = append(e.log.calls, c)
	e.judge(c)
	return c, slices.Clone(e.log.hooks), e.log.fail, false
}

func (e *Engine) judge(c Call) {
	switch {
	case c.Kind == Prune:
		e.violate(c, "prune")
	case c.Kind == Unknown:
		e.violate(c, "a call that Ebb does not need")
	case c.Kind == DeleteImage && yes(c.Query.Get("force")):
		e.violate(c, "force")
	case c.Kind == DeleteImage && !yes(c.Query.Get("noprune")):
		e.violate(c, "a delete that takes parents along")
	case c.Kind == ListContainers && !yes(c.Query.Get("all")):
		e.violate(c, "a list of running containers alone")
	case c.Kind == ListImages && c.Query.Get("filters") != "":
		e.violate(c, "a filtered list of images")
	}
}

func (e *Engine) violate(c Call, what string) {
	e.log.violations = append(e.log.violations, fmt.Sprintf("%s: %s %s?%s", what, c.Method, c.Path, c.Query.Encode()))
}

// tookEffect counts a mutation and tells whether the engine crashes by it.
func (e *Engine) tookEffect() bool {
	if e.log.left == 0 {
		return false
	}
	if e.log.left--; e.log.left > 0 {
		return false
	}
	e.crash()
	return true
}

func yes(s string) bool {
	s = strings.ToLower(strings.TrimSpace(s))
	return s != "" && s != "0" && s != "no" && s != "false" && s != "none"
}

// parse reads what a request asks.
func parse(r *http.Request) Call {
	c := Call{Method: r.Method, Path: r.URL.Path, Query: r.URL.Query(), Kind: Unknown}
	if rest, ok := strings.CutPrefix(c.Path, "/v1."); ok {
		minor, rest, _ := strings.Cut(rest, "/")
		c.API, c.Path = "1."+minor, "/"+rest
	}
	fixed := map[string]Kind{
		"GET /_ping": Ping, "HEAD /_ping": Ping, "GET /info": GetInfo, "GET /version": GetVersion,
		"GET /images/json": ListImages, "GET /containers/json": ListContainers, "GET /services": ListServices,
		"GET /system/df": DiskUsage, "GET /events": Events,
	}
	if k, ok := fixed[c.Method+" "+c.Path]; ok {
		c.Kind = k
		return c
	}
	for _, m := range []struct {
		method, prefix, suffix string
		kind                   Kind
	}{
		{"POST", "/", "/prune", Prune},
		{"GET", "/images/", "/json", InspectImage},
		{"POST", "/images/", "/tag", TagImage},
		{"DELETE", "/images/", "", DeleteImage},
		{"GET", "/containers/", "/json", InspectContainer},
	} {
		target, ok := strings.CutPrefix(c.Path, m.prefix)
		if target, ok2 := strings.CutSuffix(target, m.suffix); ok && ok2 && c.Method == m.method {
			c.Kind, c.Target = m.kind, target
			return c
		}
	}
	return c
}
