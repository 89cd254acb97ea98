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

// look sees what the engine holds and writes it down; binding pins as well. The
// journal is not held while pins are read: files may be slow.
func look(ctx context.Context, e *docker.Engine, s *state.Dir, req Request, binding bool) (*Pass, error) {
	snapshot, err := e.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	key := snapshot.Engine.Key()
	before, _, _ := s.Load(key) // why it can not be read Update says
	now := req.Clock()
	history, err := recent(ctx, e, before.Seen, req.Policy.UnusedFor, now)
	if err != nil {
		return nil, err
	}
	if err := before.Plausible(snapshot, history, now); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrImplausible, err)
	}
	pass := &Pass{Snapshot: snapshot, Before: before}
	if pass.Pins, err = req.Pins(ctx, snapshot, &before); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrPins, err)
	}
	pass.Lost, pass.Forgot = s.Update(ctx, key, func(r journal.Record) (journal.Record, error) {
		return pass.observe(r, history, now, binding), nil
	})
	if pass.Record.Seen.IsZero() { // the journal could not even be read
		pass.observe(before, history, now, binding)
	}
	return pass, nil
}

// recent is what happened since the last look, as far as it can matter.
func recent(ctx context.Context, e *docker.Engine, seen time.Time, unusedFor time.Duration, now time.Time) ([]engine.Event, error) {
	since := now.Add(-max(unusedFor, journal.Believed))
	if seen.After(since) && seen.Before(now) {
		since = seen
	}
	events, _, err := e.History(ctx, since)
	return events, err
}

// observe adds what was seen to what is remembered, and returns what to write
// down of it.
func (p *Pass) observe(before journal.Record, history []engine.Event, now time.Time, binding bool) journal.Record {
	seen := before.Observe(p.Snapshot, history, p.Pins.Stacks, now)
	p.Record = seen.Pinned(p.Snapshot, p.Pins.Pins)
	if binding {
		return p.Record
	}
	return seen
}
