// Package host carries the steps of a host's plan out, one image at a time.
//
// It refuses to decide, to force, and to remove a name or an image that no
// step names. If the process is killed between two names, the image has fewer
// names, and the next pass finishes.
package host

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ebb-io/ebb/internal/engine"
	"github.com/ebb-io/ebb/internal/image"
	"github.com/ebb-io/ebb/internal/retention"
)

// What is branched on.
var (
	// ErrSkip ends the work on one repository for this pass.
	ErrSkip  = errors.New("repository skipped")
	errMoved = errors.New("moved")
)

// Engine is what steps are carried out on. Its errors wrap
// engine.ErrNotFound and engine.ErrConflict.
type Engine interface {
	Inspect(ctx context.Context, ref string) (engine.Image, error)
	Remove(ctx context.Context, ref string) error // never forced, no parents
	Tag(ctx context.Context, id image.Digest, name image.Name) error
}

// Run is how steps are carried out.
type Run struct {
	Engine Engine
	// Still is asked before each image: nil goes on, ErrSkip leaves the
	// repository alone, any other error ends the pass.
	Still func(context.Context, retention.Step) error
	Clock func() time.Time
	Done  func(Deletion) // is told of each deletion at once; may be nil
}

// Deletion is a step that was done.
type Deletion struct {
	retention.Step
	At time.Time
}

// Failure is a step that was not done, and why.
type Failure struct {
	retention.Step
	Why error
}

// Outcome is what became of the steps.
type Outcome struct {
	Deleted    []Deletion
	Gone       []retention.Step // were not there any more
	Refused    []Failure        // by the engine
	Moved      []Failure        // have become another image or got a name
	Skipped    []Failure        // their repository changed
	Failed     []Failure
	Stopped    error // why the pass ended early
	FreedBytes int64 // an estimate
}

// Do carries the steps out. The image in hand is finished when ctx ends.
func (r Run) Do(ctx context.Context, steps []retention.Step) Outcome {
	var out Outcome
	skipped := map[string]error{}
	for _, step := range steps {
		if out.Stopped = context.Cause(ctx); out.Stopped != nil {
			return out
		}
		if why := skipped[step.Repository]; why != nil {
			out.Skipped = append(out.Skipped, Failure{step, why})
			continue
		}
		err := r.Still(ctx, step)
		if errors.Is(err, ErrSkip) {
			skipped[step.Repository] = err
			out.Skipped = append(out.Skipped, Failure{step, err})
			continue
		}
		if out.Stopped = err; err != nil {
			return out
		}
		r.one(context.WithoutCancel(ctx), step, &out)
		if out.Stopped != nil {
			return out
		}
	}
	return out
}

func (r Run) one(ctx context.Context, step retention.Step, out *Outcome) {
	there, err := r.remove(ctx, step)
	switch {
	case err == nil && !there:
		out.Gone = append(out.Gone, step)
	case err == nil:
		done := Deletion{step, r.Clock()}
		out.Deleted = append(out.Deleted, done)
		out.FreedBytes += step.Bytes
		if r.Done != nil {
			r.Done(done)
		}
	case errors.Is(err, errMoved):
		out.Moved = append(out.Moved, Failure{step, err})
	case errors.Is(err, engine.ErrConflict):
		out.Refused = append(out.Refused, Failure{step, err})
	default:
		out.Failed = append(out.Failed, Failure{step, err})
		out.Stopped = err
	}
}

// remove tells whether the image was there.
func (r Run) remove(ctx context.Context, step retention.Step) (there bool, err error) {
	id := step.ID.String()
	seen, err := r.Engine.Inspect(ctx, id)
	if errors.Is(err, engine.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return true, fmt.Errorf("image %s: %w", id, err)
	}
	if err := same(step, &seen); err != nil {
		return true, err
	}
	var removed []image.Name
	if !byID(seen.Names) {
		removed, err = r.untag(ctx, step.ID, seen.Names)
	}
	if err == nil {
		err = r.last(ctx, id)
	}
	if err != nil {
		err = errors.Join(err, r.restore(ctx, step.ID, removed))
	}
	return true, err
}

// same is an error unless the image is the planned one with no new name.
func same(step retention.Step, seen *engine.Image) error {
	if seen.ID != step.ID {
		return fmt.Errorf("image %s: %w: the engine answers with %s", step.ID, errMoved, seen.ID)
	}
	for _, n := range seen.Names {
		if !slices.Contains(step.Names, n) {
			return fmt.Errorf("image %s: %w: it has got the name %s", step.ID, errMoved, n)
		}
	}
	return nil
}

// byID tells whether the engine deletes such an image by its ID.
func byID(names []image.Name) bool {
	tags := 0
	for _, n := range names {
		if n.Repository != names[0].Repository {
			return false
		}
		if n.Tag != "" {
			tags++
		}
	}
	return tags <= 1
}

// untag removes names until the ID can go. Those that can not be put back, the
// digests, are left to the end.
func (r Run) untag(ctx context.Context, id image.Digest, names []image.Name) (removed []image.Name, err error) {
	left := slices.Clone(names)
	slices.SortStableFunc(left, func(a, b image.Name) int {
		switch {
		case a.Digested == b.Digested:
			return 0
		case b.Digested:
			return -1
		}
		return 1
	})
	for !byID(left) {
		name := left[0]
		now, err := r.Engine.Inspect(ctx, name.String())
		switch {
		case errors.Is(err, engine.ErrNotFound): // it is gone already
		case err != nil:
			return removed, fmt.Errorf("image %s: name %s: %w", id, name, err)
		case now.ID != id:
			return removed, fmt.Errorf("image %s: %w: %s is %s now", id, errMoved, name, now.ID)
		default:
			// Put back even what failed: a lost answer may have done its work.
			removed = append(removed, name)
			if err := r.Engine.Remove(ctx, name.String()); err != nil && !errors.Is(err, engine.ErrNotFound) {
				return removed, fmt.Errorf("image %s: name %s: %w", id, name, err)
			}
		}
		left = left[1:]
	}
	return removed, nil
}

// last deletes by ID, and looks whether the image has gone.
func (r Run) last(ctx context.Context, id string) error {
	if err := r.Engine.Remove(ctx, id); err != nil && !errors.Is(err, engine.ErrNotFound) {
		return fmt.Errorf("image %s: %w", id, err)
	}
	_, err := r.Engine.Inspect(ctx, id)
	if errors.Is(err, engine.ErrNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("image %s: deleted, but not looked after: %w", id, err)
	}
	return fmt.Errorf("image %s: %w: it is still there although the engine said it was deleted", id, engine.ErrConflict)
}

// restore puts names back that nothing has taken since.
func (r Run) restore(ctx context.Context, id image.Digest, names []image.Name) (err error) {
	for _, n := range names {
		_, looked := r.Engine.Inspect(ctx, n.String())
		switch {
		case looked == nil: // it is there, or another image has it
		case !errors.Is(looked, engine.ErrNotFound):
			err = errors.Join(err, fmt.Errorf("image %s: its name %s may be lost: %w", id, n, looked))
		case n.Digested:
			err = errors.Join(err, fmt.Errorf("image %s: its name %s is lost and can not be put back", id, n))
		default:
			if failed := r.Engine.Tag(ctx, id, n); failed != nil {
				err = errors.Join(err, fmt.Errorf("image %s: its name %s is lost: %w", id, n, failed))
			}
		}
	}
	return err
}
