package engine

import (
	"slices"
	"strings"

	"github.com/ebb-io/ebb/internal/image"
)

// Pullable are the digests by which an image can be pulled again, and whether
// that is certain. With a graph driver these are its digests. A containerd store
// gives a digest to whatever was built, loaded or imported, too: there the
// origins say it, and an image that is not identified may be in no registry.
// Home is the repository in which the image is judged; empty: none.
func (i *Image) Pullable(store StoreKind, home string) (digests []image.Name, certain bool) {
	switch {
	case store != Containerd:
		return i.Digests, true
	case i.Identified:
		return i.fromOrigins(home)
	case len(i.Digests) == 0 && home != "":
		return []image.Name{i.in(home)}, false
	}
	return i.Digests, false
}

// fromOrigins writes the origins with their ports, as far as a name tells them.
// No port is left out of Docker Hub's.
func (i *Image) fromOrigins(home string) (digests []image.Name, certain bool) {
	known := []string{home}
	for _, n := range slices.Concat(i.Names, i.Digests) {
		known = append(known, n.Repository)
	}
	certain = true
	for _, origin := range i.Origins {
		at := slices.IndexFunc(known, func(r string) bool { return image.WithoutPort(r) == image.WithoutPort(origin) })
		if at >= 0 {
			origin = known[at]
		}
		certain = certain && (at >= 0 || strings.HasPrefix(origin, "docker.io/"))
		digests = append(digests, i.in(origin))
	}
	return digests, certain
}

// in is a containerd store's image in a repository: there its ID is its digest.
func (i *Image) in(repository string) image.Name {
	return image.Name{Repository: repository, Digest: i.ID, Digested: true}
}
