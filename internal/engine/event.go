package engine

import (
	"time"

	"github.com/ebb-io/ebb/internal/image"
)

// The types of events.
const (
	OfImage     = "image"
	OfContainer = "container"
	OfBuilder   = "builder"
)

// Event is something that happened in an engine and concerns images: to an
// image, to a container, or a build.
type Event struct {
	At     time.Time
	Type   string // OfImage, OfContainer or OfBuilder
	Action string // such as pull, tag, untag, delete, load, import, create
	// Name is what the event is about, as far as it names an image; zero: it
	// does not, and any image may be meant.
	Name image.Name
	ID   string // of the image or the container, as the engine wrote it
}

// Brings tells whether the event may have brought an image, or given a name to
// another one. A pull that finds nothing new is an event all the same.
func (e Event) Brings() bool {
	switch e.Action {
	case "pull", "tag", "import", "load":
		return e.Type == OfImage
	}
	return e.Type == OfBuilder
}

// Pull is a pull under way, as a containerd store shows it.
type Pull struct {
	Lease string
	Began time.Time
}
