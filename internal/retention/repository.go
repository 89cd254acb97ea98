package retention

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/ebb-io/ebb/internal/engine"
	"github.com/ebb-io/ebb/internal/image"
	"github.com/ebb-io/ebb/internal/pin"
	"github.com/ebb-io/ebb/internal/reason"
)

// repository is one that a pin claims, with all that is judged in it together.
type repository struct {
	name     string
	pins     []pin.Pin
	versions []version // of what is present
	former   []former  // pins by name, the current ones among them
	bounds   map[image.Stream]bounds
	// floating is a pin whose tag is no version: nothing can be compared with it.
	floating *pin.Pin
	// bearers are the images that once were a tag that is pinned and no version.
	bearers map[string][]image.Digest
	skipped *reason.Reason
}

// version is an image that is present, under one of its versions.
type version struct {
	image.Version
	name image.Name
	id   image.Digest
}

// former is a name that is or was pinned.
type former struct {
	name   image.Name
	last   time.Time
	images map[image.Digest]time.Time
}

func (j *judge) findRepositories() map[string]*repository {
	found := map[string]*repository{}
	for _, p := range j.Pins.Pins {
		if !p.Passive && found[p.Repository] == nil {
			found[p.Repository] = &repository{name: p.Repository}
		}
	}
	for _, s := range j.Pins.Skipped {
		if found[s.Repository] == nil {
			found[s.Repository] = &repository{name: s.Repository}
		}
	}
	for _, p := range j.pins {
		if r := found[p.Repository]; r != nil {
			r.pins = append(r.pins, p)
		}
	}
	for _, r := range found {
		j.furnish(r)
	}
	return found
}

func sortedPins(pins []pin.Pin) []pin.Pin {
	return slices.SortedFunc(slices.Values(pins), func(a, b pin.Pin) int {
		return cmp.Or(a.Compare(b.Name), cmp.Compare(a.From, b.From))
	})
}

func (j *judge) furnish(r *repository) {
	r.former = j.formerOf(r)
	r.versions = j.versionsOf(r)
	r.bounds = map[image.Stream]bounds{}
	r.bearers = map[string][]image.Digest{}
	claimed := map[image.Stream]bool{}
	for i := range r.pins {
		p := &r.pins[i]
		v, ok := p.Version()
		if !ok {
			if r.floating == nil || r.floating.Tag == "" {
				r.floating = p
			}
			r.bearers[p.Tag] = j.bearersOf(r, p.Tag)
			continue
		}
		claimed[v.Stream()] = claimed[v.Stream()] || !p.Passive
		b := r.bounds[v.Stream()]
		r.bounds[v.Stream()] = append(b, r.boundOf(p, v, j.ids(p.Name), j.Policy))
	}
	// What only passive pins name is no claim, so nothing is compared with it.
	maps.DeleteFunc(r.bounds, func(s image.Stream, _ bounds) bool { return !claimed[s] })
	r.skipped = j.skip(r)
}

// ids are the images that a pin names: by its digest if it has one.
func (j *judge) ids(n image.Name) []image.Digest {
	var found []image.Digest
	for i := range j.Snapshot.Images {
		if j.Snapshot.Images[i].Bears(n) {
			found = append(found, j.Snapshot.Images[i].ID)
		}
	}
	return found
}

// formerOf are the names of the repository that were ever seen pinned.
func (j *judge) formerOf(r *repository) []former {
	var found []former
	for text, p := range j.Record.Pins {
		n, err := image.ParseName(text)
		if err == nil && n.Repository == r.name {
			found = append(found, former{name: n, last: p.Last, images: p.Images})
		}
	}
	slices.SortFunc(found, func(a, b former) int { return a.name.Compare(b.name) })
	return found
}

// versionsOf are the versions of the repository that are present: by tag, and
// where a pin had a digest beside its tag, by what that pin was.
func (j *judge) versionsOf(r *repository) []version {
	var found []version
	add := func(n image.Name, id image.Digest) {
		if v, ok := n.Version(); ok {
			found = append(found, version{Version: v, name: n, id: id})
		}
	}
	for i := range j.Snapshot.Images {
		img := &j.Snapshot.Images[i]
		for _, n := range img.Names {
			if n.Repository == r.name {
				add(n, img.ID)
			}
		}
		for _, f := range r.former {
			if f.name.Digested && img.HasDigest(f.name.Digest) {
				add(f.name, img.ID)
			}
		}
	}
	for _, p := range r.pins {
		for _, id := range j.ids(p.Name) {
			add(p.Name, id)
		}
	}
	slices.SortFunc(found, func(a, b version) int {
		return cmp.Or(a.Compare(b.Version), a.name.Compare(b.name), a.id.Compare(b.id))
	})
	return slices.CompactFunc(found, func(a, b version) bool { return a.name == b.name && a.id == b.id })
}

// skip is why nothing of the repository may be judged; nil: it may.
func (j *judge) skip(r *repository) *reason.Reason {
	for _, s := range j.Pins.Skipped {
		if s.Repository == r.name {
			why := because(reason.Unreadable, "%s: %s", s.From, s.Why)
			return &why
		}
	}
	for _, p := range r.pins {
		if p.Passive {
			continue
		}
		ids := j.present(p.Name)
		if len(ids) == 0 {
			why := because(reason.PinMissing, "the pin %s is not present (%s)", p.Familiar(), p.From)
			return &why
		}
		if j.Policy.RequireHealthy && !j.healthy(ids) {
			why := because(reason.KeptByPolicy, "no container of the pin %s is running and healthy", p.Familiar())
			return &why
		}
	}
	return nil
}

// healthy tells whether a container of one of the images runs, and does not
// say that it is unwell. One without a health check is taken at its running.
func (j *judge) healthy(ids []image.Digest) bool {
	return slices.ContainsFunc(j.Snapshot.Containers, func(c engine.Container) bool {
		return slices.Contains(ids, c.Image) && c.Running() && (c.Health == "" || c.Health == "healthy")
	})
}

// pinned says that an image is what a pin names: by its digest if it has one,
// whichever repository the image was pulled from.
func (j *judge) pinned(img *engine.Image) []reason.Reason {
	for _, p := range j.pins {
		if img.Bears(p.Name) {
			return []reason.Reason{because(reason.Pinned, "%s", p.From)}
		}
	}
	return nil
}

// present are the images that a pin names and that have its repository's name:
// the engine finds no other by it.
func (j *judge) present(n image.Name) []image.Digest {
	var found []image.Digest
	for i := range j.Snapshot.Images {
		img := &j.Snapshot.Images[i]
		if img.Bears(n) && slices.ContainsFunc(slices.Concat(img.Names, img.Digests), func(o image.Name) bool { return o.Repository == n.Repository }) {
			found = append(found, img.ID)
		}
	}
	return found
}
