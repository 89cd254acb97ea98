package pins

import (
	"fmt"
	"slices"

	"github.com/ebb-io/ebb/internal/engine"
	"github.com/ebb-io/ebb/internal/image"
	"github.com/ebb-io/ebb/internal/journal"
	"github.com/ebb-io/ebb/internal/pin"
)

// Running are pins from the containers that run, and passive ones from the
// compose files that the labels of all containers name: those that can be read
// here, and as they were remembered those that can not or whose containers are
// gone. It never fails: what can not be read is a warning, and keeps what was
// remembered. The environment is what compose files' variables are looked up
// in first.
func Running(snapshot *engine.Snapshot, record *journal.Record, environment map[string]string) pin.Set {
	var s pin.Set
	index := byID(snapshot.Images)
	for i := range snapshot.Containers {
		c := &snapshot.Containers[i]
		if c.State == "running" || c.State == "paused" || c.State == "restarting" {
			container(&s, c, index)
		}
	}
	return Combine(s, stacks(snapshot, record, environment))
}

func byID(images []engine.Image) map[image.Digest]*engine.Image {
	index := make(map[image.Digest]*engine.Image, len(images))
	for i := range images {
		index[images[i].ID] = &images[i]
	}
	return index
}

// container adds the name that a container was made from, where that still is
// its image; else all that its image is called now.
func container(s *pin.Set, c *engine.Container, index map[image.Digest]*engine.Image) {
	from := containerWords(c)
	made := index[c.Image]
	if made == nil {
		s.Warnings = append(s.Warnings, pin.Warning(from+": its image is not listed, so nothing is pinned by it"))
		return
	}
	if name, ok := stillNamed(c.From, made); ok {
		s.Pins = append(s.Pins, pin.Pin{Name: name, From: from})
		return
	}
	for _, name := range made.Names {
		s.Pins = append(s.Pins, pin.Pin{Name: name, From: from})
	}
	if len(made.Names) == 0 {
		s.Warnings = append(s.Warnings, pin.Warning(fmt.Sprintf("%s: its image %s has no name any more, so nothing is pinned by it", from, made.ID.Short())))
	}
}

// stillNamed is the name that a container was made from, if its image bears it.
func stillNamed(from string, made *engine.Image) (image.Name, bool) {
	name, err := image.ParseName(from)
	if err != nil {
		return image.Name{}, false
	}
	if name.Digested {
		bare := image.Name{Repository: name.Repository, Digest: name.Digest, Digested: true}
		return name, slices.Contains(made.Digests, bare) || slices.Contains(made.Names, bare)
	}
	if name.Tag == "" {
		name.Tag = "latest" // so the engine read it
	}
	return name, slices.Contains(made.Names, name)
}

func containerWords(c *engine.Container) string {
	if c.Compose.Project != "" {
		return fmt.Sprintf("compose project %s, container %s", c.Compose.Project, c.Name)
	}
	return "container " + c.Name
}
