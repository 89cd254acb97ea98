package retention

import (
	"slices"

	"github.com/ebb-io/ebb/internal/image"
	"github.com/ebb-io/ebb/internal/pin"
	"github.com/ebb-io/ebb/internal/policy"
	"github.com/ebb-io/ebb/internal/reason"
)

// bounds are what the pins of one stream keep: what any of them keeps stays.
type bounds []bound

// bound is what one pin keeps of its stream: from the lowest up to the
// highest, with the pin in between.
type bound struct {
	pin      *pin.Pin
	version  image.Version
	previous []image.Name  // one step back, the highest first
	lowest   image.Version // the pin itself where nothing is below it
	highest  image.Version // meaningful when limited
	limited  bool
}

// boundOf looks down from a pin to its previous, and up as far as is asked.
func (r *repository) boundOf(p *pin.Pin, v image.Version, own []image.Digest, choices policy.Host) bound {
	b := bound{pin: p, version: v, lowest: v}
	for _, below := range r.below(v, own, choices.KeepPrevious) {
		b.previous = append(b.previous, below.name)
		b.lowest = below.Version
	}
	if last, ok := r.lastPin(v, own); ok && choices.KeepPrevious > 0 && last.Compare(b.lowest) < 0 {
		b.previous = append(b.previous, last.name)
		b.lowest = last.Version
	}
	b.highest, b.limited = r.above(v, choices.KeepNewer)
	return b
}

// below are the highest versions under a pin's, so many distinct ones, the
// highest first: stable ones, unless the pin is none itself. Another name of
// the pin's own image is no step back.
func (r *repository) below(v image.Version, own []image.Digest, most int) []version {
	var found []version
	for _, c := range slices.Backward(r.versions) {
		if len(found) == most {
			break
		}
		if !under(c, v, own) || v.Stable() && !c.Stable() {
			continue
		}
		if last := len(found) - 1; last < 0 || found[last].Compare(c.Version) != 0 {
			found = append(found, c)
		}
	}
	return found
}

func under(c version, v image.Version, own []image.Digest) bool {
	return c.Stream() == v.Stream() && c.Compare(v) < 0 && !slices.Contains(own, c.id)
}

// lastPin is the version below a pin's that was pinned last and is still
// present; of several at one time the lowest.
func (r *repository) lastPin(v image.Version, own []image.Digest) (last version, found bool) {
	var best former
	for _, c := range r.versions {
		if !under(c, v, own) {
			continue
		}
		for _, f := range r.former {
			if fv, ok := f.name.Version(); !ok || fv.Stream() != c.Stream() || fv.Compare(c.Version) != 0 {
				continue
			}
			if !found || f.last.After(best.last) {
				last, best, found = c, f, true
			}
		}
	}
	return last, found
}

// above is the highest version over a pin's that is kept, when that is limited.
func (r *repository) above(v image.Version, most int) (highest image.Version, limited bool) {
	if most == policy.Unlimited {
		return v, false
	}
	var over []image.Version
	for _, c := range r.versions {
		if c.Stream() != v.Stream() || c.Compare(v) <= 0 {
			continue
		}
		if len(over) == 0 || over[len(over)-1].Compare(c.Version) != 0 {
			over = append(over, c.Version)
		}
	}
	if len(over) <= most {
		return v, false
	}
	if most == 0 {
		return v, true
	}
	return over[len(over)-most], true
}

// judgeTag judges an image by one tag of the repository.
func (r *repository) judgeTag(n image.Name) reason.Reason {
	for _, p := range r.pins {
		if !p.Digested && p.Tag == n.Tag {
			return because(reason.Pinned, "%s", p.From)
		}
	}
	if r.floating != nil {
		return because(reason.NotAVersion, "the pin %s is no version, so that no tag is older", r.floating.Familiar())
	}
	v, ok := n.Version()
	if !ok {
		return because(reason.NotAVersion, "%s is no version", n.Tag)
	}
	return r.judgeVersion(v)
}

func (r *repository) judgeVersion(v image.Version) reason.Reason {
	b := r.bounds[v.Stream()]
	if b == nil {
		return because(reason.OtherStream, "%s can not be compared with the pin %s", v, r.pins[0].Familiar())
	}
	return b.judge(v)
}

// judge compares a version with the pins of its stream.
func (bs bounds) judge(v image.Version) reason.Reason {
	for _, b := range bs {
		if kept, ok := b.judge(v); ok {
			return kept
		}
	}
	nearest := bs[0]
	if i := slices.IndexFunc(bs, func(b bound) bool { return v.Compare(b.version) < 0 }); i >= 0 {
		nearest = bs[i]
	}
	return nearest.older(v)
}

func (b bound) judge(v image.Version) (reason.Reason, bool) {
	at := v.Compare(b.version)
	switch {
	case at == 0:
		return because(reason.Pinned, "the same version as the pin %s", b.pin.Familiar()), true
	case at > 0 && (!b.limited || v.Compare(b.highest) >= 0 && b.highest.Compare(b.version) > 0):
		return because(reason.NewerThanPin, "newer than the pin %s", b.pin.Familiar()), true
	case at < 0 && v.Compare(b.lowest) >= 0:
		return because(reason.PreviousOfPin, "one step back from the pin %s", b.pin.Familiar()), true
	}
	return reason.Reason{}, false
}

// older says why nothing keeps a version.
func (b bound) older(v image.Version) reason.Reason {
	switch {
	case v.Compare(b.version) > 0:
		return because(reason.OlderThanPrevious, "not among the newest above the pin %s", b.pin.Tag)
	case len(b.previous) == 0:
		return because(reason.OlderThanPrevious, "older than the pin %s", b.pin.Tag)
	}
	return because(reason.OlderThanPrevious, "older than %s, one step back from the pin %s", b.previous[len(b.previous)-1].Tag, b.pin.Tag)
}
