package engine

import (
	"time"

	"github.com/ebb-io/ebb/internal/image"
)

// Event is something that happened in an engine and concerns images: to an
// image, to a container, or a build.
type Event struct {
	At     time.Time
	Type   string // image, container or builder
	Action string // such as pull, tag, untag, delete, load, import, create
	// Name is what the event is about, as far as it names an image; zero: it
	// does not, and any image may be meant.
	Name image.Name
	ID   string // of the image or the container, as the engine wrote it
}

// Pull is a pull under way, as a containerd store shows it.
type Pull struct {
	Lease string
	Began time.Time
}
