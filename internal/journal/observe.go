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
	forgetStack = 30 * 24 * time.Hour  // compose files that can not be read
	forgetPin   = 400 * 24 * time.Hour // a pin
	longestLook = time.Hour            // what was seen later was seen by a clock that has gone back
)

// Observe is the record after s was seen, by a look that began at now, with what
// happened since the last look, and the stacks that were read; r stays as it was.
// An image that is gone is forgotten, so that one that comes back is new. What
// another wrote down meanwhile holds: an image that it saw later is remembered,
// and one that it deleted is not.
func (r Record) Observe(s *engine.Snapshot, history []engine.Event, read []pin.Stack, now time.Time) Record {
	began, now := now, r.stamp(now)
	next := Record{
		Since: r.Since, Seen: now, NumImages: len(s.Images), NumContainers: len(s.Containers),
		Images: map[image.Digest]Image{}, Pins: map[string]Pin{}, Stacks: map[string]Stack{},
		Refused: map[image.Digest]Refusal{}, Deletions: r.Deletions,
	}
	if !believable(next.Since, now) {
		next.Since = now
	}
	for id, img := range r.Images {
		if img.LastSeen.After(began) && img.LastSeen.Before(began.Add(longestLook)) {
			next.Images[id] = img
		}
	}
	gone, removed := r.deletedSince(began), removedIn(history)
	for i := range s.Images {
		id := s.Images[i].ID
		if gone[id] {
			continue
		}
		was := r.Images[id]
		if removed[id.String()] { // and then it came back
			was.FirstSeen = now
		}
		next.Images[id] = was.seen(&s.Images[i], now)
	}
	for id, refusal := range r.Refused {
		if _, here := next.Images[id]; here {
			next.Refused[id] = refusal
		}
	}
	next.used(s, history, now)
	next.settle(r.Pending)
	next.remain(r.Pins, now)
	next.composed(r.Stacks, s, read, now)
	return next
}

// deletedSince are the images whose deletion ended after a look began, so that it
// may have seen them still.
func (r *Record) deletedSince(began time.Time) map[image.Digest]bool {
	gone := map[image.Digest]bool{}
	for _, d := range r.Deletions {
		if !d.Ended.Before(began) {
			gone[d.ID] = true
		}
	}
	return gone
}

// removedIn are the IDs of images that were removed, by whomever.
func removedIn(history []engine.Event) map[string]bool {
	removed := map[string]bool{}
	for _, e := range history {
		if e.Type == engine.OfImage && e.Removes() {
			removed[e.ID] = true
		}
	}
	return removed
}

// stamp is the time to write down. By a clock that went back it is that of the
// last look, so that nothing gets older by it. A last look from over 400 days
// ahead was by a clock that was wrong.
func (r *Record) stamp(now time.Time) time.Time {
	if r.Seen.After(now) && r.Seen.Before(now.Add(forgetPin)) {
		return r.Seen
	}
	return now.UTC()
}

