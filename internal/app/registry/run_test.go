package registry_test

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
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

// slow takes half an hour to delete a batch, unless its context ends, and keeps
// its lock for as long as it is told to.
type slow struct {
	*mem.Store
	begun   func()
	lasts   int   // beats of the lock
	after   error // what the next beats yield
	beats   atomic.Int64
	stopped bool
}

func (s *slow) Delete(ctx context.Context, paths []string) []error {
	s.begun()
	select {
	case <-ctx.Done():
		s.stopped = true
		return slices.Repeat([]error{ctx.Err()}, len(paths))
	case <-time.After(30 * time.Minute):
		return s.Store.Delete(ctx, paths)
	}
}

func (s *slow) Lock(context.Context, string) (blob.Lock, error) { return s, nil }
func (s *slow) Release(context.Context) error                   { return nil }

func (s *slow) Beat(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if int(s.beats.Add(1)) > s.lasts {
		return s.after
	}
	return nil
}

// A signal lets the batch in hand finish, and the lock is kept alive until it has;
// a lost lock stops it.
func TestLockOutlivesTheBatchInHand(t *testing.T) {
	asked := errors.New("somebody asked for it")
	for _, c := range []struct {
		reason  string
		lasts   int
		after   error
		want    error
		stopped bool
	}{
		{"the lock stays", 1 << 10, nil, asked, false},
		{"the lock is lost while the batch is in hand", 10, blob.ErrLockLost, blob.ErrLockLost, true},
		{"it can not be renewed, and others may take it over", 10, errors.New("no answer"), blob.ErrLockLost, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			store := mem.New()
			w := world.New(world.Mem(store), world.At(time.Now()))
			w.Image("a", world.Tag("v1"))
			w.OrphanBlob("orphan", world.Age(365*24*time.Hour))
			w.Upload("a", "old", time.Now().Add(-365*24*time.Hour), "data", world.Age(365*24*time.Hour))
			ctx, cancel := context.WithCancelCause(t.Context())
			s := &slow{Store: store, lasts: c.lasts, after: c.after, begun: func() { cancel(asked) }}
			_, err := app.Run(ctx, s, nil, request())
			if !errors.Is(err, c.want) || s.stopped != c.stopped {
				t.Errorf("%s: %v, want %v; the batch was stopped: %v", c.reason, err, c.want, s.stopped)
			}
			if beats := int(s.beats.Load()); !c.stopped && beats < 29 {
				t.Errorf("%s: %d beats in half an hour", c.reason, beats)
			}
		})
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
