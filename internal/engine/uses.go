package engine

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ebb-io/ebb/internal/image"
)

// User is a container or a service, and how it needs an image.
type User struct {
	Who string // such as "container web (running)"
	How string // such as "mounts it"; empty: it was made from the image
}

func (u User) String() string { return strings.TrimSpace(u.Who + " " + u.How) }

// Uses is who needs which image, by its ID and by its names: a name that a
// container was made from is needed whichever image bears it now.
type Uses struct {
	snapshot *Snapshot
	by       map[image.Digest][]User
	// Unreadable are those who name what can not be read, which may be any
	// image.
	Unreadable []User
}

// Uses is who needs the images of a snapshot: containers in whatever state, and
// services.
func (s *Snapshot) Uses() *Uses {
	u := &Uses{snapshot: s, by: map[image.Digest][]User{}}
	for i := range s.Containers {
		u.addContainer(&s.Containers[i])
	}
	for _, service := range s.Services {
		for _, ref := range service.Images {
			u.addReference(ref, User{"service " + service.Name, "names it"})
		}
	}
	return u
}

func (u *Uses) addContainer(c *Container) {
	u.Add(c.Image, User{Who: c.Label()})
	if c.HasManifest {
		u.addDigest(c.Manifest, User{Who: c.Label()})
	}
	if c.From != "" {
		u.addName(c.From, User{c.Label(), "was made from this name"})
	}
	for _, ref := range c.Mounts {
		u.addReference(ref, User{c.Label(), "mounts it"})
	}
}

// Label is what people call the container, with its state.
func (c *Container) Label() string { return fmt.Sprintf("container %s (%s)", c.Name, c.State) }

// Add notes one more who needs an image.
func (u *Uses) Add(id image.Digest, by User) { u.by[id] = append(u.by[id], by) }

// Needed tells whether anybody needs an image.
func (u *Uses) Needed(id image.Digest) bool { return len(u.by[id]) > 0 }

// Of are those who need an image, each once and in order.
func (u *Uses) Of(id image.Digest) []User {
	users := slices.SortedFunc(slices.Values(u.by[id]), func(a, b User) int {
		return cmp.Or(cmp.Compare(a.Who, b.Who), cmp.Compare(a.How, b.How))
	})
	return slices.CompactFunc(users, func(a, b User) bool { return a.Who == b.Who })
}

// addReference is for what is needed by a text alone.
func (u *Uses) addReference(ref string, by User) {
	if !u.addName(ref, by) {
		u.Unreadable = append(u.Unreadable, User{by.Who, fmt.Sprintf("names %q, which can not be read", ref)})
	}
}

func (u *Uses) addName(ref string, by User) (readable bool) {
	ids, readable := u.snapshot.Meant(ref)
	for _, id := range ids {
		u.Add(id, by)
	}
	return readable
}

func (u *Uses) addDigest(d image.Digest, by User) {
	for i := range u.snapshot.Images {
		if img := &u.snapshot.Images[i]; img.HasDigest(d) {
			u.Add(img.ID, by)
		}
	}
}

// Meant are the images that a text may mean: an ID, the beginning of one, or a
// name. Where it may be several it is all of them. A text that is none of these
// is not readable.
func (s *Snapshot) Meant(ref string) (ids []image.Digest, readable bool) {
	id, err := image.ParseDigest(ref)
	isID := err == nil
	short := strings.TrimPrefix(ref, "sha256:")
	isShort := !isID && isHex(short)
	n, err := image.ParseName(ref)
	isName := err == nil && !isID
	for i := range s.Images {
		img := &s.Images[i]
		if isID && img.HasDigest(id) || isShort && strings.HasPrefix(img.ID.Hex(), short) || isName && means(n, img) {
			ids = append(ids, img.ID)
		}
	}
	return ids, isID || isShort || isName
}

// means tells whether a name that somebody wrote may mean an image: by its tag,
// by its digest, and by none of them as latest, as an engine reads it.
func means(n image.Name, img *Image) bool {
	if n.Tag == "" && !n.Digested {
		n.Tag = "latest"
	}
	if slices.Contains(img.Names, image.Name{Repository: n.Repository, Tag: n.Tag}) {
		return true
	}
	return n.Digested && img.HasDigest(n.Digest)
}

// isHex tells whether a text may be the beginning of an ID.
func isHex(s string) bool {
	return s != "" && len(s) <= 64 && strings.Trim(s, "0123456789abcdef") == ""
}
