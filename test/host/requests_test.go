package host

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ebb-io/ebb/internal/engine"
	"github.com/ebb-io/ebb/internal/testkit/fakeengine"
)

// city is a host with 1,000 images, of which 50 lost their tag, and 200
// containers. 100 go: those that lost it, and one of two names in each
// repository.
func city(t *testing.T, opts fakeengine.Options) *host {
	t.Helper()
	opts.Manager = true
	h := start(t, opts)
	for r := range 50 {
		repository := fmt.Sprintf("infra/app%02d", r)
		for v := range 20 {
			name := fmt.Sprintf("%s:v1.%d.0", repository, v)
			h.engine.Pull(name, fakeengine.Made(name))
		}
		h.engine.Tag(repository+":v1.0.0", repository+":1.0.0")
		h.pins = append(h.pins, repository+":v1.3.0")
		for v := range 4 {
			h.engine.AddContainer(fakeengine.Container{From: fmt.Sprintf("%s:v1.%d.0", repository, 3+v)})
		}
	}
	h.mustCheck()
	for r := range 50 { // v1.1.0 goes as well, but is v1.2.0 by now
		repository := fmt.Sprintf("infra/app%02d", r)
		h.engine.Tag(repository+":v1.2.0", repository+":v1.1.0")
	}
	return h
}

// counts are the calls by kind.
func (h *host) counts() map[fakeengine.Kind]int {
	counts := map[fakeengine.Kind]int{}
	for _, c := range h.engine.Calls() {
		counts[c.Kind]++
	}
	return counts
}

// A look costs at most five lists (images, containers, services, what happened
// lately, and what images share or when they were pulled), one inspection of each container, and one of each
// image without a tag and of each that goes where the engine knows more of it
// than the list says.
func TestTheNumberOfRequests(t *testing.T) {
	for _, test := range []struct {
		name     string
		opts     fakeengine.Options
		lists    map[fakeengine.Kind]int
		inspects int // of 50 images without a tag, which go, and 50 more that go
	}{
		{"graph driver", fakeengine.Options{Store: engine.GraphDriver}, map[fakeengine.Kind]int{fakeengine.Leases: 1}, 0},
		{"old graph driver", fakeengine.Options{Store: engine.GraphDriver, API: "1.41"}, map[fakeengine.Kind]int{fakeengine.DiskUsage: 1}, 0},
		{"containerd", fakeengine.Options{Store: engine.Containerd}, nil, 100},
		{"older containerd", fakeengine.Options{Store: engine.Containerd, API: "1.52"}, nil, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			h := city(t, test.opts)
			if got := len(h.engine.Held()); got != 1000 {
				t.Fatalf("%d images", got)
			}
			look := map[fakeengine.Kind]int{
				fakeengine.Ping: 1, fakeengine.GetVersion: 1, fakeengine.GetInfo: 3,
				fakeengine.ListImages: 1, fakeengine.ListContainers: 1, fakeengine.ListServices: 1,
				fakeengine.Events: 1, fakeengine.InspectContainer: 200,
			}
			for kind, n := range test.lists {
				look[kind] = n
			}
			if test.inspects > 0 {
				look[fakeengine.InspectImage] = test.inspects
			}
			h.engine.ResetCalls()
			pass := h.mustCheck()
			if diff := cmp.Diff(look, h.counts()); diff != "" {
				t.Errorf("requests of a check:\n%s", diff)
			}
			if got := len(planned(pass)); got != 100 {
				t.Fatalf("%d images go", got)
			}

			look[fakeengine.Events] = 2 // what happens meanwhile
			if test.opts.Store == engine.Containerd {
				look[fakeengine.Leases] = 1 // the gate's, for pulls under way
			}
			if test.inspects > 0 {
				look[fakeengine.InspectImage] = 50 + 5 // those without a tag, and of the ten that go those with one
			}
			h.policy.MaxDeletes = 10                     // half of them by a name first
			look[fakeengine.DeleteImage] = 10 + 5        // of images and of those names
			look[fakeengine.InspectImage] += 10 + 5 + 10 // before each, and after each image
			h.engine.ResetCalls()
			h.mustRun()
			if diff := cmp.Diff(look, h.counts()); diff != "" {
				t.Errorf("requests of a run:\n%s", diff)
			}
		})
	}
}
