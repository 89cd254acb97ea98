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
	ErrSkip  = errors.New("its repository is left for this pass")
	errMoved = errors.New("it has moved")
	errLost  = errors.New("a name is lost")
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
	// Done is told of each deletion at once. Its error ends the pass.
	Done func(Deletion) error
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
	Failed     []Failure        // and what is wrong stands in them
	Stopped    error            // why the pass ended early
	FreedBytes int64            // an estimate
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
	deleted, err := r.remove(ctx, step)
	switch {
	case deleted:
		done := Deletion{step, r.Clock()}
		out.Deleted = append(out.Deleted, done)
		out.FreedBytes += step.Bytes
		out.Stopped = errors.Join(err, r.Done(done))
	case err == nil:
		out.Gone = append(out.Gone, step)
	case errors.Is(err, errLost): // whatever else it is
		out.Failed = append(out.Failed, Failure{step, err})
		out.Stopped = err
	case errors.Is(err, errMoved):
		out.Moved = append(out.Moved, Failure{step, err})
	case errors.Is(err, engine.ErrConflict):
		out.Refused = append(out.Refused, Failure{step, err})
	default:
		out.Failed = append(out.Failed, Failure{step, err})
		out.Stopped = err
	}
}

// remove deletes an image, under all its names or not at all. Without an error
// it tells whether the image was there; with one, whether it is gone all the
// same.
func (r Run) remove(ctx context.Context, step retention.Step) (deleted bool, err error) {
	id := step.ID.String()
	seen, err := r.Engine.Inspect(ctx, id)
	if errors.Is(err, engine.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("image %s: %w", id, err)
	}
	if err := same(step, &seen); err != nil {
		return false, err
	}
	if err := r.untag(ctx, step.ID, seen.Names); err != nil {
		return false, errors.Join(err, r.restore(ctx, step.ID, seen.Names))
	}
	err = r.Engine.Remove(ctx, id)
	switch {
	case errors.Is(err, engine.ErrNotFound):
		return false, nil
	case err != nil:
		err = fmt.Errorf("image %s: %w", id, err)
		if _, looked := r.Engine.Inspect(ctx, id); errors.Is(looked, engine.ErrNotFound) {
			return true, err // only the answer was lost
		}
		return false, errors.Join(err, r.restore(ctx, step.ID, seen.Names))
	}
	return r.verify(ctx, step.ID, seen.Names)
}

// verify looks whether an image has gone: an engine may only have taken its
// names.
func (r Run) verify(ctx context.Context, id image.Digest, names []image.Name) (gone bool, err error) {
	_, err = r.Engine.Inspect(ctx, id.String())
	switch {
	case errors.Is(err, engine.ErrNotFound):
		return true, nil
	case err != nil:
		return true, fmt.Errorf("image %s: deleted, and then not looked after: %w", id, err)
	}
	err = fmt.Errorf("image %s: %w: it is still there, although the engine said that it was deleted", id, engine.ErrConflict)
	return false, errors.Join(err, r.restore(ctx, id, names))
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
func (r Run) untag(ctx context.Context, id image.Digest, names []image.Name) error {
	left := slices.SortedStableFunc(slices.Values(names), func(a, b image.Name) int { return digestsLast(a) - digestsLast(b) })
	for ; !byID(left); left = left[1:] {
		name := left[0].String()
		now, err := r.Engine.Inspect(ctx, name)
		switch {
		case errors.Is(err, engine.ErrNotFound): // it is gone already
			continue
		case err != nil:
			return fmt.Errorf("image %s: name %s: %w", id, name, err)
		case now.ID != id:
			return fmt.Errorf("image %s: %w: %s is %s now", id, errMoved, name, now.ID)
		}
		if err := r.Engine.Remove(ctx, name); err != nil && !errors.Is(err, engine.ErrNotFound) {
			return fmt.Errorf("image %s: name %s: %w", id, name, err)
		}
	}
	return nil
}

func digestsLast(n image.Name) int {
	if n.Digested {
		return 1
	}
	return 0
}

// restore puts back every name that the image had and nothing has now: a call
// that failed may have done its work.
func (r Run) restore(ctx context.Context, id image.Digest, names []image.Name) (err error) {
	for _, n := range names {
		_, looked := r.Engine.Inspect(ctx, n.String())
		switch {
		case looked == nil: // it is there, or another image has it
		case !errors.Is(looked, engine.ErrNotFound):
			err = errors.Join(err, fmt.Errorf("%w: %s of image %s may be gone: %w", errLost, n, id, looked))
		case n.Digested:
			err = errors.Join(err, fmt.Errorf("%w: %s of image %s can not be put back", errLost, n, id))
		default:
			if failed := r.Engine.Tag(ctx, id, n); failed != nil && !errors.Is(failed, engine.ErrNotFound) { // else the image itself is gone
				err = errors.Join(err, fmt.Errorf("%w: %s of image %s: %w", errLost, n, id, failed))
			}
		}
	}
	return err
}
