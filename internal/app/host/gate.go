package host

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ebb-io/ebb/internal/engine"
	execute "github.com/ebb-io/ebb/internal/execute/host"
	"github.com/ebb-io/ebb/internal/retention"
	"github.com/ebb-io/ebb/internal/store/docker"
)

// gate is shut while images come or change: a pass would judge what is already
// past.
type gate struct {
	engine  *docker.Engine
	changes *docker.Changes
	// again is what a new look would delete.
	again func(context.Context) (retention.Named, error)

	unseen  error           // why pulls under way can't be seen
	created int             // containers that the last look has seen
	named   retention.Named // what it would delete; nil: there was none
}

// pulls is an error that wraps ErrBusy while an image is being pulled, as far
// as the engine shows that.
func (g *gate) pulls(ctx context.Context) error {
	pulls, err := g.engine.Pulls(ctx)
	if g.unseen = nil; errors.Is(err, docker.ErrUnseen) {
		g.unseen = err
		return nil
	}
	if err != nil {
		return err
	}
	if len(pulls) > 0 {
		return fmt.Errorf("%w: an image is being pulled since %s", ErrBusy, pulls[0].Began.Format(time.TimeOnly))
	}
	return nil
}

// quiet is an error that wraps ErrBusy when an image changed not long before
// the pass, or the engine can not tell.
func (g *gate) quiet(ctx context.Context, span time.Duration, pass *Pass, now time.Time) error {
	if span == 0 {
		return nil
	}
	events, complete, err := g.engine.History(ctx, now.Add(-span))
	if err != nil {
		return err
	}
	for _, event := range slices.Backward(events) { // the last one counts
		if event.Brings() && !pass.unchanged(event) {
			return notYet(event, span)
		}
	}
	if !complete {
		return fmt.Errorf("%w: the engine does not remember all of the last %s", ErrBusy, span)
	}
	return nil
}

// notYet says what the engine was busy with, and from when on it was not for long
// enough.
func notYet(last engine.Event, span time.Duration) error {
	const layout = "2006-01-02 15:04:05 UTC"
	at := last.At.UTC()
	return fmt.Errorf("%w until %s (%s): not quiet for long enough before %s", ErrBusy, at.Format(layout), told(last), at.Add(span).Format(layout))
}

// unchanged tells whether an event's name is the image that it was before: a
// pull that found nothing new.
func (p *Pass) unchanged(event engine.Event) bool {
	if event.Name.Tag == "" {
		return false
	}
	for i := range p.Snapshot.Images {
		img := &p.Snapshot.Images[i]
		seen, was := p.Before.Images[img.ID].Names[event.Name.String()]
		if was && seen.Before(event.At) && slices.Contains(img.Names, event.Name) {
			return true
		}
	}
	return false
}

// still tells whether a step may be done: nothing came into its repository,
// nothing is being built, and no new container needs it.
func (g *gate) still(ctx context.Context, step retention.Step) error {
	created := 0
	for _, event := range g.changes.Events() {
		switch {
		case event.Type == engine.OfContainer:
			created++
		case event.Brings() && touches(event, step):
			return fmt.Errorf("%w: %s came in between", execute.ErrSkip, told(event))
		}
	}
	if err := g.changes.Err(); err != nil { // after the events: what was missed is none of them
		return err
	}
	return g.needed(ctx, step, created)
}

// told is an event in words. An image may have come without a name.
func told(event engine.Event) string {
	if event.Name.Repository == "" {
		return event.Action + " of an image without a name"
	}
	return event.Action + " " + event.Name.Familiar()
}

// touches tells whether an event is about a step's repository, or may be.
func touches(event engine.Event, step retention.Step) bool {
	return event.Name.Repository == "" || event.Name.Repository == step.Repository || event.ID == step.ID.String()
}

// needed looks at everything anew when containers came or went.
func (g *gate) needed(ctx context.Context, step retention.Step, created int) error {
	if created > g.created {
		named, err := g.again(ctx)
		if err != nil {
			return err
		}
		g.created, g.named = created, named
	}
	if _, goes := g.named[step.ID]; g.named != nil && !goes {
		return fmt.Errorf("%w: a container came in between, and now it is kept", execute.ErrSkip)
	}
	return nil
}
