package retention

import (
	"slices"

	"github.com/ebb-io/ebb/internal/engine"
	"github.com/ebb-io/ebb/internal/image"
)

// formerHomes are the repositories that images without a tag are proven to have
// been of. One that nothing is proven of is not in it.
func (j *judge) formerHomes() map[image.Digest]string {
	found := map[image.Digest]string{}
	known, remembered := j.findOrigins(), j.remembered()
	for i := range j.Snapshot.Images {
		img := &j.Snapshot.Images[i]
		if home := formerHome(img, remembered[img.ID], known); home != "" && !slices.ContainsFunc(img.Names, image.Name.Tagged) {
			found[img.ID] = home
		}
	}
	return found
}

// remembered are the repositories that the journal saw each image in, by a tag
// or as a pin. One that can not be read is "", which is none.
func (j *judge) remembered() map[image.Digest][]string {
	homes := map[image.Digest][]string{}
	for id, seen := range j.Record.Images {
		for name := range seen.Names {
			homes[id] = append(homes[id], repositoryOf(name))
		}
	}
	for name, p := range j.Record.Pins {
		for id := range p.Images {
			homes[id] = append(homes[id], repositoryOf(name))
		}
	}
	return homes
}

// repositoryOf is the repository of a full name; of none, "".
func repositoryOf(name string) string {
	n, err := image.ParseName(name)
	if err != nil {
		return ""
	}
	return n.Repository
}

// formerHome is the one repository that the journal saw an image in, with
// nothing that speaks for another, else the only origin that the engine names
// of an image without any name: of a pull by digest that is no proof, as
// another stack may need it so. Empty: none.
func formerHome(img *engine.Image, remembered []string, known origins) string {
	homes := slices.Clone(remembered)
	for _, n := range slices.Concat(img.Names, img.Digests) {
		homes = append(homes, n.Repository)
	}
	switch {
	case len(homes) == 0:
		return known.of(img)
	case len(remembered) == 0:
		return ""
	}
	home := homes[0]
	elsewhere := func(r string) bool { return r != home }
	foreign := func(r string) bool { return image.WithoutPort(r) != image.WithoutPort(home) }
	if slices.ContainsFunc(homes, elsewhere) || slices.ContainsFunc(img.Origins, foreign) {
		return ""
	}
	return home
}

// origins are the known repositories by what an engine calls them, which is
// without a port. Two that it calls alike are none.
type origins map[string]string

func (j *judge) findOrigins() origins {
	found := origins{}
	add := func(repository string) {
		key := image.WithoutPort(repository)
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
	for _, homes := range j.remembered() {
		for _, home := range homes {
			add(home)
		}
	}
	return found
}

// of is the one repository that the engine says an image came from.
func (o origins) of(img *engine.Image) string {
	if len(img.Origins) != 1 {
		return ""
	}
	return o[image.WithoutPort(img.Origins[0])]
}
