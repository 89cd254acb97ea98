// Package repair decides what of a damaged storage can be mended, in which
// order, and what is lost by it: Build takes an inventory and a survey and makes
// a plan of actions, and of the problems that take a person.
//
// It is pure. It refuses to invent anything: the only content it has written is
// the digest that a link's own path names. It removes no name of and no right to
// anything whose content is there, and where something could not be seen it
// touches nothing: doubt keeps.
package repair

import (
	"time"

	"github.com/ebb-io/ebb/internal/image"
	"github.com/ebb-io/ebb/internal/inventory"
	"github.com/ebb-io/ebb/internal/policy"
)

// Kind is what an action does, in one word of a closed set.
type Kind string

// The kinds, the most serious first. RemoveTag, RemoveRevision and
// RemoveLayerLink lose something.
const (
	RemoveTag       Kind = "RemoveTag"       // a tag that leads nowhere
	RemoveRevision  Kind = "RemoveRevision"  // a revision whose manifest is gone
	RemoveLayerLink Kind = "RemoveLayerLink" // a layer link whose blob is gone
	WriteLink       Kind = "WriteLink"       // a link that holds what a crash left of its digest
	RemoveTemporary Kind = "RemoveTemporary" // a temporary file that nobody came back for
	RemoveFolder    Kind = "RemoveFolder"    // folders that hold nothing
)

// Input is all that a plan is made from.
type Input struct {
	Inventory *inventory.Inventory
	Survey    *inventory.Survey
	// Path is where an item lies.
	Path func(inventory.Item) string
	// Scope is which repositories may be mended.
	Scope policy.Scope
	// LeftoverAge is how long temporary files and empty folders must have lain
	// untouched before they may go. Zero asks nothing of age.
	LeftoverAge time.Duration
	// MaxDeleteShare is how much of all images, of all tags and of all layer
	// links one repair may remove, each.
	MaxDeleteShare policy.Share
	Now            time.Time
}

// Action mends one thing.
type Action struct {
	Kind       Kind
	Path       string
	Repository string // empty: it lies among the blobs
	Tag        string // of a tag
	// Digest is what a tag names, or what a link's path names; meaningful when
	// HasDigest.
	Digest    image.Digest
	HasDigest bool
	Reason    string
	Loses     string // in words for people; empty: nothing
	Bytes     int64  // that a temporary file takes

	steps []inventory.Mend
	// mends are the problems that are gone with it.
	mends []problemKey
}

// Remaining is a problem that takes a person, and what one can do.
type Remaining struct {
	inventory.Problem
	Remedy string
}

// Plan is what a repair does.
type Plan struct {
	Actions   []Action // by kind, then path
	Remaining []Remaining
	Exceeded  []policy.Excess
	Counts    Counts

	input Input
}

// Counts are how many there are of what a repair can remove.
type Counts struct{ Images, Tags, LayerLinks int }

// Nothing tells whether there is nothing to do.
func (p *Plan) Nothing() bool { return len(p.Actions) == 0 }

// Problems are all that were found, whatever becomes of them.
func (p *Plan) Problems() []inventory.Problem { return problems(p.input) }

// Inventory is what the plan was made from.
func (p *Plan) Inventory() *inventory.Inventory { return p.input.Inventory }

// Step is a step of an action.
type Step struct {
	Action int // in Plan.Actions
	Mend   inventory.Mend
}

// Phases are the steps of all actions in their order: each phase must be done
// and on the disk before the next begins. Links are written before anything is
// removed, layers before the images that need them; tags go before revisions,
// revisions before layer links, and folders last.
func (p *Plan) Phases() [][]Step {
	phases := make([][]Step, inventory.MendKinds)
	for i := range p.Actions {
		for _, step := range p.Actions[i].steps {
			phases[step.Kind] = append(phases[step.Kind], Step{Action: i, Mend: step})
		}
	}
	return phases
}

// Sample is an image that a sound registry answers for.
type Sample struct {
	Repository string
	Digest     image.Digest
}

// Samples are up to n images that the registry of this very storage can serve,
// one of each repository.
func (p *Plan) Samples(n int) []Sample {
	var found []Sample
	inv := p.input.Inventory
	faulty := map[imageKey]bool{}
	for _, f := range p.input.Survey.Faults {
		faulty[imageKey{f.Repository, f.Digest}] = true
	}
	for i := 0; i < len(inv.Repositories) && len(found) < n; i++ {
		r := &inv.Repositories[i]
		for _, img := range r.Images {
			d := inv.Contents.Digest(img.ID)
			if img.Linked && !img.Broken && inv.Manifests[img.ID] != nil && !faulty[imageKey{r.Name, d}] {
				found = append(found, Sample{r.Name, d})
				break
			}
		}
	}
	return found
}

type imageKey struct {
	repository string
	digest     image.Digest
}
