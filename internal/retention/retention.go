// Package retention decides for a Docker host: from what an engine holds, what
// is pinned, what is remembered and what a person chose, it makes exactly one
// decision for each image ID, with all its reasons, and the ordered steps that
// carry the decisions out.
//
// It is pure: no clock, no context, no input or output; the same input gives
// the same plan, whatever the order of listings. It refuses to compare what is
// no version, and to delete on doubt.
package retention

import (
	"time"

	"github.com/ebb-io/ebb/internal/engine"
	"github.com/ebb-io/ebb/internal/image"
	"github.com/ebb-io/ebb/internal/journal"
	"github.com/ebb-io/ebb/internal/pin"
	"github.com/ebb-io/ebb/internal/policy"
	"github.com/ebb-io/ebb/internal/reason"
)

// Input is all that a plan depends on.
type Input struct {
	Snapshot *engine.Snapshot
	Pins     pin.Set
	Record   *journal.Record // as it is after this snapshot was observed
	Policy   policy.Host
	Now      time.Time
}

// Decision is what happens to one image, and why.
type Decision struct {
	Image *engine.Image
	// Repository is the pinned repository that the image is judged in, in full;
	// empty: it is of none.
	Repository string
	Delete     bool
	Reasons    []reason.Reason // never empty; the strongest first
	// Until is when the image goes if nothing else changes; zero where more
	// than time keeps it, or nothing does. The reasons then also say, last, why
	// it goes.
	Until time.Time
	// Postponed says that the image would go but for the number of deletions.
	Postponed bool
}

// Waits tells whether only time keeps the image.
func (d *Decision) Waits() bool { return !d.Delete && !d.Until.IsZero() }

// Repository is one that is pinned, or would be if a source could say by what.
type Repository struct {
	Name     string // in full
	Pins     []pin.Pin
	Previous []image.Name // what is kept as one step back
	// Skipped is why nothing of it is judged; nil: it is.
	Skipped    *reason.Reason
	Images     int
	Candidates int // that only time, a limit or a refusal keeps, and those that go
	Delete     int
	Bytes      int64 // unique ones of those that go
}

// Totals is the plan in a few numbers.
type Totals struct {
	Images           int   `json:"images"`
	Keep             int   `json:"keep"`
	Delete           int   `json:"delete"`
	Bytes            int64 `json:"bytes"`            // of all images, what they share counted once as far as that is known
	ReclaimableBytes int64 `json:"reclaimableBytes"` // unique bytes of those that go, an estimate
}

// Plan is every decision and what follows from them.
type Plan struct {
	Now          time.Time
	Policy       policy.Host
	Engine       engine.Engine
	Decisions    []Decision   // by repository, then version, then ID
	Repositories []Repository // by name
	Totals       Totals
	// Exceeded are the limits that the plan is over.
	Exceeded []policy.Excess
}

// Step is the deletion of one image: every name that it has, all of which were
// judged.
type Step struct {
	ID         image.Digest
	Repository string
	Names      []image.Name
	Digests    []image.Name // by which it can be pulled again; engine.Image.Pullable
	InDoubt    bool         // it is not certain that any registry has them
	Bytes      int64        // unique ones, an estimate
}

// Named is what an earlier plan deletes: image IDs with the names that they
// had then.
type Named map[image.Digest][]string
