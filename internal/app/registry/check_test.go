package registry_test

import (
	"context"
	"errors"
	"testing"

	app "github.com/ebb-io/ebb/internal/app/registry"
	"github.com/ebb-io/ebb/internal/plan"
	"github.com/ebb-io/ebb/internal/policy"
	"github.com/ebb-io/ebb/internal/refs"
	"github.com/ebb-io/ebb/internal/store/blob"
	"github.com/ebb-io/ebb/internal/store/blob/fault"
	"github.com/ebb-io/ebb/internal/store/blob/mem"
	"github.com/ebb-io/ebb/internal/store/registry"
	"github.com/ebb-io/ebb/internal/testkit/world"
)

func nobody(context.Context) (refs.Set, error) { return refs.Set{}, nil }

func checked(t *testing.T, reader blob.Reader, w *world.World, p policy.Policy) (*plan.Plan, error) {
	t.Helper()
	return app.Check(t.Context(), registry.New(reader, nil), app.Request{Owners: nobody, Policy: p, Now: w.Now()})
}

// Blobs without a repository, and images without a blob, look like a volume
// that is not mounted. No word of a person lifts that.
func TestHalfAStorageIsRefused(t *testing.T) {
	store := mem.New()
	w := world.New(world.Mem(store))
	w.OrphanBlob("orphan")
	confirmed := policy.Default()
	confirmed.Confirmed = true
	for _, p := range []policy.Policy{policy.Default(), confirmed} {
		if _, err := checked(t, store, w, p); !errors.Is(err, app.ErrIncomplete) {
			t.Errorf("blobs without a repository: %v", err)
		}
	}
	w.Image("apps/web", world.Tag("v1"))
	unlisted := fault.NewReader(store, fault.FailReadWhere(func(op fault.Op) bool { return op.Path == world.Root+"/repositories" }))
	if _, err := checked(t, unlisted, w, confirmed); !errors.Is(err, app.ErrIncomplete) {
		t.Errorf("confirmed, and repositories can not be listed: %v", err)
	}
	w.RemoveDir(world.Root + "/blobs")
	if _, err := checked(t, store, w, confirmed); !errors.Is(err, app.ErrIncomplete) {
		t.Errorf("images without a blob: %v", err)
	}
}

// Owners that can not be read end a check, whatever the storage holds.
func TestOwnersThatCanNotBeRead(t *testing.T) {
	store := mem.New()
	w := world.New(world.Mem(store))
	w.Image("apps/web", world.Tag("v1"))
	failed := errors.New("no owners")
	_, err := app.Check(t.Context(), registry.New(store, nil), app.Request{
		Owners: func(context.Context) (refs.Set, error) { return refs.Set{}, failed },
		Policy: policy.Default(), Now: w.Now(),
	})
	if !errors.Is(err, failed) {
		t.Errorf("got %v", err)
	}
}
