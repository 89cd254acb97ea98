// Package host carries the steps of a host's plan out, one image at a time.
//
// It refuses to decide, to force, and to remove a name or an image that no
// step names. If the process is killed between two names, the image has fewer
// names, and the next pass finishes.
package host

import (
	"context"
	"errors"
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
	// Begin is told of each image right before its first name goes. Its error
	// ends the pass, and nothing of the image is touched.
	Begin func(Deletion) error
	// Done is told of each deletion at once.
	Done func(Deletion)
}

// Deletion is a step that is being done, or was.
type Deletion struct {
	retention.Step
	At time.Time // when it began
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
	done := Deletion{step, r.Clock()}
	deleted, err := r.remove(ctx, done)
	switch {
	case deleted:
		out.Deleted = append(out.Deleted, done)
		out.FreedBytes += step.Bytes
		out.Stopped = err
		r.Done(done)
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
