package report

import (
	"github.com/ebb-io/ebb/internal/inventory"
	"github.com/ebb-io/ebb/internal/plan"
	"github.com/ebb-io/ebb/internal/reason"
)

// Plan is the document of a plan. It names all that the plan deletes, so that
// a later run can do exactly that.
type Plan struct {
	Kind
	PlannedAt   Time                `json:"plannedAt"`
	Options     Options             `json:"options"`
	Fingerprint string              `json:"fingerprint"`
	Store       Store               `json:"store"`
	Totals      plan.Totals         `json:"totals"`
	Decisions   []Decision          `json:"decisions"`
	Problems    []inventory.Problem `json:"problems"`
	Blobs       Blobs               `json:"blobs"`
	Sweep       Sweep               `json:"sweep"`
	Held        []Held              `json:"held"`
	Exceeded    []Exceeded          `json:"exceeded"`
}

// The two decisions.
const (
	Keep   = "Keep"
	Delete = "Delete"
)

// Decision is what happens to one image.
type Decision struct {
	Repository string          `json:"repository"`
	Digest     string          `json:"digest"`
	Tags       []string        `json:"tags"`
	MediaType  string          `json:"mediaType"`
	Owner      string          `json:"owner"`
	Decision   string          `json:"decision"` // Keep or Delete
	Reasons    []reason.Reason `json:"reasons"`
	Bytes      plan.Bytes      `json:"bytes"`
}

// Blobs counts contents.
type Blobs struct {
	Count       int   `json:"count"`
	Delete      int   `json:"delete"`
	DeleteBytes int64 `json:"deleteBytes"`
}

// Held is a kind without a single object, whose repositories are kept.
type Held struct {
	Rule         string `json:"rule"`
	Kind         string `json:"kind"`
	Repositories int    `json:"repositories"`
}

// Exceeded is a limit that the plan is over.
type Exceeded struct {
	What    string `json:"what"` // images or bytes; of a repair images, tags or layer links
	Part    int64  `json:"part"`
	Whole   int64  `json:"whole"`
	Allowed string `json:"allowed"`
}

// NewPlan writes a plan down.
func NewPlan(p *plan.Plan, options Options, store Store) Plan {
	d := Plan{
		Kind: kindOf(KindPlan), PlannedAt: Time{p.Now}, Options: options, Fingerprint: p.Fingerprint(), Store: store,
		Totals: p.Totals, Problems: list(p.Inventory().Problems),
		Decisions: make([]Decision, 0, len(p.Decisions)), Held: []Held{}, Exceeded: []Exceeded{},
	}
	for i := range p.Decisions {
		d.Decisions = append(d.Decisions, newDecision(&p.Decisions[i]))
	}
	d.Sweep, d.Blobs = newSweep(p)
	for _, h := range p.Held {
		d.Held = append(d.Held, Held{Rule: h.Rule, Kind: h.Kind, Repositories: h.Repositories})
	}
	for _, e := range p.Exceeded {
		d.Exceeded = append(d.Exceeded, Exceeded(e))
	}
	return d
}

func newDecision(d *plan.Decision) Decision {
	return Decision{
		Repository: d.Repository, Digest: d.Digest.String(), Tags: list(d.Tags), MediaType: d.MediaType, Owner: d.Owner,
		Decision: verdict(d.Delete), Reasons: list(d.Reasons), Bytes: d.Bytes,
	}
}

func verdict(deletes bool) string {
	if deletes {
		return Delete
	}
	return Keep
}
