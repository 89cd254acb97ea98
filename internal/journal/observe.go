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
	forgetFile = 30 * 24 * time.Hour  // a compose file
	forgetPin  = 400 * 24 * time.Hour // a pin
)

// Observe is the record after s was seen with pins; r stays as it was. An image
// that is gone is forgotten, so that one that comes back is new.
func (r Record) Observe(s *engine.Snapshot, pins pin.Set, now time.Time) Record {
	now = now.UTC()
	next := Record{
		Seen: now, NumImages: len(s.Images), NumContainers: len(s.Containers),
		Images: map[image.Digest]Image{}, Pins: map[string]Pin{}, ComposeFiles: map[string]ComposeFile{},
		Refused: map[image.Digest]Refusal{}, Deletions: r.Deletions,
	}
	used := users(s, pins)
	for i := range s.Images {
		id := s.Images[i].ID
		next.Images[id] = r.Images[id].seen(&s.Images[i], used, now)
		if refusal, ok := r.Refused[id]; ok {
			next.Refused[id] = refusal
		}
	}
	next.pinned(r.Pins, s, pins, now)
	next.composed(r.ComposeFiles, s, pins, now)
	return next
}

func (i Image) seen(of *engine.Image, used map[string]bool, now time.Time) Image {
	if !believable(i.FirstSeen, now) {
		i.FirstSeen = now
	}
	i.LastSeen = now
	names := maps.Clone(i.Names)
	if names == nil {
		names = map[string]time.Time{}
	}
	inUse := used[of.ID.String()]
	for _, m := range of.Manifests {
		inUse = inUse || used[m.String()]
	}
	for _, n := range of.Names {
		inUse = inUse || used[n.String()]
		if n.Tag != "" {
			names[n.String()] = now
		}
	}
	for _, n := range of.Digests {
		inUse = inUse || used[n.String()]
	}
	if inUse {
		i.LastUsed = now
	}
	i.Names = names
	return i
}

// believable tells whether a clock that was right can have said a time: none
// that is to come, and none from before there was Ebb, as machines say that
// have just begun and have no battery.
func believable(t, now time.Time) bool {
	return !t.After(now) && t.Year() >= 2025
}

// users are the IDs, manifests and full names that containers, services or
// pins need.
func users(s *engine.Snapshot, pins pin.Set) map[string]bool {
	used := map[string]bool{}
	for i := range s.Containers {
		c := &s.Containers[i]
		used[c.Image.String()] = true
		if c.HasManifest {
			used[c.Manifest.String()] = true
		}
		use(used, c.From)
		for _, m := range c.Mounts {
			use(used, m)
		}
	}
	for _, service := range s.Services {
		for _, name := range service.Images {
			use(used, name)
		}
	}
	for _, p := range pins.Pins {
		use(used, p.String())
	}
	return used
}

// use marks a reference as it was written: an ID, or a name with what is
// meant by none of tag and digest.
func use(used map[string]bool, ref string) {
	n, err := image.ParseName(ref)
	if err != nil {
		used[ref] = true
		return
	}
	if n.Digested {
		used[image.Name{Repository: n.Repository, Digest: n.Digest, Digested: true}.String()] = true
	} else if n.Tag == "" {
		n.Tag = "latest"
	}
	used[n.String()] = true
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
		was.Last = now
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

func (r *Record) composed(old map[string]ComposeFile, s *engine.Snapshot, pins pin.Set, now time.Time) {
	for path, file := range old {
		if now.Sub(file.LastSeen) < forgetFile {
			r.ComposeFiles[path] = file
		}
	}
	for i := range s.Containers {
		for _, path := range s.Containers[i].Compose.Files {
			file := r.ComposeFiles[path]
			file.Project, file.LastSeen = s.Containers[i].Compose.Project, now
			r.ComposeFiles[path] = file
		}
	}
	for _, read := range pins.Files {
		if file, ok := r.ComposeFiles[read.Path]; ok {
			file.Images = read.Images
			r.ComposeFiles[read.Path] = file
		}
	}
}

// believed is how long an engine that shows nothing where it had something is
// not believed: it may not have read its own data yet.
const believed = 15 * time.Minute

// Plausible is an error when the engine shows no image or no container although
// it had some a moment ago. A snapshot that is not plausible is not observed,
// so that it is believed when the moment is over.
func (r *Record) Plausible(s *engine.Snapshot, now time.Time) error {
	until := r.Seen.Add(believed)
	if !now.Before(until) {
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
