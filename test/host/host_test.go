package host

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	app "github.com/ebb-io/ebb/internal/app/host"
	"github.com/ebb-io/ebb/internal/engine"
	"github.com/ebb-io/ebb/internal/image"
	"github.com/ebb-io/ebb/internal/journal"
	"github.com/ebb-io/ebb/internal/pin"
	"github.com/ebb-io/ebb/internal/policy"
	"github.com/ebb-io/ebb/internal/source/pins"
	"github.com/ebb-io/ebb/internal/store/docker"
	"github.com/ebb-io/ebb/internal/store/state"
	"github.com/ebb-io/ebb/internal/testkit/fakeengine"
)

var both = []engine.StoreKind{engine.GraphDriver, engine.Containerd}

// onBoth runs a test for each kind of image store.
func onBoth(t *testing.T, f func(t *testing.T, kind engine.StoreKind)) {
	t.Helper()
	for _, kind := range both {
		t.Run(string(kind), func(t *testing.T) { f(t, kind) })
	}
}

// host is an engine with Ebb's folder beside it.
type host struct {
	t       fakeengine.TB
	engine  *fakeengine.Engine
	id      string
	dir     string
	state   *state.Dir
	pins    []string // as a person writes them
	running bool     // the containers that run are pins as well
	policy  policy.Host
	ahead   time.Duration // of Ebb's clock
}

var hosts atomic.Int64

// start makes a host. Its engine's ID is its own, as locks are everybody's.
func start(t fakeengine.TB, opts fakeengine.Options) *host {
	t.Helper()
	opts.ID = fmt.Sprintf("TEST-HOST:%d:%d", os.Getpid(), hosts.Add(1))
	h := &host{t: t, id: opts.ID, engine: fakeengine.Start(t, opts), policy: eager()}
	h.forget()
	t.Cleanup(func() { _ = os.Remove("/run/lock/ebb-" + strings.ReplaceAll(h.id, ":", "-") + ".lock") })
	return h
}

// eager is the policy that waits for nothing.
func eager() policy.Host {
	p := policy.DefaultHost()
	p.MinAge, p.UnusedFor = 0, 0
	return p
}

// forget gives Ebb a new folder.
func (h *host) forget() {
	h.t.Helper()
	dir, err := os.MkdirTemp("", "state")
	if err != nil {
		h.t.Fatalf("state: %v", err)
	}
	h.t.Cleanup(func() { _ = os.RemoveAll(dir) })
	h.dir = dir
	if h.state, err = state.Open(dir); err != nil {
		h.t.Fatalf("state: %v", err)
	}
}

func (h *host) clock() time.Time { return time.Now().Add(h.ahead) }

func (h *host) request() app.Request {
	return app.Request{Pins: h.readPins, Policy: h.policy, Clock: h.clock}
}

func (h *host) readPins(_ context.Context, seen *engine.Snapshot, record *journal.Record) (pin.Set, error) {
	set, err := pins.Args(h.pins, "--pin")
	if err == nil && h.running {
		set = pins.Combine(set, pins.Running(seen, record, nil))
	}
	return set, err
}

// open is a new connection, as each command makes one.
func (h *host) open(ctx context.Context) (*docker.Engine, error) {
	e, err := docker.Open(ctx, docker.Options{Host: h.engine.Host()})
	if err == nil {
		h.t.Cleanup(func() { _ = e.Close() })
	}
	return e, err
}

func (h *host) check(ctx context.Context) (*app.Pass, error) {
	e, err := h.open(ctx)
	if err != nil {
		return nil, err
	}
	return app.Check(ctx, e, h.state, h.request())
}

func (h *host) mustCheck() *app.Pass {
	h.t.Helper()
	pass, err := h.check(context.Background())
	if err != nil {
		h.t.Fatalf("check: %v", err)
	}
	return pass
}

// run makes a run; more changes what is asked for.
func (h *host) run(ctx context.Context, more ...func(*app.RunRequest)) (*app.Result, error) {
	e, err := h.open(ctx)
	if err != nil {
		return nil, err
	}
	req := app.RunRequest{Request: h.request()}
	for _, f := range more {
		f(&req)
	}
	return app.Run(ctx, e, h.state, req)
}

func (h *host) mustRun(more ...func(*app.RunRequest)) *app.Result {
	h.t.Helper()
	result, err := h.run(context.Background(), more...)
	if err != nil {
		h.t.Fatalf("run: %v", err)
	}
	return result
}

// only makes every deletion beyond a plan a violation, under which the test
// fails.
func (h *host) only(pass *app.Pass) {
	planned := map[string][]string{}
	for _, step := range pass.Plan.Steps() {
		id := step.ID.String()
		planned[id] = []string{id}
		for _, n := range step.Names {
			planned[id] = append(planned[id], n.String())
		}
	}
	h.engine.Allow(func(target, id string, _ []string) bool {
		return slices.Contains(planned[id], full(target))
	})
}

// full is a name in full, and all else as it is.
func full(ref string) string {
	n, err := image.ParseName(ref)
	if err != nil {
		return ref
	}
	if n.Tag == "" && !n.Digested {
		n.Tag = "latest"
	}
	return n.String()
}

// planned are the images that a plan deletes.
func planned(pass *app.Pass) []string {
	var ids []string
	for _, step := range pass.Plan.Steps() {
		ids = append(ids, step.ID.String())
	}
	slices.Sort(ids)
	return ids
}

// deleted are the images that were deleted.
func deleted(result *app.Result) []string {
	var ids []string
	if result == nil {
		return nil
	}
	for _, done := range result.Outcome.Deleted {
		ids = append(ids, done.ID.String())
	}
	slices.Sort(ids)
	return ids
}

type held = map[string][]string

// lost are the images that one view has and a later one lacks.
func lost(before, after held) []string {
	var ids []string
	for _, id := range slices.Sorted(maps.Keys(before)) {
		if _, there := after[id]; !there {
			ids = append(ids, id)
		}
	}
	return ids
}

// bearer is the image of a name; empty: there is none.
func bearer(have held, name string) string {
	for id, names := range have {
		if id == name || slices.Contains(names, full(name)) {
			return id
		}
	}
	return ""
}

// inside tells whether each of some is among others.
func inside(some, others []string) bool {
	return !slices.ContainsFunc(some, func(s string) bool { return !slices.Contains(others, s) })
}

func (h *host) ctx() context.Context { return context.Background() }
