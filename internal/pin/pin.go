// Package pin says which images a host is meant to run: pins, names that must
// stay, and the repositories of which a source could not say it.
//
// It is pure, and refuses to know where pins come from or what they keep.
package pin

import "github.com/ebb-io/ebb/internal/image"

// Pin is an image that a host is meant to run: a repository with a tag, a
// digest or both.
type Pin struct {
	image.Name
	From string // who says so, such as "--pin" or "compose file /srv/web.yml"
	// Passive is a pin that keeps what a pin keeps, but claims no repository
	// and need not be present: a stack that is down.
	Passive bool
}

// Names are what pins name.
func Names(pins []Pin) []image.Name {
	names := make([]image.Name, len(pins))
	for i, p := range pins {
		names[i] = p.Name
	}
	return names
}

// Skip is a repository that must be left alone, as a source could not say
// which image of it is meant.
type Skip struct {
	Repository string // in full
	Why        string
	From       string
}

// Warning is something that a person should hear of a source.
type Warning string

// Set is everything that the sources say.
type Set struct {
	Pins     []Pin
	Skipped  []Skip
	Warnings []Warning
	// Stacks are those whose compose files were read because a container names
	// them.
	Stacks []Stack
}

// Stack is a stack's key and the images that its compose files name, as they
// are written.
type Stack struct {
	Key    string
	Images []string
}
