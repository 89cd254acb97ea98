package journal

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/ebb-io/ebb/internal/engine"
	"github.com/ebb-io/ebb/internal/image"
	"github.com/ebb-io/ebb/internal/pin"
)

// How long is remembered what nobody names any more.
const (
	forgetStack = 30 * 24 * time.Hour  // compose files
	forgetPin   = 400 * 24 * time.Hour // a pin
)

// Observe is the record after s was seen with pins; r stays as it was. An image
// that is gone is forgotten, so that one that comes back is new.
func (r Record) Observe(s *engine.Snapshot, pins pin.Set, now time.Time) Record {
	now = now.UTC()
	next := Record{
		Since: r.Since, Seen: now, NumImages: len(s.Images), NumContainers: len(s.Containers),
		Images: map[image.Digest]Image{}, Pins: map[string]Pin{}, Stacks: map[string]Stack{},
		Refused: map[image.Digest]Refusal{}, Deletions: r.Deletions,
	}
	if !believable(next.Since, now) {
		next.Since = now
	}
	for i := range s.Images {
		id := s.Images[i].ID
		next.Images[id] = r.Images[id].seen(&s.Images[i], now)
		if refusal, ok := r.Refused[id]; ok {
			next.Refused[id] = refusal
		}
	}
	next.used(s, pins, now)
	next.pinned(r.Pins, s, pins, now)
	next.composed(r.Stacks, s, pins, now)
	return next
}

func (i Image) seen(of *engine.Image, now time.Time) Image {
	if !believable(i.FirstSeen, now) {
		i.FirstSeen = now
	}
	i.LastSeen = now
	i.Names = maps.Clone(i.Names)
	if i.Names == nil {
		i.Names = map[string]time.Time{}
	}
	for _, n := range of.Names {
		if n.Tagged() {
			i.Names[n.String()] = now
		}
	}
	return i
}

// used notes what somebody needs or pins.
func (r *Record) used(s *engine.Snapshot, pins pin.Set, now time.Time) {
	uses := r.Uses(s)
	for i := range s.Images {
		img := &s.Images[i]
		pinned := slices.ContainsFunc(pins.Pins, func(p pin.Pin) bool { return img.Bears(p.Name) })
		if pinned || uses.Needed(img.ID) {
			seen := r.Images[img.ID]
			seen.LastUsed = later(seen.LastUsed, now)
			r.Images[img.ID] = seen
		}
	}
}

// believable tells whether a clock that was right can have said a time: none
// that is to come, and none from before there was Ebb, as machines without a
// battery say that have just begun.
func believable(t, now time.Time) bool {
	return !t.After(now) && t.Year() >= 2025
}

// later keeps a time of need where the clock went back.
func later(t, now time.Time) time.Time {
	if t.After(now) {
		return t
	}
	return now
}

// pinned notes the pins, with the images that they are now.
func (r *Record) pinned(before map[string]Pin, s *engine.Snapshot, pins pin.Set, now time.Time) {
	for name, p := range before {
		if now.Sub(p.Last) < forgetPin {
			r.Pins[name] = Pin{First: p.First, Last: p.Last, Images: r.present(p.Images)}
		}
	}
	for _, p := range pins.Pins {
		name := p.String()
		was := r.Pins[name]
		if was.Images == nil {
			was = Pin{First: now, Images: map[image.Digest]time.Time{}}
		}
		was.Last = later(was.Last, now)
		for i := range s.Images {
			if s.Images[i].Bears(p.Name) {
				was.Images[s.Images[i].ID] = now
			}
		}
		r.Pins[name] = was
	}
}

// present are those of the images that are still there.
func (r *Record) present(images map[image.Digest]time.Time) map[image.Digest]time.Time {
	left := map[image.Digest]time.Time{}
	for id, at := range images {
		if _, there := r.Images[id]; there {
			left[id] = at
		}
	}
	return left
}

// composed notes the stacks whose files containers name, with the images that
// these name now where they could be read.
func (r *Record) composed(before map[string]Stack, s *engine.Snapshot, pins pin.Set, now time.Time) {
	for key, stack := range before {
		if now.Sub(stack.LastSeen) < forgetStack {
			r.Stacks[key] = stack
		}
	}
	for i := range s.Containers {
		if compose := s.Containers[i].Compose; len(compose.Files) > 0 {
			key := compose.Key()
			was := r.Stacks[key]
			r.Stacks[key] = Stack{Compose: compose, LastSeen: later(was.LastSeen, now), Images: was.Images}
		}
	}
	for _, read := range pins.Stacks {
		if stack, ok := r.Stacks[read.Key]; ok {
			stack.Images = read.Images
			r.Stacks[read.Key] = stack
		}
	}
}

// believed is how long an engine that shows nothing where it had something is
// not believed: it may not have read its own data yet.
const believed = 15 * time.Minute

// Plausible is an error when the clock can not be right, or when the engine
// shows no image or no container although it had some a moment ago. A snapshot
// that is not plausible is not observed, so that it is believed when the moment
// is over. A last look from over a day ahead was by a clock that was wrong.
func (r *Record) Plausible(s *engine.Snapshot, now time.Time) error {
	if !believable(now, now) {
		return fmt.Errorf("the clock says %s, which can not be: how old anything is can not be told", now.UTC().Format(time.DateOnly))
	}
	until := r.Seen.Add(believed)
	if !now.Before(until) || !believable(r.Seen, now.Add(24*time.Hour)) {
		return nil
	}
	for _, kind := range []struct {
		what     string
		had, has int
	}{
		{"image", r.NumImages, len(s.Images)}, {"container", r.NumContainers, len(s.Containers)},
	} {
		if kind.had > 0 && kind.has == 0 {
			return fmt.Errorf("the engine shows no %s although it had %d at %s: if that is right, it is believed at %s",
				kind.what, kind.had, r.Seen.Format(time.TimeOnly), until.Format(time.TimeOnly))
		}
	}
	return nil
}

// Refuse is the record after the engine refused to delete id: it is tried
// again after an hour, then after twice as long, up to a week.
func (r Record) Refuse(id image.Digest, why string, now time.Time) Record {
	refused := maps.Clone(r.Refused)
	if refused == nil {
		refused = map[image.Digest]Refusal{}
	}
	was := refused[id]
	wait := min(time.Hour<<min(was.Times, 10), 7*24*time.Hour)
	refused[id] = Refusal{Times: was.Times + 1, Last: now, Until: now.Add(wait), Why: why}
	r.Refused = refused
	return r
}

// maxDeletions bounds the history.
const maxDeletions = 10_000

// Deleted is the record after a deletion. The last 10,000 are remembered.
func (r Record) Deleted(d Deletion) Record {
	all := append(slices.Clone(r.Deletions), d)
	r.Deletions = all[max(0, len(all)-maxDeletions):]
	return r
}
