package host

import (
	"context"
	"fmt"
	"time"

	"github.com/ebb-io/ebb/internal/engine"
	"github.com/ebb-io/ebb/internal/journal"
	"github.com/ebb-io/ebb/internal/store/docker"
	"github.com/ebb-io/ebb/internal/store/state"
)

// look sees what the engine holds and writes it down. The journal is not held
// meanwhile: an engine and files may be slow. One that can not be read is not
// written either, and Forgot says so: pins were read without what it remembers.
func look(ctx context.Context, e *docker.Engine, s *state.Dir, req Request) (*Pass, error) {
	began := req.Clock()
	snapshot, err := e.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	key := snapshot.Engine.Key()
	before, _, unread := s.Load(key) // what is lost Update tells
	history, err := recent(ctx, e, before.Seen, req.Policy.UnusedFor, began)
	if err != nil {
		return nil, err
	}
	if err := before.Plausible(snapshot, history, began); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrImplausible, err)
	}
	pass := &Pass{Snapshot: snapshot, Before: before}
	if pass.Pins, err = req.Pins(ctx, snapshot, &before); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrPins, err)
	}
	seen := before.Observe(snapshot, history, pass.Pins.Stacks, began)
	if pass.Forgot = unread; unread == nil {
		pass.Lost, pass.Forgot = s.Update(ctx, key, func(r journal.Record) (journal.Record, error) {
			seen = r.Observe(snapshot, history, pass.Pins.Stacks, began)
			return seen, nil
		})
	}
	pass.Record = seen.Pinned(snapshot, pass.Pins.Pins)
	return pass, nil
}

// recent is what happened since the last look, as far as it can matter.
func recent(ctx context.Context, e *docker.Engine, seen time.Time, unusedFor time.Duration, now time.Time) ([]engine.Event, error) {
	since := now.Add(-max(unusedFor, journal.Believed))
	if seen.After(since) && seen.Before(now) {
		since = seen
	}
	return e.Happened(ctx, since)
}
