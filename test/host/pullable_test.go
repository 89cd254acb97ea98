package host

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ebb-io/ebb/internal/engine"
	"github.com/ebb-io/ebb/internal/journal"
	"github.com/ebb-io/ebb/internal/testkit/fakeengine"
)

// What is remembered of a deletion is by what the image can be pulled again. An
// engine that will not say it keeps no image, and leaves it in doubt.
func TestWhatCanBePulledAgain(t *testing.T) {
	pulled, loaded := fakeengine.Made("v1.0.0"), fakeengine.Made("v1.1.0")
	const repository = "127.0.0.1:5000/infra/app"
	digest := func(i fakeengine.Image) []string { return []string{repository + "@" + i.Index} }
	type again struct {
		Digests []string
		InDoubt bool
	}
	for _, test := range []struct {
		name   string
		opts   fakeengine.Options
		fault  *fakeengine.Fault
		pulled again
		loaded again
	}{
		{"graph driver", fakeengine.Options{Store: engine.GraphDriver}, nil, again{digest(pulled), false}, again{nil, false}},
		{"containerd", fakeengine.Options{Store: engine.Containerd}, nil, again{digest(pulled), false}, again{nil, false}},
		{"older containerd", fakeengine.Options{Store: engine.Containerd, API: "1.52"}, nil, again{digest(pulled), true}, again{digest(loaded), true}},
		{
			"containerd that fails",
			fakeengine.Options{Store: engine.Containerd},
			&fakeengine.Fault{Status: 500, Message: "broken"},
			again{digest(pulled), true},
			again{digest(loaded), true},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			h := start(t, test.opts)
			h.pins = []string{repository + ":v1.3.0"}
			want := map[string]again{
				h.engine.Pull(repository+":v1.0.0", pulled):   test.pulled,
				h.engine.Import(repository+":v1.1.0", loaded): test.loaded,
			}
			h.engine.Import(repository+":v1.2.0", fakeengine.Made("v1.2.0"))
			h.engine.Pull(repository+":v1.3.0", fakeengine.Made("v1.3.0"))
			deleting := false
			h.engine.Fail(func(c fakeengine.Call) *fakeengine.Fault {
				if deleting = deleting || c.Kind == fakeengine.DeleteImage; deleting || c.Kind != fakeengine.InspectImage || c.Of > len(want) {
					return nil
				}
				return test.fault
			})
			h.mustRun()
			got := map[string]again{}
			for _, d := range h.record().Deletions {
				got[d.ID.String()] = again{d.Digests, d.InDoubt}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func (h *host) record() journal.Record {
	h.t.Helper()
	e, err := h.open(h.ctx())
	if err != nil {
		h.t.Fatalf("%v", err)
	}
	record, lost, err := h.state.Load(e.Engine().Key())
	if err != nil || lost != nil {
		h.t.Fatalf("journal: %v, %v", lost, err)
	}
	return record
}
