package host

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	execute "github.com/ebb-io/ebb/internal/execute/host"
	"github.com/ebb-io/ebb/internal/journal"
	"github.com/ebb-io/ebb/internal/pin"
	"github.com/ebb-io/ebb/internal/retention"
	"github.com/ebb-io/ebb/internal/store/docker"
	"github.com/ebb-io/ebb/internal/store/state"
)

// RunRequest is what a run needs beside that.
type RunRequest struct {
	Request
	// Approve is shown the pass before anything is deleted; false ends the run
	// without an error. Nil approves.
	Approve func(*Pass) (bool, error)
	// Named is what a stored plan deletes; nil without one.
	Named retention.Named
	// QuietFor is how long before the run no image may have changed, as far as
	// the engine remembers. Zero asks nothing.
	QuietFor time.Duration
}

// Result is what a run did.
type Result struct {
	*Pass
	Approved bool // false: the person said no, and nothing was touched
	Outcome  execute.Outcome
	// MeasuredFreedBytes is how much more room the engine's file system has,
	// meaningful when Measured.
	MeasuredFreedBytes    int64
	Measured              bool
	StartedAt, FinishedAt time.Time
}

// Run plans and deletes, alone on its engine. A result comes with every error
// that left something to tell; the plan in it is then what would have been done.
func Run(ctx context.Context, e *docker.Engine, s *state.Dir, req RunRequest) (result *Result, err error) {
	release, err := s.Lock(e.Engine().ID)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, release()) }()
	changes, err := e.Subscribe(ctx) // before anything is read
	if err != nil {
		return nil, err
	}
	defer changes.Close()
	r := &run{RunRequest: req, engine: e, state: s}
	r.gate = gate{engine: e, changes: changes, again: r.again}
	return r.run(ctx)
}

type run struct {
	RunRequest
	engine *docker.Engine
	state  *state.Dir
	gate   gate
	done   []journal.Deletion // that are not written down yet
	result *Result
}

func (r *run) run(ctx context.Context) (*Result, error) {
	r.result = &Result{StartedAt: r.Clock()}
	pass, err := r.plan(ctx, r.Named, r.Approve == nil)
	if pass == nil {
		return nil, err
	}
	r.result.Pass = pass
	if err == nil {
		err = r.gate.quiet(ctx, r.QuietFor, pass, r.result.StartedAt)
	}
	if err == nil {
		err = r.approve(ctx)
	}
	if err != nil || !r.result.Approved {
		return r.finish(), err
	}
	return r.delete(ctx)
}

// plan makes the plan, or as much of it as an earlier one names, while nothing is
// being pulled, and refuses what may not be carried out. Binding pins are
// remembered, unless the plan is stale.
func (r *run) plan(ctx context.Context, named retention.Named, binding bool) (*Pass, error) {
	if err := r.gate.pulls(ctx); err != nil {
		return nil, err
	}
	pass, err := check(ctx, r.engine, r.state, r.Request)
	if err != nil {
		return nil, err
	}
	pass.Unseen = r.gate.unseen
	if named != nil {
		if stale := pass.Plan.Stale(named); len(stale) > 0 {
			return pass, r.staleError(stale)
		}
		pass.Plan = pass.Plan.Restrict(named)
	}
	if binding && pass.Forgot == nil {
		pass.Forgot = r.bind(pass)
	}
	r.engine.Identify(ctx, pass.Plan.Deletes())
	return pass, r.admit(pass)
}

// bind writes down that the pins are the host's. Nobody else deletes meanwhile, so
// what was begun and is still there came to nothing.
func (r *run) bind(pass *Pass) error {
	_, err := r.state.Update(context.Background(), pass.Snapshot.Engine.Key(), func(record journal.Record) (journal.Record, error) {
		return record.Dropped().Pinned(pass.Snapshot, pass.Pins.Pins), nil
	})
	return err
}

func (r *run) staleError(stale []string) error {
	more := ""
	if n := len(stale) - 1; n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	if r.Named == nil {
		return fmt.Errorf("%w: what was shown is kept by now, or has moved: %s%s; run again", ErrBusy, stale[0], more)
	}
	return fmt.Errorf("%w: what it would delete is kept by now, or has moved: %s%s; check again", ErrStale, stale[0], more)
}

