package policy

import (
	"errors"
	"fmt"
	"time"
)

// Unlimited is a number that limits nothing.
const Unlimited = -1

// Host is every choice that shapes a plan for a Docker host.
type Host struct {
	// MinAge is how long an image must have been known before it may go. Zero
	// asks nothing of age.
	MinAge time.Duration
	// UnusedFor is how long an image must not have been used or pinned, as far
	// as the journal knows.
	UnusedFor time.Duration
	// KeepPrevious is how many stable versions below each pin are kept.
	KeepPrevious int
	// KeepNewer is how many versions above each pin are kept, or Unlimited.
	KeepNewer int
	// Keep are patterns of names that never go.
	Keep []Glob
	// RequireHealthy skips a repository whose pinned container is not running
	// and healthy.
	RequireHealthy bool
	// MaxDeletes is how many images one pass deletes, or Unlimited. The oldest
	// versions go first, the rest next time.
	MaxDeletes int
	// MaxDeleteShare is how much of all images one pass may delete.
	MaxDeleteShare Share
	// Confirmed lets go what is otherwise limited: a person has named the
	// engine.
	Confirmed bool
}

// DefaultHost is the policy of a person who chose nothing.
func DefaultHost() Host {
	const day = 24 * time.Hour
	return Host{
		MinAge: time.Hour, UnusedFor: 7 * day, KeepPrevious: 1, KeepNewer: Unlimited,
		MaxDeletes: Unlimited, MaxDeleteShare: 100,
	}
}

// Validate returns an error that names the first choice that makes no sense.
func (h Host) Validate() error {
	switch {
	case h.MinAge < 0:
		return fmt.Errorf("min-age %s is negative", h.MinAge)
	case h.UnusedFor < 0:
		return fmt.Errorf("unused-for %s is negative", h.UnusedFor)
	case h.KeepPrevious < 0:
		return fmt.Errorf("keep-previous %d is negative", h.KeepPrevious)
	case h.KeepNewer < Unlimited:
		return fmt.Errorf("keep-newer %d is negative", h.KeepNewer)
	case h.MaxDeletes < Unlimited:
		return fmt.Errorf("max-deletes %d is negative", h.MaxDeletes)
	case h.MaxDeleteShare < 0 || h.MaxDeleteShare > 100:
		return errors.New("max-delete-share must lie between 0% and 100%")
	}
	return nil
}