func (i Image) seen(of *engine.Image, now time.Time) Image {
	if !believable(i.FirstSeen, now) {
		i.FirstSeen = now
	}
	if i.LastUsed.After(now) {
		i.LastUsed = now
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

// used notes what somebody needs, and what a container was made from that came
// or went since the last look.
func (r *Record) used(s *engine.Snapshot, history []engine.Event, now time.Time) {
	for _, e := range history {
		if e.Type != engine.OfContainer {
			continue
		}
		ids, _ := s.Meant(e.From)
		for _, id := range ids {
			if e.At.Before(now) {
				r.use(id, e.At)
			} else {
				r.use(id, now)
			}
		}
	}
	uses := r.Uses(s)
	for i := range s.Images {
		if id := s.Images[i].ID; uses.Needed(id) {
			r.use(id, now)
		}
	}
}

func (r *Record) use(id image.Digest, at time.Time) {
	if seen, here := r.Images[id]; here && at.After(seen.LastUsed) {
		seen.LastUsed = at.UTC()
		r.Images[id] = seen
	}
}

// believable tells whether a clock that was right can have said a time: none
// that is to come, and none from before there was Ebb, as machines without a
// battery say that have just begun.
func believable(t, now time.Time) bool {
	return !t.After(now) && t.Year() >= 2025
}

// remain keeps former pins, with those of their images that are still there.
func (r *Record) remain(before map[string]Pin, now time.Time) {
	for name, p := range before {
		if now.Sub(p.Last) < forgetPin {
			r.Pins[name] = Pin{First: p.First, Last: p.Last, Images: r.present(p.Images)}
		}
	}
}

// Pinned is a record of s, as it was observed, after pins were the host's, with the images that they
// were then.
func (r Record) Pinned(s *engine.Snapshot, pins []pin.Pin) Record {
	now := r.Seen
	r.Images, r.Pins = maps.Clone(r.Images), maps.Clone(r.Pins)
	for _, p := range pins {
		name := p.String()
		was, known := r.Pins[name]
		if !known {
			was.First = now
		}
		was.Last, was.Images = now, maps.Clone(was.Images)
		if was.Images == nil {
			was.Images = map[image.Digest]time.Time{}
		}
		for i := range s.Images {
			if id := s.Images[i].ID; s.Images[i].Bears(p.Name) {
				was.Images[id] = now
				r.use(id, now)
			}
		}
		r.Pins[name] = was
	}
	return r
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

// composed notes the stacks whose files containers name or that could be read,
// with the images that they name now where they could be.
func (r *Record) composed(before map[string]Stack, s *engine.Snapshot, read []pin.Stack, now time.Time) {
	images := map[string][]string{}
	for _, stack := range read {
		images[stack.Key] = stack.Images
	}
	for key, stack := range before {
		if _, readable := images[key]; readable || now.Sub(stack.LastSeen) < forgetStack {
			r.Stacks[key] = stack
		}
	}
	for i := range s.Containers {
		if compose := s.Containers[i].Compose; len(compose.Files) > 0 {
			key := compose.Key()
			r.Stacks[key] = Stack{Compose: compose, LastSeen: now, Images: r.Stacks[key].Images}
		}
	}
	for key, stack := range r.Stacks {
		if named, readable := images[key]; readable {
			stack.LastSeen, stack.Images = now, named
			r.Stacks[key] = stack
		}
	}
}

// Believed is how long an engine that shows nothing where it had something is
// not believed: it may not have read its own data yet.
const Believed = 15 * time.Minute

// Plausible is an error when the clock can not be right, or when the engine
// shows no image or no container although it had some a moment ago and tells of
// fewer that went since. A snapshot that is not plausible is not observed, so
// that it is believed when the moment is over. A last look from over a day ahead
// was by a clock that was wrong.
func (r *Record) Plausible(s *engine.Snapshot, history []engine.Event, now time.Time) error {
	if !believable(now, now) {
		return fmt.Errorf("the clock says %s, which can not be: how old anything is can not be told", now.UTC().Format(time.DateOnly))
	}
	until := r.Seen.Add(Believed)
	if !now.Before(until) || !believable(r.Seen, now.Add(24*time.Hour)) {
		return nil
	}
	for _, kind := range []struct {
		what     string
		had, has int
	}{
		{engine.OfImage, r.NumImages, len(s.Images)}, {engine.OfContainer, r.NumContainers, len(s.Containers)},
	} {
		if kind.had > 0 && kind.has == 0 && r.went(kind.what, history) < kind.had {
			return fmt.Errorf("the engine shows no %s although it had %d at %s: if that is right, it is believed at %s",
				kind.what, kind.had, r.Seen.Format(time.TimeOnly), until.Format(time.TimeOnly))
		}
	}
	return nil
}

// went counts what the engine says was removed since the last look.
func (r *Record) went(kind string, history []engine.Event) int {
	gone := map[string]bool{}
	for _, e := range history {
		if e.Type == kind && e.Removes() && !e.At.Before(r.Seen) {
			gone[e.ID] = true
		}
	}
	return len(gone)
}

// Refuse is the record after the engine refused to delete id: it is tried
// again after an hour, then after twice as long, up to a week.
func (r Record) Refuse(id image.Digest, why string, now time.Time) Record {
	refused := maps.Clone(r.Refused)
	if refused == nil {
		refused = map[image.Digest]Refusal{}
	}
	times := max(refused[id].Times, 0)
	wait := min(time.Hour<<min(times, 10), 7*24*time.Hour)
	refused[id] = Refusal{Times: times + 1, Last: now, Until: now.Add(wait), Why: why}
	r.Refused = refused
	return r
}

// maxDeletions bounds the history.
const maxDeletions = 10_000

// Begin is the record right before a deletion.
func (r Record) Begin(d Deletion) Record {
	r.Pending = &d
	return r
}

// Dropped is the record when what was begun came to nothing.
func (r Record) Dropped() Record {
	r.Pending = nil
	return r
}

// settle notes a deletion that was begun, and not said to be done, if its image
// is gone. While it is there it may be going just now.
func (r *Record) settle(begun *Deletion) {
	if begun == nil {
		return
	}
	if _, here := r.Images[begun.ID]; here {
		r.Pending = begun
		return
	}
	*r = r.Deleted(*begun)
}

// Deleted is the record after a deletion. The last 10,000 are remembered, each
// once; of the image itself nothing is, so that one that comes back is new.
func (r Record) Deleted(d Deletion) Record {
	r.Pending = nil
	all := slices.DeleteFunc(slices.Clone(r.Deletions), func(o Deletion) bool { return o.ID == d.ID && o.At.Equal(d.At) })
	all = append(all, d)
	r.Deletions = all[max(0, len(all)-maxDeletions):]
	r.Images, r.Refused, r.Pins = maps.Clone(r.Images), maps.Clone(r.Refused), maps.Clone(r.Pins)
	delete(r.Images, d.ID)
	delete(r.Refused, d.ID)
	for name, p := range r.Pins {
		p.Images = maps.Clone(p.Images)
		delete(p.Images, d.ID)
		r.Pins[name] = p
	}
	return r
}