func (r *run) admit(pass *Pass) error {
	switch {
	case pass.Forgot != nil:
		return fmt.Errorf("what is deleted must be written down: %w", pass.Forgot)
	case !claims(pass.Pins):
		return ErrNoPins
	case len(pass.Plan.Exceeded) > 0 && !r.Policy.Confirmed:
		return fmt.Errorf("%w: %s", ErrLimit, pass.Plan.Exceeded[0].Text("deleted"))
	}
	return nil
}

// claims tells whether any repository is pinned.
func claims(pins pin.Set) bool {
	for _, p := range pins.Pins {
		if !p.Passive {
			return true
		}
	}
	return false
}

// approve asks, and then looks again: a person thinks for minutes.
func (r *run) approve(ctx context.Context) (err error) {
	if r.Approve == nil {
		r.result.Approved = true
		return nil
	}
	if r.result.Approved, err = r.Approve(r.result.Pass); err != nil || !r.result.Approved {
		return err
	}
	again, err := r.plan(ctx, r.result.Plan.Names(), true)
	if again != nil {
		r.result.Pass = again
	}
	return err
}

func (r *run) delete(ctx context.Context) (*Result, error) {
	before, known := r.engine.Free(ctx)
	r.result.Outcome = execute.Run{
		Engine: r.engine, Still: r.gate.still, Clock: r.Clock, Begin: r.begin,
		Done: func(d execute.Deletion) {
			entry := r.entry(d)
			entry.Ended = r.Clock()
			r.done = append(r.done, entry)
		},
	}.Do(ctx, r.result.Plan.Steps())
	after, still := r.engine.Free(context.WithoutCancel(ctx))
	if r.result.Measured = known && still; r.result.Measured {
		r.result.MeasuredFreedBytes = after - before
	}
	return r.finish(), errors.Join(r.result.Outcome.Stopped, r.remember())
}

func (r *run) finish() *Result {
	r.result.FinishedAt = r.Clock()
	return r.result
}

// again is what a new look would delete.
func (r *run) again(ctx context.Context) (retention.Named, error) {
	pass, err := check(ctx, r.engine, r.state, r.Request)
	if err == nil {
		err = pass.Forgot
	}
	if err != nil {
		return nil, err
	}
	return pass.Plan.Names(), nil
}

// begin writes down that an image is about to go, so that its deletion is known
// even if this process ends amid it, and with it what went before.
func (r *run) begin(d execute.Deletion) error {
	entry := r.entry(d)
	err := r.write(func(record journal.Record) journal.Record { return deleted(record, r.done).Begin(entry) })
	if err == nil {
		r.done = nil
	}
	return err
}

func deleted(record journal.Record, done []journal.Deletion) journal.Record {
	for _, d := range done {
		record = record.Deleted(d)
	}
	return record
}

func (r *run) entry(d execute.Deletion) journal.Deletion {
	entry := journal.Deletion{At: d.At, ID: d.ID, Repository: d.Repository, InDoubt: d.InDoubt, Bytes: d.Bytes}
	for _, n := range d.Names {
		entry.Names = append(entry.Names, n.String())
	}
	for _, n := range d.Digests {
		entry.Digests = append(entry.Digests, n.String())
	}
	for _, decision := range r.result.Plan.Decisions {
		if decision.Image.ID == d.ID {
			for _, why := range decision.Reasons {
				entry.Reasons = append(entry.Reasons, string(why.Code))
			}
			entry.Detail = decision.Reasons[0].Detail
		}
	}
	return entry
}

// remember writes down what is not yet. What the engine refused is not asked for
// again too soon. Of an image that failed it is not known what became of it: the
// next look tells.
func (r *run) remember() error {
	out, now := &r.result.Outcome, r.Clock()
	if len(out.Deleted)+len(out.Refused)+len(out.Moved)+len(out.Gone)+len(out.Failed) == 0 {
		return nil
	}
	return r.write(func(record journal.Record) journal.Record {
		record = deleted(record, r.done)
		if p := record.Pending; p != nil && !slices.ContainsFunc(out.Failed, func(f execute.Failure) bool { return f.ID == p.ID }) {
			record = record.Dropped()
		}
		for _, left := range out.Refused {
			record = record.Refuse(left.ID, left.Why.Error(), now)
		}
		return record
	})
}

// write is not stopped by a signal: the image in hand is finished.
func (r *run) write(change func(journal.Record) journal.Record) error {
	_, err := r.state.Update(context.Background(), r.result.Snapshot.Engine.Key(),
		func(record journal.Record) (journal.Record, error) { return change(record), nil })
	return err
}
