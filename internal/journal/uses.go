package journal

import (
	"fmt"
	"slices"

	"github.com/ebb-io/ebb/internal/engine"
	"github.com/ebb-io/ebb/internal/image"
)

// Uses is who needs which image of a snapshot, with those who needed a name
// that was another image when they began to: of a mount an engine tells the
// name alone, so that what is mounted may be any image that was seen to bear
// it, and any without a tag that was of its repository.
func (r *Record) Uses(s *engine.Snapshot) *engine.Uses {
	uses := s.Uses()
	for i := range s.Containers {
		for _, ref := range s.Containers[i].Mounts {
			n, err := image.ParseName(ref)
			if err != nil || n.Digested {
				continue
			}
			by := engine.User{Who: s.Containers[i].Label(), How: fmt.Sprintf("mounts what was %s when it was made", ref)}
			for _, id := range r.formerly(n, s.Images) {
				uses.Add(id, by)
			}
		}
	}
	return uses
}

// formerly are the images that may have been what a name meant.
func (r *Record) formerly(n image.Name, images []engine.Image) []image.Digest {
	if n.Tag == "" {
		n.Tag = "latest" // as an engine reads it
	}
	var found []image.Digest
	for i := range images {
		img := &images[i]
		_, bore := r.Images[img.ID].Names[n.String()]
		if bore || !slices.ContainsFunc(img.Names, image.Name.Tagged) && r.wasOf(img, n.Repository) {
			found = append(found, img.ID)
		}
	}
	return found
}

// wasOf tells whether anything says that an image was once of a repository.
func (r *Record) wasOf(img *engine.Image, repository string) bool {
	of := func(n image.Name) bool { return n.Repository == repository }
	if slices.ContainsFunc(img.Names, of) || slices.ContainsFunc(img.Digests, of) {
		return true
	}
	for text := range r.Images[img.ID].Names {
		if n, err := image.ParseName(text); err == nil && of(n) {
			return true
		}
	}
	return slices.ContainsFunc(img.Origins, func(origin string) bool { return image.WithoutPort(origin) == image.WithoutPort(repository) })
}
