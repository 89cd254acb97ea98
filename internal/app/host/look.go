package host

import (
	"context"
	"fmt"

	"github.com/ebb-io/ebb/internal/engine"
	"github.com/ebb-io/ebb/internal/journal"
	"github.com/ebb-io/ebb/internal/store/docker"
	"github.com/ebb-io/ebb/internal/store/state"
)

// look sees what the engine holds and writes it down; binding pins as well.
func look(ctx context.Context, e *docker.Engine, s *state.Dir, req Request, binding bool) (*Pass, error) {
	snapshot, err := e.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	history := explained(ctx, e, snapshot, req)
	pass, seen := &Pass{Snapshot: snapshot}, false
	var failed error // the pass's own, which is no fault of the journal
	observe := func(before journal.Record) (after journal.Record, err error) {
		seen = true
		after, failed = pass.observe(ctx, before, history, req, binding)
		return after, failed
	}
	lost, forgot := s.Update(ctx, snapshot.Engine.Key(), observe)
	if !seen { // the journal could not even be read
		_, _ = observe(journal.Record{})
	}
	if failed != nil {
		return nil, failed
	}
	pass.Lost, pass.Forgot = lost, forgot
	return pass, nil
}

// explained is what happened lately, where that may explain why there is nothing.
func explained(ctx context.Context, e *docker.Engine, s *engine.Snapshot, req Request) []engine.Event {
	if len(s.Images) > 0 && len(s.Containers) > 0 {
		return nil
	}
	events, _, err := e.History(ctx, req.Clock().Add(-journal.Believed))
	if err != nil {
		return nil // then nothing explains it
	}
	return events
}

// observe adds what is seen to what is remembered, and returns what to write
// down of it.
func (p *Pass) observe(ctx context.Context, before journal.Record, history []engine.Event, req Request, binding bool) (journal.Record, error) {
	now := req.Clock()
	p.Before = before
	if err := before.Plausible(p.Snapshot, history, now); err != nil {
		return before, fmt.Errorf("%w: %w", ErrImplausible, err)
	}
	var err error
	if p.Pins, err = req.Pins(ctx, p.Snapshot, &before); err != nil {
		return before, fmt.Errorf("%w: %w", ErrPins, err)
	}
	seen := before.Observe(p.Snapshot, p.Pins.Stacks, now)
	p.Record = seen.Pinned(p.Snapshot, p.Pins.Pins, now)
	if binding {
		return p.Record, nil
	}
	return seen, nil
}
