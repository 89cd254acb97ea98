// Package policy holds what a person may choose: ages, limits, scope. It
// parses, validates and matches values.
//
// It is pure, and refuses to look at images: the plan applies it.
package policy

import (
	"errors"
	"fmt"
	"time"
)

// Policy is every choice that shapes a plan.
type Policy struct {
	// MinAge is how long an image or a blob must lie untouched before it may
	// go. Zero asks nothing of age.
	MinAge time.Duration
	// UploadAge is the same for an unfinished upload.
	UploadAge time.Duration
	// DeleteUntagged lets untagged images of unclaimed repositories go when
	// their revision link is older than UntaggedAge.
	DeleteUntagged bool
	UntaggedAge    time.Duration
	// MaxDeleteShare is how much of all images, and of all bytes, one run may
	// delete.
	MaxDeleteShare Share
	// Scope is what may be cleaned; all else is read and kept.
	Scope Scope
	// Confirmed lets go what is otherwise held or limited: a person has named
	// the store.
	Confirmed bool
}

// Default is the policy of a person who chose nothing.
func Default() Policy {
	const day = 24 * time.Hour
	return Policy{MinAge: time.Hour, UploadAge: 7 * day, UntaggedAge: 30 * day, MaxDeleteShare: 50}
}

// Validate returns an error that names the first choice that makes no sense.
func (p Policy) Validate() error {
	switch {
	case p.MinAge < 0:
		return fmt.Errorf("min-age %s is negative", p.MinAge)
	case p.UploadAge < 0:
		return fmt.Errorf("upload-age %s is negative", p.UploadAge)
	case p.UntaggedAge < 0:
		return fmt.Errorf("untagged-age %s is negative", p.UntaggedAge)
	case p.MaxDeleteShare < 0 || p.MaxDeleteShare > 100:
		return errors.New("max-delete-share must lie between 0% and 100%")
	}
	return nil
}
