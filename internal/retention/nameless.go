package retention

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/ebb-io/ebb/internal/engine"
	"github.com/ebb-io/ebb/internal/image"
	"github.com/ebb-io/ebb/internal/reason"
)

// judgeNameless judges an image without any name: only of what is proven to
// have been one repository's, and no other's, it is known what it was.
func (j *judge) judgeNameless(d *Decision) {
	home := j.formerHome(d.Image)
	if r := j.repositories[home]; r != nil {
		d.Repository = home
		if r.skipped != nil {
			d.Reasons = append(d.Reasons, *r.skipped)
			return
		}
		d.Reasons = append(d.Reasons, j.judgeLost(d.Image, r))
		return
	}
	for _, n := range d.Image.Digests {
		if r := j.repositories[n.Repository]; r != nil {
			d.Repository = r.name
		}
	}
	switch {
	case home != "":
		d.keep(reason.Unclaimed, "it was of %s, which no pin names", image.FamiliarRepository(home))
	case d.Repository == "" && len(d.Image.Digests) > 0:
		d.keep(reason.Unclaimed, "no pin names %s", image.FamiliarRepository(d.Image.Digests[0].Repository))
	default:
		d.keep(reason.DigestOnly, "it has no tag, and nothing proves that it was a pinned repository's")
	}
}

// judgeDigest judges an image whose only names are digests: somebody pulled it
// so, and perhaps not for this repository's pin.
func (j *judge) judgeDigest(d *Decision, r *repository) {
	if j.formerHome(d.Image) != r.name {
		d.keep(reason.DigestOnly, "it was pulled by its digest, and nothing proves that it was a pin's")
		return
	}
	d.Reasons = append(d.Reasons, j.judgeLost(d.Image, r))
}

// judgeLost judges an image that was the repository's: by the versions that it
// was pinned under, else as one that lost its tag.
func (j *judge) judgeLost(img *engine.Image, r *repository) reason.Reason {
	var last *reason.Reason
	for _, v := range r.versions {
		if b := r.bounds[v.Stream()]; v.id == img.ID && b != nil && r.floating == nil {
			why := b.judge(v.Version)
			if why.Code != reason.OlderThanPrevious {
				return why
			}
			last = &why
		}
	}
	switch {
	case last != nil:
		return *last
	case r.floating != nil:
		return j.judgeFormerly(img, r)
	}
	return because(reason.Untagged, "%s", j.lostText(img, r))
}

// judgeFormerly keeps, of the images that bore a pin without a version, the
// last ones: one step back.
func (j *judge) judgeFormerly(img *engine.Image, r *repository) reason.Reason {
	for i := range r.pins {
		tag := r.pins[i].Tag
		if _, ok := r.pins[i].Version(); ok {
			continue
		}
		at, known := j.bore(img, r, tag)
		if !known {
			return because(reason.AgeUnknown, "nobody saw when it was the pin %s", r.pins[i].Familiar())
		}
		later := 0
		for k := range j.Snapshot.Images {
			other := &j.Snapshot.Images[k]
			if other.ID == img.ID || len(other.Names) > 0 || j.formerHome(other) != r.name {
				continue
			}
			when, seen := j.bore(other, r, tag)
			if seen && cmp.Or(when.Compare(at), other.ID.Compare(img.ID)) > 0 {
				later++
			}
		}
		if later < j.Policy.KeepPrevious {
			return because(reason.PreviousOfPin, "one step back from the pin %s", r.pins[i].Familiar())
		}
	}
	return because(reason.Untagged, "%s", j.lostText(img, r))
}

// bore is when an image last was what a tag names: as the journal saw it, else
// when it came.
func (j *judge) bore(img *engine.Image, r *repository, tag string) (time.Time, bool) {
	at := j.Record.Images[img.ID].Names[r.name+":"+tag]
	for _, f := range r.former {
		if f.name.Tag == tag && f.images[img.ID].After(at) {
			at = f.images[img.ID]
		}
	}
	if at.IsZero() {
		at = img.Pulled
	}
	return at, !at.IsZero()
}

// lostText says what an image was.
func (j *judge) lostText(img *engine.Image, r *repository) string {
	text, at := "", time.Time{}
	for name, when := range j.Record.Images[img.ID].Names {
		if n, err := image.ParseName(name); err == nil && n.Repository == r.name && (when.After(at) || when.Equal(at) && n.Familiar() < text) {
			text, at = n.Familiar(), when
		}
	}
	if text == "" {
		return "it lost its tag in " + image.FamiliarRepository(r.name)
	}
	return "it was " + text + ", which is another image now or is gone"
}

// formerHome is the one repository that an image without a tag is proven to
// have been of: the journal saw it there and nowhere else, or the engine names
// it as the only origin. Empty: none.
func (j *judge) formerHome(img *engine.Image) string {
	var homes []string
	for name := range j.Record.Images[img.ID].Names {
		n, err := image.ParseName(name)
		if err != nil {
			return ""
		}
		homes = append(homes, n.Repository)
	}
	for name, p := range j.Record.Pins {
		if _, was := p.Images[img.ID]; was {
			if n, err := image.ParseName(name); err == nil {
				homes = append(homes, n.Repository)
			}
		}
	}
	if len(homes) == 0 {
		homes = append(homes, j.origins.of(img))
	}
	for _, n := range append(slices.Clone(img.Digests), img.Names...) {
		homes = append(homes, n.Repository)
	}
	slices.Sort(homes)
	homes = slices.Compact(homes)
	if len(homes) != 1 {
		return ""
	}
	return homes[0]
}

// origins are the known repositories by what an engine calls them, which is
// without a port. Two that it calls alike are none.
type origins map[string]string

func (j *judge) findOrigins() origins {
	found := origins{}
	add := func(repository string) {
		key := withoutPort(repository)
		if known, ok := found[key]; ok && known != repository {
			repository = ""
		}
		found[key] = repository
	}
	for i := range j.Snapshot.Images {
		for _, n := range append(slices.Clone(j.Snapshot.Images[i].Names), j.Snapshot.Images[i].Digests...) {
			add(n.Repository)
		}
	}
	for _, p := range j.Pins.Pins {
		add(p.Repository)
	}
	for name := range j.Record.Pins {
		if n, err := image.ParseName(name); err == nil {
			add(n.Repository)
		}
	}
	return found
}

// of is the one repository that the engine says an image came from.
func (o origins) of(img *engine.Image) string {
	if len(img.Origins) != 1 {
		return ""
	}
	return o[withoutPort(img.Origins[0])]
}

func withoutPort(repository string) string {
	host, path, ok := strings.Cut(repository, "/")
	if !ok {
		return repository
	}
	if i := strings.LastIndexByte(host, ':'); i >= 0 && !strings.HasSuffix(host, "]") {
		host = host[:i]
	}
	return host + "/" + path
}
