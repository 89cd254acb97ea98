// Package journal is what Ebb remembers of a Docker engine from pass to pass:
// when an image was first seen, last used, under which names, what was pinned
// when, which compose files there are, what was refused, and what was deleted.
//
// It is pure: a value in, a value out. It refuses to decide, and to be trusted
// more than the engine: what it lost only keeps more.
package journal

import (
	"time"

	"github.com/ebb-io/ebb/internal/engine"
	"github.com/ebb-io/ebb/internal/image"
)

// Record is what is remembered of one engine and image store. The zero value
// remembers nothing.
type Record struct {
	// Since is when the engine was first looked at; zero: never.
	Since time.Time `json:"since"`
	// Seen is when the engine was last looked at; zero: never.
	Seen time.Time `json:"seen"`
	// Images and Containers are how many there were then.
	NumImages     int                      `json:"numImages"`
	NumContainers int                      `json:"numContainers"`
	Images        map[image.Digest]Image   `json:"images"`
	Pins          map[string]Pin           `json:"pins"`   // by full name
	Stacks        map[string]Stack         `json:"stacks"` // by their compose keys
	Refused       map[image.Digest]Refusal `json:"refused"`
	Deletions     []Deletion               `json:"deletions"` // in order of time
	// Pending is a deletion that was begun, and not yet said to be done.
	Pending *Deletion `json:"pending,omitempty"`
}

// Image is what is remembered of an image.
type Image struct {
	FirstSeen time.Time `json:"firstSeen"`
	LastSeen  time.Time `json:"lastSeen"`
	LastUsed  time.Time `json:"lastUsed"` // by a container or as a pin; zero: never seen so
	// Names are the full tags that it was seen to carry, with when it last did.
	Names map[string]time.Time `json:"names"`
}

// Pin is when a name was pinned, and which images it was.
type Pin struct {
	First time.Time `json:"first"`
	Last  time.Time `json:"last"`
	// Images are those that bore the name while it was pinned, with when each
	// last did.
	Images map[image.Digest]time.Time `json:"images"`
}

// Stack is compose files that a container's labels name together.
type Stack struct {
	engine.Compose
	LastSeen time.Time `json:"lastSeen"` // in a container's labels, or when its files were last read
	Images   []string  `json:"images"`   // as the files named them when they were last read
}

// Refusal is that the engine would not delete an image.
type Refusal struct {
	Times int       `json:"times"`
	Last  time.Time `json:"last"`
	Until time.Time `json:"until"` // not tried again before
	Why   string    `json:"why"`
}

// Deletion is an image that Ebb deleted.
type Deletion struct {
	At         time.Time    `json:"at"`             // when it began
	Ended      time.Time    `json:"ended,omitzero"` // zero: only that the image is gone is known
	ID         image.Digest `json:"id"`
	Repository string       `json:"repository"` // in full
	Names      []string     `json:"names"`      // in full
	Digests    []string     `json:"digests"`    // repository@digest, in full, to pull it by; none: it can not be pulled again
	InDoubt    bool         `json:"inDoubt"`    // it is not certain that any registry has them
	Reasons    []string     `json:"reasons"`
	Detail     string       `json:"detail"`
	Bytes      int64        `json:"bytes"` // unique ones, an estimate
}
