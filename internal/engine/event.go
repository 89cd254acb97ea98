package engine

import (
	"time"

	"github.com/ebb-io/ebb/internal/image"
)

// The types of events.
const (
	OfImage     = "image"
	OfContainer = "container"
)

// Event is something that happened in an engine and concerns images: to an
// image or to a container. A build shows as the image that it made, if at all.
type Event struct {
	At     time.Time
	Type   string // OfImage or OfContainer
	Action string // such as pull, tag, untag, delete, load, import, create
	// Name is what the event is about, as far as it names an image; zero: it
	// does not, and any image may be meant.
	Name image.Name
	ID   string // of the image or the container, as the engine wrote it
	From string // what a container was made from, as it was written
}

// Brings tells whether the event may have brought an image, or given a name to
// another one. A pull that finds nothing new is an event all the same; what is
// not known to bring nothing does.
func (e Event) Brings() bool {
	switch e.Action {
	case "untag", "delete", "remove", "push", "save", "mount", "unmount", "prune":
		return false
	}
	return e.Type == OfImage
}

// Removes tells whether the event's image or container is gone: Podman calls
// that of both remove.
func (e Event) Removes() bool {
	return e.Action == "remove" || e.Action == "delete" && e.Type == OfImage || e.Action == "destroy" && e.Type == OfContainer
}

// Pull is a pull under way, as a containerd store shows it.
type Pull struct {
	Lease string
	Began time.Time
}
