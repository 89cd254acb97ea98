package retention

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/ebb-io/ebb/internal/engine"
	"github.com/ebb-io/ebb/internal/image"
	"github.com/ebb-io/ebb/internal/reason"
)

// judgeNameless judges an image without any name: only of what is proven to
// have been one repository's, and no other's, it is known what it was.
func (j *judge) judgeNameless(d *Decision) {
	home := j.formerly[d.Image.ID]
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

// judgeDigest judges an image whose only names are digests. Somebody pulled it
// so, and unless it was for a pin it may be for another stack.
func (j *judge) judgeDigest(d *Decision, r *repository) {
	stranger := func(n image.Name) bool { return !r.wasPinned(n) }
	if j.formerly[d.Image.ID] != r.name || slices.ContainsFunc(d.Image.Names, stranger) {
		d.keep(reason.DigestOnly, "it was pulled by its digest, and nothing proves that it was a pin's")
		return
	}
	d.Reasons = append(d.Reasons, j.judgeLost(d.Image, r))
}

// wasPinned tells whether a digest was ever pinned, with a tag or without.
func (r *repository) wasPinned(n image.Name) bool {
	return slices.ContainsFunc(r.former, func(f former) bool { return f.name.Digested && f.name.Digest == n.Digest })
}

// judgeLost judges an image that was the repository's: by the versions that it
// was pinned under, else as one that lost its tag.
func (j *judge) judgeLost(img *engine.Image, r *repository) reason.Reason {
	var older *reason.Reason
	for _, v := range r.versions {
		if v.id != img.ID {
			continue
		}
		why := r.judgeVersion(v.Version)
		if !lets(why) && (why.Code != reason.OtherStream || r.floating == nil) {
			return why
		}
		older = &why
	}
	switch {
	case r.floating != nil:
		return j.judgeFormerly(img, r)
	case older != nil:
		return *older
	}
	return because(reason.Untagged, "%s", j.lostText(img, r))
}

// judgeFormerly keeps, of the images that bore a pin without a version, the
// last ones: one step back. Of what nobody saw as such a pin it is not known
// how old it is.
func (j *judge) judgeFormerly(img *engine.Image, r *repository) reason.Reason {
	known := false
	for i := range r.pins {
		at := slices.Index(r.bearers[r.pins[i].Tag], img.ID)
		if at < 0 {
			continue
		}
		if known = true; at < j.Policy.KeepPrevious {
			return because(reason.PreviousOfPin, "one step back from the pin %s", r.pins[i].Familiar())
		}
	}
	if !known {
		return because(reason.AgeUnknown, "nobody saw when it was the pin %s", r.floating.Familiar())
	}
	return because(reason.Untagged, "%s", j.lostText(img, r))
}

// bearersOf are the images that were what a tag of the repository names, and
// are nothing by now, the last one first. What is a pin is no step back.
func (j *judge) bearersOf(r *repository, tag string) []image.Digest {
	at := map[image.Digest]time.Time{}
	for i := range j.Snapshot.Images {
		img := &j.Snapshot.Images[i]
		if j.formerly[img.ID] != r.name || len(j.pinned(img)) > 0 {
			continue
		}
		if when := j.bore(img.ID, r, tag); !when.IsZero() {
			at[img.ID] = when
		}
	}
	return slices.SortedFunc(maps.Keys(at), func(a, b image.Digest) int {
		return cmp.Or(at[b].Compare(at[a]), a.Compare(b))
	})
}

// bore is when the journal last saw an image as what a tag names; zero: never.
func (j *judge) bore(id image.Digest, r *repository, tag string) time.Time {
	at := j.Record.Images[id].Names[r.name+":"+tag]
	for _, f := range r.former {
		if f.name.Tag == tag && f.images[id].After(at) {
			at = f.images[id]
		}
	}
	return at
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
