package retention

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ebb-io/ebb/internal/engine"
	"github.com/ebb-io/ebb/internal/image"
	"github.com/ebb-io/ebb/internal/journal"
	"github.com/ebb-io/ebb/internal/reason"
)

// uses is who needs which image, by its ID and by its names: a name that a
// container was made from is needed whichever image bears it now.
type uses struct {
	images     []engine.Image
	record     *journal.Record
	by         map[image.Digest][]string
	unreadable []string // what may mean any image
}

func findUses(s *engine.Snapshot, record *journal.Record) uses {
	u := uses{images: s.Images, record: record, by: map[image.Digest][]string{}}
	for i := range s.Containers {
		u.addContainer(&s.Containers[i])
	}
	for _, service := range s.Services {
		for _, ref := range service.Images {
			u.addReference(ref, "service "+service.Name+" names it")
		}
	}
	return u
}

// addContainer counts a container in whatever state.
func (u *uses) addContainer(c *engine.Container) {
	name := fmt.Sprintf("container %s (%s)", c.Name, c.State)
	u.add(c.Image, name)
	if c.HasManifest {
		u.addDigest(c.Manifest, name)
	}
	if c.From != "" {
		u.addName(c.From, name+" was made from this name")
	}
	for _, ref := range c.Mounts {
		u.addReference(ref, name+" mounts it")
		u.addFormer(ref, fmt.Sprintf("%s mounts what was %s when it was made", name, ref))
	}
}

// addFormer is for a mount, of which an engine tells the name alone: another
// image may bear that by now. What is mounted may then be any image that was
// seen to bear it, and any without a tag that was of its repository.
func (u *uses) addFormer(ref, by string) {
	n, err := image.ParseName(ref)
	if err != nil || n.Digested {
		return
	}
	if n.Tag == "" {
		n.Tag = "latest" // as an engine reads it
	}
	for i := range u.images {
		img := &u.images[i]
		if _, bore := u.record.Images[img.ID].Names[n.String()]; bore || !slices.ContainsFunc(img.Names, tagged) && u.wasOf(img, n.Repository) {
			u.add(img.ID, by)
		}
	}
}

// wasOf tells whether anything says that an image was once of a repository.
func (u *uses) wasOf(img *engine.Image, repository string) bool {
	of := func(n image.Name) bool { return n.Repository == repository }
	if slices.ContainsFunc(img.Names, of) || slices.ContainsFunc(img.Digests, of) {
		return true
	}
	for text := range u.record.Images[img.ID].Names {
		if n, err := image.ParseName(text); err == nil && of(n) {
			return true
		}
	}
	return slices.ContainsFunc(img.Origins, func(origin string) bool { return withoutPort(origin) == withoutPort(repository) })
}

func (u *uses) add(id image.Digest, by string) { u.by[id] = append(u.by[id], by) }

// addReference is for what was needed by a text alone: one that can not be
// read may mean any image.
func (u *uses) addReference(ref, by string) {
	if !u.addName(ref, by) {
		u.unreadable = append(u.unreadable, fmt.Sprintf("%s, and %q can not be read", by, ref))
	}
}

// addName finds what a text may mean: an ID, the beginning of one, or a name.
// Where it may be several it is all of them. It is false for a text that is
// none of these.
func (u *uses) addName(ref, by string) bool {
	if id, err := image.ParseDigest(ref); err == nil {
		u.addDigest(id, by)
		return true
	}
	short := strings.TrimPrefix(ref, "sha256:")
	isID := isHex(short)
	if isID {
		for i := range u.images {
			if strings.HasPrefix(u.images[i].ID.Hex(), short) {
				u.add(u.images[i].ID, by)
			}
		}
	}
	n, err := image.ParseName(ref)
	if err != nil {
		return isID
	}
	if n.Tag == "" && !n.Digested {
		n.Tag = "latest" // as an engine reads it
	}
	for i := range u.images {
		if bears(&u.images[i], n) {
			u.add(u.images[i].ID, by)
		}
	}
	return true
}

func (u *uses) addDigest(d image.Digest, by string) {
	u.add(d, by)
	for i := range u.images {
		if u.images[i].HasDigest(d) {
			u.add(u.images[i].ID, by)
		}
	}
}

// of are the reasons that an image's users give. One names them all.
func (u *uses) of(img *engine.Image) []reason.Reason {
	var reasons []reason.Reason
	for _, text := range u.unreadable {
		reasons = append(reasons, because(reason.Unreadable, "%s", text))
	}
	users := slices.Clone(u.by[img.ID])
	if len(users) == 0 {
		return reasons
	}
	slices.Sort(users)
	users = slices.Compact(users)
	text := users[0]
	if more := len(users) - 1; more > 0 {
		text += fmt.Sprintf(", and %d more", more)
	}
	return append(reasons, because(reason.InUse, "%s", text))
}

// bears tells whether an image has the name by its tag, or is what its digest
// says.
func bears(img *engine.Image, n image.Name) bool {
	if n.Tag != "" && slices.Contains(img.Names, image.Name{Repository: n.Repository, Tag: n.Tag}) {
		return true
	}
	return n.Digested && img.HasDigest(n.Digest)
}

// isHex tells whether a text may be the beginning of an ID.
func isHex(s string) bool {
	return s != "" && len(s) <= 64 && strings.Trim(s, "0123456789abcdef") == ""
}
