package host

import (
	"context"
	"fmt"

	"github.com/ebb-io/ebb/internal/journal"
	"github.com/ebb-io/ebb/internal/store/docker"
	"github.com/ebb-io/ebb/internal/store/state"
)

// look sees what the engine holds and writes it down.
func look(ctx context.Context, e *docker.Engine, s *state.Dir, req Request) (*Pass, error) {
	snapshot, err := e.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	l := &looker{Request: req, ctx: ctx, pass: &Pass{Snapshot: snapshot}}
	lost, failed := s.Update(ctx, snapshot.Engine.Key(), l.observe)
	switch {
	case l.err != nil:
		return nil, l.err
	case !l.seen:
		if _, err := l.observe(journal.Record{}); err != nil { // the journal could not even be read
			return nil, err
		}
	}
	l.pass.Lost, l.pass.Forgot = lost, failed
	return l.pass, nil
}

type looker struct {
	Request
	ctx  context.Context //nolint:containedctx // it lives as long as one call
	pass *Pass
	seen bool
	err  error // the pass's own, which is no fault of the journal
}

// observe adds what is seen to what is remembered.
func (l *looker) observe(before journal.Record) (journal.Record, error) {
	l.seen = true
	now := l.Clock()
	l.pass.Before = before
	if err := before.Plausible(l.pass.Snapshot, now); err != nil {
		l.err = fmt.Errorf("%w: %w", ErrImplausible, err)
		return before, l.err
	}
	if l.pass.Pins, l.err = l.Pins(l.ctx, l.pass.Snapshot, &before); l.err != nil {
		l.err = fmt.Errorf("%w: %w", ErrPins, l.err)
		return before, l.err
	}
	l.pass.Record = before.Observe(l.pass.Snapshot, l.pass.Pins, now)
	return l.pass.Record, nil
}
