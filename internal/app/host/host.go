// Package host makes the calls of a pass over a Docker host in their order: look
// at the engine, read the pins, remember, plan, and for a run delete.
//
// It has no rules of its own, and refuses to print: shells show what it returns.
package host

import (
	"context"
	"errors"
	"time"

	"github.com/ebb-io/ebb/internal/engine"
	"github.com/ebb-io/ebb/internal/journal"
	"github.com/ebb-io/ebb/internal/pin"
	"github.com/ebb-io/ebb/internal/policy"
	"github.com/ebb-io/ebb/internal/retention"
	"github.com/ebb-io/ebb/internal/store/docker"
	"github.com/ebb-io/ebb/internal/store/state"
)

// What a pass can be refused for, beside docker.ErrIncomplete and state.ErrBusy.
var (
	// ErrPins says that the pins could not be read in full.
	ErrPins = errors.New("the pins could not be read")
	// ErrNoPins says that there is nothing to judge by.
	ErrNoPins = errors.New("nothing is pinned")
	// ErrImplausible says that an engine shows much less than it did.
	ErrImplausible = errors.New("implausible")
	// ErrBusy says that images are being pulled or changed, or were a moment ago.
	ErrBusy = errors.New("busy")
	// ErrStale says that a stored plan would delete what is now kept.
	ErrStale = errors.New("stale plan")
	// ErrLimit says that a plan is over a safety limit.
	ErrLimit = errors.New("over a safety limit")
)

// Request is what a pass needs beside the engine and the state.
type Request struct {
	// Pins reads the pins anew. It is told what the engine shows and what is
	// remembered.
	Pins   func(ctx context.Context, seen *engine.Snapshot, remembered *journal.Record) (pin.Set, error)
	Policy policy.Host
	// PlannedAt is the time of a stored plan; zero: now.
	PlannedAt time.Time
	Clock     func() time.Time
}

// Pass is a plan with what it was made from.
type Pass struct {
	Plan     *retention.Plan
	Snapshot *engine.Snapshot
	Pins     pin.Set
	Before   journal.Record // as it was remembered
	Record   journal.Record // with this pass
	// Lost is why nothing was remembered, although there was a journal; nil: it
	// was read, or there was none yet.
	Lost error
	// Forgot is why this pass will not be remembered; nil: it will.
	Forgot error
	// Unseen is why a run could not see pulls under way, which its engine would
	// show; nil: it could, or did not look.
	Unseen error
}

// Check looks, remembers what it saw and plans. It changes nothing but the
// journal; where that can not be written, it goes on with what it saw. Its pins
// are a question, and are not remembered.
func Check(ctx context.Context, e *docker.Engine, s *state.Dir, req Request) (*Pass, error) {
	pass, err := check(ctx, e, s, req)
	if err != nil {
		return nil, err
	}
	e.Identify(ctx, pass.Plan.Deletes()) // whether they can be pulled again
	return pass, nil
}

func check(ctx context.Context, e *docker.Engine, s *state.Dir, req Request) (*Pass, error) {
	pass, err := look(ctx, e, s, req)
	if err != nil {
		return nil, err
	}
	now := req.PlannedAt
	if now.IsZero() {
		now = req.Clock()
	}
	pass.Plan = retention.Build(retention.Input{
		Snapshot: pass.Snapshot, Pins: pass.Pins, Record: &pass.Record, Policy: req.Policy, Now: now,
	})
	return pass, nil
}
