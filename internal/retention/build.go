package retention

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/ebb-io/ebb/internal/engine"
	"github.com/ebb-io/ebb/internal/image"
	"github.com/ebb-io/ebb/internal/pin"
	"github.com/ebb-io/ebb/internal/policy"
	"github.com/ebb-io/ebb/internal/reason"
)

// Build makes the plan.
func Build(in Input) *Plan {
	j := newJudge(in)
	p := &Plan{Now: in.Now, Policy: in.Policy, Engine: in.Snapshot.Engine, Decisions: []Decision{}}
	for i := range in.Snapshot.Images {
		p.Decisions = append(p.Decisions, j.judge(&in.Snapshot.Images[i]))
	}
	slices.SortFunc(p.Decisions, compare)
	p.postpone()
	p.sum(j.repositories)
	p.limit()
	return p
}

// judge is what decides, with all that it looks things up in.
type judge struct {
	Input
	uses         *engine.Uses
	pins         []pin.Pin               // in order
	repositories map[string]*repository  // the pinned ones, by full name
	formerly     map[image.Digest]string // where images without a tag were
}

func newJudge(in Input) *judge {
	j := &judge{Input: in, uses: in.Record.Uses(in.Snapshot), pins: sortedPins(in.Pins.Pins)}
	j.formerly = j.formerHomes()
	j.repositories = j.findRepositories()
	return j
}

// judge makes the one decision for an image. Everything that may keep it has
// its say; only what nothing keeps goes.
func (j *judge) judge(img *engine.Image) Decision {
	d := Decision{Image: img, Reasons: j.used(img)}
	d.Reasons = append(d.Reasons, j.keptByName(img)...)
	d.Reasons = append(d.Reasons, j.pinned(img)...)
	home := homes(img)
	switch {
	case len(home) == 0:
		j.judgeNameless(&d)
	case len(home) > 1:
		j.judgeShared(&d, home)
	default:
		j.judgeNamed(&d, home[0])
	}
	if d.Delete = deletes(d.Reasons); d.Delete {
		j.wait(&d)
	} else {
		d.Reasons = slices.DeleteFunc(d.Reasons, lets)
	}
	slices.SortStableFunc(d.Reasons, func(a, b reason.Reason) int {
		return cmp.Or(cmp.Compare(strength(a.Code), strength(b.Code)), cmp.Compare(a.Detail, b.Detail))
	})
	d.Reasons = slices.Compact(d.Reasons)
	return d
}

// homes are the repositories that an image has a name or a digest in. A digest
// without a tag says where the image once was, and counts only beside one.
func homes(img *engine.Image) []string {
	var found []string
	for _, n := range img.Names {
		found = append(found, n.Repository)
	}
	if len(found) > 0 {
		for _, n := range img.Digests {
			found = append(found, n.Repository)
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// judgeShared leaves alone what has a name in several repositories: nobody
// here can say what it is in the other one.
func (j *judge) judgeShared(d *Decision, home []string) {
	var pinned, others []string
	for _, name := range home {
		if j.repositories[name] != nil {
			pinned = append(pinned, name)
			continue
		}
		others = append(others, image.FamiliarRepository(name))
	}
	if len(pinned) == 0 {
		d.keep(reason.Unclaimed, "no pin names %s", others[0])
		return
	}
	d.Repository = pinned[0]
	j.judgeNames(d, j.repositories[pinned[0]])
	if len(others) == 0 {
		others = append(others, image.FamiliarRepository(pinned[1]))
	}
	d.keep(reason.OtherRepository, "it is %s too", others[0])
}

func (j *judge) judgeNamed(d *Decision, home string) {
	r := j.repositories[home]
	if r == nil {
		d.keep(reason.Unclaimed, "no pin names %s", image.FamiliarRepository(home))
		return
	}
	d.Repository = home
	j.judgeNames(d, r)
}

// judgeNames judges an image by each of its names in one repository.
func (j *judge) judgeNames(d *Decision, r *repository) {
	if r.skipped != nil {
		d.Reasons = append(d.Reasons, *r.skipped)
		return
	}
	judged := false
	for _, n := range d.Image.Names {
		if n.Repository == r.name && n.Tagged() {
			judged = true
			d.Reasons = append(d.Reasons, r.judgeTag(n))
		}
	}
	switch {
	case !judged:
		j.judgeDigest(d, r)
	case slices.ContainsFunc(d.Image.Names, func(n image.Name) bool { return n.Tag == "" }):
		d.keep(reason.DigestOnly, "it was pulled by its digest as well")
	}
}

// used are the reasons of those who need an image. One names them all.
func (j *judge) used(img *engine.Image) []reason.Reason {
	var reasons []reason.Reason
	for _, user := range j.uses.Unreadable {
		reasons = append(reasons, because(reason.Unreadable, "%s", user))
	}
	users := j.uses.Of(img.ID)
	if len(users) == 0 {
		return reasons
	}
	text := users[0].String()
	if more := len(users) - 1; more > 0 {
		text += fmt.Sprintf(", and %d more", more)
	}
	return append(reasons, because(reason.InUse, "%s", text))
}

// keptByName is the say of --keep.
func (j *judge) keptByName(img *engine.Image) []reason.Reason {
	for _, glob := range j.Policy.Keep {
		if n, ok := Matched(img, glob); ok {
			return []reason.Reason{because(reason.KeptByPolicy, "--keep %s matches %s", glob, n.Familiar())}
		}
	}
	return nil
}

// Matched is the name of an image that a pattern of --keep matches: in full or
// as people write it, whole or without what follows the repository.
func Matched(img *engine.Image, glob policy.Glob) (name image.Name, ok bool) {
	for _, n := range slices.Concat(img.Names, img.Digests) {
		for _, text := range []string{n.String(), n.Familiar(), n.Repository, image.FamiliarRepository(n.Repository)} {
			if glob.Match(text) {
				return n, true
			}
		}
	}
	return image.Name{}, false
}

// deletes tells whether all that was said of an image lets it go.
func deletes(reasons []reason.Reason) bool {
	return len(reasons) > 0 && !slices.ContainsFunc(reasons, func(r reason.Reason) bool { return !lets(r) })
}

// lets tells whether a reason is one to delete.
func lets(r reason.Reason) bool {
	return r.Code == reason.OlderThanPrevious || r.Code == reason.Untagged
}
