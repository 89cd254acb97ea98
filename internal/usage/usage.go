// Package usage says who takes the space of a storage: how many bytes each
// repository, owner, kind, namespace or media type needs alone, shares with
// others and could give back, which images are the biggest and which layers
// save the most by being shared.
//
// It is pure: it measures a plan that was made, and refuses to decide anything
// or to read more. Its sums are exact: the groups' exclusive and shared bytes,
// with those of no image, add up to the blobs' sizes, and their reclaimable
// bytes to the blobs that the plan deletes, to the byte.
package usage

import (
	"github.com/ebb-io/ebb/internal/image"
	"github.com/ebb-io/ebb/internal/plan"
)

// By is what images are grouped by.
type By string

// What images can be grouped by.
const (
	Repository By = "repository"
	Owner      By = "owner"     // the object that the repository belongs to, living or not
	Kind       By = "kind"      // of the owner
	Namespace  By = "namespace" // of the owner
	MediaType  By = "media-type"
)

// Class tells a group of a name from those that have none, whatever the name.
type Class string

// The classes. All but Named have no name.
const (
	Named         Class = "Named"
	NoOwner       Class = "NoOwner"       // no rule claims the images' repositories
	NoNamespace   Class = "NoNamespace"   // the images' owners stand in no namespace
	NotUnderstood Class = "NotUnderstood" // the images' manifests could not be read or understood
	Unreferenced  Class = "Unreferenced"  // content that no image needs
)

// Bytes is what a group takes. Content that is needed but absent counts
// nothing.
type Bytes struct {
	// Exclusive is the size of the blobs that this group alone needs: what
	// nothing needs any more when all of it goes. Of Unreferenced it is all.
	Exclusive int64 `json:"exclusive"`
	// Shared is the group's part of the blobs that several groups need: of one
	// that n groups need, each bears 1/n, and those that are first by name one
	// byte more where that leaves a rest.
	Shared int64 `json:"shared"`
	// Size is the size of all blobs that the group needs, each counted once.
	Size int64 `json:"size"`
	// Reclaimable is the group's part, split in the same way, of the blobs that
	// the plan deletes.
	Reclaimable int64 `json:"reclaimable"`
}

// Total is what the group bears: over all groups, the size of all blobs.
func (b Bytes) Total() int64 { return b.Exclusive + b.Shared }

// Group is a set of images, or the content of none.
type Group struct {
	Class  Class  `json:"class"`
	Name   string `json:"name"` // empty unless Named
	Images int    `json:"images"`
	Bytes  Bytes  `json:"bytes"`
}

// Layer is content that several images have as a layer.
type Layer struct {
	Digest       image.Digest
	Size         int64 // bytes
	Images       int   // that need it
	Repositories int   // in which there are such images
	Saved        int64 // bytes that a copy for each image would take beside it
}

// Totals is the whole storage, whatever the lists leave out.
type Totals struct {
	Images       int `json:"images"`
	Repositories int `json:"repositories"`
	Blobs        int `json:"blobs"`
	// Bytes is the size of all blobs: Exclusive + Shared + Unreferenced.
	Bytes        int64   `json:"bytes"`
	Exclusive    int64   `json:"exclusiveBytes"`    // of blobs that one group needs
	Shared       int64   `json:"sharedBytes"`       // of blobs that several groups need
	Unreferenced int64   `json:"unreferencedBytes"` // of blobs that no image needs
	Reclaimable  int64   `json:"reclaimableBytes"`  // of blobs that the plan deletes
	Uploads      Uploads `json:"uploads"`
}

// Uploads are content on its way, which is no blob yet and counts apart.
type Uploads struct {
	Count       int   `json:"count"`
	Bytes       int64 `json:"bytes"`
	Reclaimable int64 `json:"reclaimableBytes"` // of those that the plan deletes
}

// List is the first of many.
type List[T any] struct {
	Items []T
	More  int // how many were left out
}

// Usage is who takes the space.
type Usage struct {
	By     By
	Totals Totals
	// Groups are ordered by what they bear, the most first, then by name.
	Groups List[Group]
	// Images are the biggest: ordered by what they need for themselves,
	// exclusive and shared, then by repository and digest.
	Images List[*plan.Decision]
	// Layers are those that save the most by being shared, then by digest.
	Layers List[Layer]
}

// Of measures a plan. Each list holds as many as top says, all of them with 0;
// the totals cover everything.
func Of(p *plan.Plan, by By, top int) *Usage {
	m := newMeter(p)
	u := &Usage{By: by, Layers: m.layers(top), Images: biggest(p, top)}
	groups := m.split(m.grouping(by))
	u.Totals = m.totals(groups)
	u.Groups = first(sorted(groups), top)
	return u
}

// first keeps the first of a list.
func first[T any](items []T, top int) List[T] {
	if top == 0 || len(items) <= top {
		return List[T]{Items: items}
	}
	return List[T]{Items: items[:top:top], More: len(items) - top}
}
