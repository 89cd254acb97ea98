package host

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/ebb-io/ebb/internal/engine"
	"github.com/ebb-io/ebb/internal/image"
	"github.com/ebb-io/ebb/internal/retention"
)

// remove deletes an image, under all its names or not at all. Without an error
// it tells whether the image was there; with one, whether it is gone all the
// same.
func (r Run) remove(ctx context.Context, d Deletion) (deleted bool, err error) {
	step := d.Step
	before, err := r.inspect(ctx, step)
	if errors.Is(err, engine.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if err := r.Begin(d); err != nil {
		return false, err
	}
	err = r.untag(ctx, step, before)
	if err == nil {
		err = r.Engine.Remove(ctx, step.ID.String())
	}
	if errors.Is(err, engine.ErrNotFound) {
		if byID(before.Names) {
			return false, nil // another was faster
		}
		err = nil // it went with its names
	}
	return r.look(ctx, step, before, err)
}

// inspect is the image as it is now: the planned one, with no name that was not
// judged.
func (r Run) inspect(ctx context.Context, step retention.Step) (engine.Image, error) {
	now, err := r.Engine.Inspect(ctx, step.ID.String())
	if err != nil {
		return now, fmt.Errorf("image %s: %w", step.ID, err)
	}
	if now.ID != step.ID {
		return now, fmt.Errorf("image %s: %w: the engine answers with %s", step.ID, errMoved, now.ID)
	}
	for _, n := range now.Names {
		if !slices.Contains(step.Names, n) {
			return now, fmt.Errorf("image %s: %w: it has got the name %s", step.ID, errMoved, n)
		}
	}
	return now, nil
}

// untag removes names until the engine lets the image go by its ID. It looks at
// all names before each one: a name that is the image's then is no other's, and
// one may have taken others along.
func (r Run) untag(ctx context.Context, step retention.Step, now engine.Image) (err error) {
	var removed []image.Name
	for !byID(now.Names) {
		name := next(&now)
		if slices.Contains(removed, name) {
			return fmt.Errorf("image %s: %w: it has got the name %s again", step.ID, errMoved, name)
		}
		removed = append(removed, name)
		if err := r.Engine.Remove(ctx, name.String()); err != nil && !errors.Is(err, engine.ErrNotFound) {
			return fmt.Errorf("image %s: name %s: %w", step.ID, name, err)
		}
		now, err = r.inspect(ctx, step)
		if errors.Is(err, engine.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// byID tells whether the engine deletes an image of such names by its ID.
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

// next is the name to remove first: one that can be put back whole, if there is
// one, else a tag.
func next(now *engine.Image) image.Name {
	for _, wanted := range []func(image.Name) bool{
		func(n image.Name) bool { return n.Tag != "" && !takesDigests(now, n) },
		func(n image.Name) bool { return n.Tag != "" },
	} {
		if i := slices.IndexFunc(now.Names, wanted); i >= 0 {
			return now.Names[i]
		}
	}
	return now.Names[0]
}

// takesDigests tells whether digests go with a tag: those of its repository go
// with the last one.
func takesDigests(now *engine.Image, tag image.Name) bool {
	digests := false
	for _, n := range slices.Concat(now.Names, now.Digests) {
		switch {
		case n.Repository != tag.Repository || n == tag:
		case n.Tag != "":
			return false
		default:
			digests = true
		}
	}
	return digests
}

// look sees what became of an image. One that is still there gets its names
// back; failed is why it may be, nil if the engine said that it deleted it.
func (r Run) look(ctx context.Context, step retention.Step, before engine.Image, failed error) (gone bool, err error) {
	now, err := r.Engine.Inspect(ctx, step.ID.String())
	switch {
	case errors.Is(err, engine.ErrNotFound):
		return true, failed // where it failed, only the answer was lost
	case err != nil && failed == nil:
		return true, fmt.Errorf("image %s: deleted, and then not looked after: %w", step.ID, err)
	case err != nil:
		return false, errors.Join(failed, fmt.Errorf("%w: of image %s any may be gone: %w", errLost, step.ID, err))
	case failed == nil:
		failed = fmt.Errorf("image %s: %w: it is still there, although the engine said that it was deleted", step.ID, engine.ErrConflict)
	}
	return false, errors.Join(failed, r.restore(ctx, before, now))
}

// restore puts back the names that an image had before and nothing has now: also
// a call that failed may have done its work. An engine can not be asked to give
// a name only if it is free, so each is looked for right before.
func (r Run) restore(ctx context.Context, before, now engine.Image) (err error) {
	had := slices.Concat(before.Names, before.Digests) // digests last: they may come back with a tag
	has := slices.Concat(now.Names, now.Digests)
	for i, n := range had {
		if !slices.Contains(has, n) && !slices.Contains(had[:i], n) {
			err = errors.Join(err, r.putBack(ctx, before.ID, n))
		}
	}
	return err
}

func (r Run) putBack(ctx context.Context, id image.Digest, n image.Name) error {
	_, err := r.Engine.Inspect(ctx, n.String())
	switch {
	case err == nil: // it is there, or another image has it
		return nil
	case !errors.Is(err, engine.ErrNotFound):
		return fmt.Errorf("%w: %s of image %s may be gone: %w", errLost, n, id, err)
	case n.Digested:
		return fmt.Errorf("%w: %s of image %s can not be put back", errLost, n, id)
	}
	if err = r.Engine.Tag(ctx, id, n); err == nil || errors.Is(err, engine.ErrNotFound) { // the image itself is gone
		return nil
	}
	return fmt.Errorf("%w: %s of image %s: %w", errLost, n, id, err)
}
