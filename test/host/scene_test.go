package host

import (
	"slices"

	"pgregory.net/rapid"

	"github.com/ebb-io/ebb/internal/engine"
	"github.com/ebb-io/ebb/internal/policy"
	"github.com/ebb-io/ebb/internal/testkit/fakeengine"
)

// scene is a random host with what a person asks of it.
type scene struct {
	kind    engine.StoreKind
	world   fakeengine.World
	pins    []string
	running bool
	policy  policy.Host
	api     string
}

func drawScene(t *rapid.T) scene {
	s := scene{
		kind:    rapid.SampledFrom(both).Draw(t, "store"),
		world:   fakeengine.Random(t),
		running: rapid.IntRange(0, 3).Draw(t, "running") == 0,
		policy:  eager(),
		api:     rapid.SampledFrom([]string{"", "1.41", "1.47", "1.51"}).Draw(t, "api"),
	}
	s.policy.KeepPrevious = rapid.IntRange(0, 2).Draw(t, "previous")
	s.policy.KeepNewer = rapid.IntRange(-1, 1).Draw(t, "newer")
	s.pins = slices.Clone(s.world.Pins)
	if here := s.names(); len(here) > 0 && rapid.IntRange(0, 3).Draw(t, "pins that are here") > 0 {
		s.pins = rapid.SliceOfNDistinct(rapid.SampledFrom(here), 1, 3, rapid.ID).Draw(t, "pinned")
	}
	return s
}

// names are those that were pulled as tags.
func (s scene) names() []string {
	var all []string
	for _, p := range s.world.Pulls {
		if !p.ByDigest && !slices.Contains(all, p.Name()) {
			all = append(all, p.Name())
		}
	}
	return all
}

// start lets it happen, seen by Ebb half way.
func (s scene) start(t *rapid.T) *host {
	t.Helper()
	h := start(t, fakeengine.Options{Store: s.kind, API: s.api, Manager: len(s.world.Services) > 0})
	h.pins, h.running, h.policy = s.pins, s.running, s.policy
	early := s.world
	early.Pulls, early.Imports, early.Tags, early.Containers, early.Services = early.Pulls[:len(early.Pulls)/2], nil, nil, nil, nil
	early.Fill(h.engine)
	h.mustCheck()
	s.world.Fill(h.engine)
	return h
}

// needed are the names that somebody besides Ebb holds on to.
func (s scene) needed() []string {
	all := slices.Clone(s.pins)
	for _, c := range s.world.Containers {
		all = append(append(all, c.From), c.Mounts...)
	}
	for _, service := range s.world.Services {
		all = append(all, service.Image, service.Previous)
	}
	return all
}

// claims tells whether a run has anything to judge by.
func (s scene) claims(h *host) bool {
	if len(s.pins) > 0 {
		return true
	}
	for _, p := range h.mustCheck().Pins.Pins {
		if !p.Passive {
			return true
		}
	}
	return false
}

// town is always the same: something of everything that goes and that stays.
func town(t fakeengine.TB, opts fakeengine.Options) *host {
	t.Helper()
	opts.Manager = true
	h := start(t, opts)
	e := h.engine
	for _, tag := range []string{"v0.7.0", "v0.8.0", "v0.9.0", "v1.0.0", "v1.1.0", "v1.2.0", "v1.3.0", "v1.4.0", "nightly"} {
		e.Pull("traefik:"+tag, fakeengine.Made("traefik "+tag))
	}
	e.Tag("traefik:v1.0.0", "traefik:1.0.0") // two names of one that goes
	e.Tag("traefik:v1.1.0", "mine/traefik:v1.1.0")
	e.Pull("ghcr.io/org/app:2.0.0", fakeengine.Made("app 2"))
	e.Pull("ghcr.io/org/app:3.0.0", fakeengine.Made("app 3, at first"))
	e.Pull("ghcr.io/org/app:1.0.0", fakeengine.Made("app 1"))
	e.Pull("cafe:1", fakeengine.Made("nobody's"))
	e.Pull("cafe@"+fakeengine.Digest("any"), fakeengine.Made("by digest"))
	e.AddContainer(fakeengine.Container{Name: "old", From: "traefik:v0.8.0", State: "exited"})
	e.AddContainer(fakeengine.Container{Name: "web", From: "traefik:v1.3.0", Mounts: []string{"traefik:v0.7.0"}})
	e.AddService(fakeengine.Service{Name: "app", Image: "ghcr.io/org/app:3.0.0", Previous: "ghcr.io/org/app:2.0.0"})
	h.pins = []string{"traefik:v1.3.0", "ghcr.io/org/app:3.0.0"}
	h.mustCheck()
	e.Pull("ghcr.io/org/app:3.0.0", fakeengine.Made("app 3")) // it moves
	return h
}

// townKeeps are the names in a town that are never lost.
var townKeeps = []string{
	"traefik:v0.7.0", "traefik:v0.8.0", "traefik:v1.1.0", "mine/traefik:v1.1.0", "traefik:v1.2.0", "traefik:v1.3.0",
	"traefik:v1.4.0", "traefik:nightly", "ghcr.io/org/app:2.0.0", "ghcr.io/org/app:3.0.0", "cafe:1",
}

// townGarbage is what goes in a town, in that order.
func townGarbage(kind engine.StoreKind, have held) []string {
	moved := fakeengine.Made("app 3, at first")
	id := moved.Config
	if kind == engine.Containerd {
		id = moved.Index
	}
	return []string{bearer(have, "traefik:v0.9.0"), bearer(have, "traefik:v1.0.0"), id, bearer(have, "ghcr.io/org/app:1.0.0")}
}
