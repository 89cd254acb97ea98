// Package hostworld builds what a Docker host holds, pins and remembers, for
// tests: in short texts, or at random. It refuses to decide what goes.
//
// Images are called by a label; an image's ID is the digest of its label. In a
// name, "@" and a label stand for that digest: web@old is web@sha256:....
package hostworld

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ebb-io/ebb/internal/engine"
	"github.com/ebb-io/ebb/internal/image"
	"github.com/ebb-io/ebb/internal/journal"
	"github.com/ebb-io/ebb/internal/pin"
)

// Day is a day.
const Day = 24 * time.Hour

// Now is the time in a world.
func Now() time.Time { return time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC) }

// World is one host at one time. The journal is what Ebb remembered before this
// look at it.
type World struct {
	Snapshot engine.Snapshot
	Pins     pin.Set
	Journal  journal.Record
	labels   map[image.Digest]string
}

// Part adds something to a world.
type Part func(*World)

// New is a world of parts.
func New(parts ...Part) *World {
	w := &World{labels: map[image.Digest]string{}}
	w.Journal = journal.Record{
		Since:  Now().Add(-400 * Day),
		Images: map[image.Digest]journal.Image{}, Pins: map[string]journal.Pin{}, Refused: map[image.Digest]journal.Refusal{},
	}
	for _, add := range parts {
		add(w)
	}
	return w
}

// Observed is what is remembered once the world has been looked at now.
func (w *World) Observed() *journal.Record {
	r := w.Journal.Observe(&w.Snapshot, nil, w.Pins.Stacks, Now()).Pinned(&w.Snapshot, w.Pins.Pins)
	return &r
}

// Label is how an image is called in the test.
func (w *World) Label(id image.Digest) string { return w.labels[id] }

// ID is the digest that a label stands for.
func ID(label string) image.Digest { return image.SHA256([]byte(label)) }

// written is a reference with the digest that a label behind "@" stands for.
func written(text string) string {
	if before, label, ok := strings.Cut(text, "@"); ok {
		return before + "@" + ID(label).String()
	}
	return text
}

// Name reads a name; "@" stands before a label.
func Name(text string) image.Name {
	n, err := image.ParseName(written(text))
	if err != nil {
		panic(fmt.Sprintf("a test's name: %v", err))
	}
	return n
}

// Tagged adds images that are called by their only tag.
func Tagged(names ...string) Part {
	return func(w *World) {
		for _, name := range names {
			Image(name, name)(w)
		}
	}
}

// Image adds an image with its names, or with none.
func Image(label string, names ...string) Part {
	return func(w *World) {
		img := engine.Image{ID: ID(label), Size: 100}
		for _, text := range names {
			img.Names = append(img.Names, Name(text))
		}
		slices.SortFunc(img.Names, image.Name.Compare)
		w.labels[img.ID] = label
		w.Snapshot.Images = append(w.Snapshot.Images, img)
	}
}

// Digests lists repositories' digests of the image that was added last.
func Digests(names ...string) Part {
	return func(w *World) {
		img := w.last()
		for _, text := range names {
			img.Digests = append(img.Digests, Name(text))
		}
	}
}

// Origins says where the image that was added last was pulled from.
func Origins(repositories ...string) Part {
	return func(w *World) { w.last().Origins = repositories }
}

// Manifests are in the index that was added last.
func Manifests(labels ...string) Part {
	return func(w *World) {
		for _, label := range labels {
			w.last().Manifests = append(w.last().Manifests, ID(label))
		}
	}
}

// Pulled is how long ago the engine pulled the image that was added last.
func Pulled(ago time.Duration) Part {
	return func(w *World) { w.last().Pulled = Now().Add(-ago) }
}

func (w *World) last() *engine.Image { return &w.Snapshot.Images[len(w.Snapshot.Images)-1] }

// Container adds one in some state, made from a name whose image it still is or
// is no more.
func Container(state, label, from string, mounts ...string) Part {
	from = written(from)
	for i := range mounts {
		mounts[i] = written(mounts[i])
	}
	return func(w *World) {
		id := fmt.Sprint("c", len(w.Snapshot.Containers))
		w.Snapshot.Containers = append(w.Snapshot.Containers,
			engine.Container{ID: id, Name: id, State: state, Image: ID(label), From: from, Mounts: mounts})
	}
}

// Health is that of the container that was added last.
func Health(is string) Part {
	return func(w *World) { w.Snapshot.Containers[len(w.Snapshot.Containers)-1].Health = is }
}

// Service adds a Swarm service.
func Service(images ...string) Part {
	for i := range images {
		images[i] = written(images[i])
	}
	return func(w *World) {
		w.Snapshot.Services = append(w.Snapshot.Services, engine.Service{Name: fmt.Sprint("s", len(w.Snapshot.Services)), Images: images})
	}
}

// Pin adds pins.
func Pin(names ...string) Part { return pins(false, names) }

// Passive adds passive pins.
func Passive(names ...string) Part { return pins(true, names) }

func pins(passive bool, names []string) Part {
	return func(w *World) {
		for _, text := range names {
			w.Pins.Pins = append(w.Pins.Pins, pin.Pin{Name: Name(text), From: "--pin", Passive: passive})
		}
	}
}

// Skip leaves a repository alone.
func Skip(repository string) Part {
	return func(w *World) {
		w.Pins.Skipped = append(w.Pins.Skipped, pin.Skip{Repository: Name(repository).Repository, Why: "a variable has no value", From: "compose file"})
	}
}

// Saw remembers an image: since when it is here, and the tags that it had until
// some time ago.
func Saw(label string, ago time.Duration, tags ...string) Part {
	return func(w *World) {
		seen := w.Journal.Images[ID(label)]
		seen.FirstSeen = Now().Add(-ago)
		if seen.Names == nil {
			seen.Names = map[string]time.Time{}
		}
		for _, tag := range tags {
			seen.Names[Name(tag).String()] = Now().Add(-ago)
		}
		w.Journal.Images[ID(label)] = seen
	}
}

// Remembering says how long there has been a journal: 400 days unless it is said.
func Remembering(ago time.Duration) Part {
	return func(w *World) { w.Journal.Since = Now().Add(-ago) }
}

// Used remembers when an image was last used.
func Used(label string, ago time.Duration) Part {
	return func(w *World) {
		seen := w.Journal.Images[ID(label)]
		seen.LastUsed = Now().Add(-ago)
		w.Journal.Images[ID(label)] = seen
	}
}

// WasPin remembers that a name was pinned until some time ago, and was then
// that image.
func WasPin(name, label string, ago time.Duration) Part {
	return func(w *World) {
		at, key := Now().Add(-ago), Name(name).String()
		p := w.Journal.Pins[key]
		if p.Images == nil {
			p = journal.Pin{First: at, Images: map[image.Digest]time.Time{}}
		}
		if at.After(p.Last) {
			p.Last = at
		}
		p.Images[ID(label)] = at
		w.Journal.Pins[key] = p
	}
}

// Refused remembers that the engine would not delete an image, which is not
// tried again for some time.
func Refused(label string, left time.Duration) Part {
	return func(w *World) {
		w.Journal.Refused[ID(label)] = journal.Refusal{Times: 1, Last: Now(), Until: Now().Add(left), Why: "conflict"}
	}
}
