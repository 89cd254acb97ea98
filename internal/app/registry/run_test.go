package registry_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	app "github.com/ebb-io/ebb/internal/app/registry"
	"github.com/ebb-io/ebb/internal/policy"
	"github.com/ebb-io/ebb/internal/refs"
	"github.com/ebb-io/ebb/internal/store/blob"
	"github.com/ebb-io/ebb/internal/store/blob/mem"
	"github.com/ebb-io/ebb/internal/testkit/world"
)

// stuck reads blobs until its context ends, and loses its lock meanwhile.
type stuck struct{ *mem.Store }

func (s stuck) Walk(ctx context.Context, dir string, v blob.Visitor) error {
	if dir == world.Root+"/blobs" {
		<-ctx.Done()
		return ctx.Err()
	}
	return s.Store.Walk(ctx, dir, v)
}

func (stuck) Lock(context.Context, string) (blob.Lock, error) { return lostLock{}, nil }

type lostLock struct{}

func (lostLock) Beat(context.Context) error    { return blob.ErrLockLost }
func (lostLock) Release(context.Context) error { return nil }

func request() app.RunRequest {
	return app.RunRequest{
		Request: app.Request{
			Owners: func(context.Context) (refs.Set, error) { return refs.Set{}, nil },
			Policy: policy.Default(), Now: time.Now(),
		},
		Clock: time.Now,
	}
}

// TestWhyARunEnded: an error that only says that the context ended says why.
func TestWhyARunEnded(t *testing.T) {
	store := mem.New()
	world.New(world.Mem(store)).Image("a", world.Tag("v1"))
	t.Run("lock lost", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			if _, err := app.Run(t.Context(), stuck{store}, nil, request()); !errors.Is(err, blob.ErrLockLost) {
				t.Errorf("got %v, want %v", err, blob.ErrLockLost)
			}
		})
	})
	t.Run("context ended", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			asked := errors.New("somebody asked for it")
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(time.Second, func() { cancel(asked) })
			if _, err := app.Run(ctx, stuck{store}, nil, request()); !errors.Is(err, asked) {
				t.Errorf("got %v, want %v", err, asked)
			}
		})
	})
}
