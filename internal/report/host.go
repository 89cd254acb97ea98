package report

import (
	"time"

	"github.com/ebb-io/ebb/internal/engine"
	"github.com/ebb-io/ebb/internal/image"
	"github.com/ebb-io/ebb/internal/journal"
	"github.com/ebb-io/ebb/internal/pin"
	"github.com/ebb-io/ebb/internal/plan"
	"github.com/ebb-io/ebb/internal/reason"
	"github.com/ebb-io/ebb/internal/retention"
)

// HostPass is a plan for a Docker host with what it was made of.
type HostPass struct {
	Plan     *retention.Plan
	Record   journal.Record
	Options  HostOptions
	Warnings []string
}

// HostPlan is the document of a plan for a Docker host. It names all that the
// plan deletes, so that a later run can do exactly that.
type HostPlan struct {
	Kind
	PlannedAt    Time             `json:"plannedAt"`
	Options      HostOptions      `json:"options"`
	Fingerprint  string           `json:"fingerprint"`
	Store        HostStore        `json:"store"`
	Totals       retention.Totals `json:"totals"`
	Decisions    []HostDecision   `json:"decisions"`
	Repositories []HostRepository `json:"repositories"`
	Warnings     []string         `json:"warnings"`
	Exceeded     []Exceeded       `json:"exceeded"`
}

// HostStore names the engine that a document speaks of.
type HostStore struct {
	URL        string           `json:"url"`    // where it answers
	Name       string           `json:"name"`   // what --confirm must repeat
	Engine     string           `json:"engine"` // the ID by which it calls itself
	Version    string           `json:"version"`
	ImageStore engine.StoreKind `json:"imageStore"` // graphdriver or containerd
	Driver     string           `json:"driver"`
}

// HostDecision is what happens to one image.
type HostDecision struct {
	Repository string          `json:"repository"` // in full; empty: it is of no pinned one
	ID         string          `json:"id"`
	Names      []string        `json:"names"`    // in full
	Digests    []string        `json:"digests"`  // repository@digest, in full, as the engine lists them
	Pullable   []string        `json:"pullable"` // repository@digest, in full, to pull it by; none: it can't be pulled again
	InDoubt    bool            `json:"inDoubt"`  // it is not certain that any registry has them
	Decision   string          `json:"decision"` // Keep or Delete
	Reasons    []reason.Reason `json:"reasons"`
	Bytes      plan.Bytes      `json:"bytes"`
	FirstSeen  *Time           `json:"firstSeen"` // by Ebb; null: never before
	// Until is when the image may go if nothing else changes; null where more
	// than time keeps it, or nothing does.
	Until *Time `json:"until"`
}

// HostRepository is a pinned repository.
type HostRepository struct {
	Repository       string         `json:"repository"` // in full
	Pins             []HostPin      `json:"pins"`
	Previous         []string       `json:"previous"` // kept as one step back, in full
	Skipped          *reason.Reason `json:"skipped"`  // why nothing of it is judged; null: it is
	Images           int            `json:"images"`
	Candidates       int            `json:"candidates"`
	Delete           int            `json:"delete"`
	ReclaimableBytes int64          `json:"reclaimableBytes"` // an estimate
}

// HostPin is an image that a host is meant to run.
type HostPin struct {
	Name    string `json:"name"` // in full
	From    string `json:"from"`
	Passive bool   `json:"passive"` // it keeps and claims nothing
}

// NewHostPlan writes a plan down.
func NewHostPlan(pass HostPass) HostPlan {
	p := pass.Plan
	d := HostPlan{
		Kind: kindOf(KindPlan), PlannedAt: Time{p.Now}, Options: pass.Options, Fingerprint: p.Fingerprint(),
		Store: NewHostStore(p.Engine), Totals: p.Totals, Warnings: list(pass.Warnings),
		Decisions: []HostDecision{}, Repositories: []HostRepository{}, Exceeded: []Exceeded{},
	}
	for i := range p.Decisions {
		d.Decisions = append(d.Decisions, newHostDecision(&p.Decisions[i], p.Engine.Store, pass.Record))
	}
	for i := range p.Repositories {
		d.Repositories = append(d.Repositories, newHostRepository(&p.Repositories[i]))
	}
	for _, e := range p.Exceeded {
		d.Exceeded = append(d.Exceeded, Exceeded(e))
	}
	return d
}

// NewHostStore names an engine.
func NewHostStore(e engine.Engine) HostStore {
	return HostStore{URL: e.Host, Name: e.Name, Engine: e.ID, Version: e.Version, ImageStore: e.Store, Driver: e.Driver}
}

// Key is engine.Engine's.
func (s HostStore) Key() string {
	return engine.Engine{ID: s.Engine, Store: s.ImageStore, Driver: s.Driver}.Key()
}

func newHostDecision(d *retention.Decision, store engine.StoreKind, record journal.Record) HostDecision {
	img := d.Image
	pullable, certain := img.Pullable(store, d.Repository)
	return HostDecision{
		Repository: d.Repository, ID: img.ID.String(), Names: fullNames(img.Names), Digests: fullNames(img.Digests),
		Pullable: fullNames(pullable), InDoubt: !certain, Decision: verdict(d.Delete), Reasons: list(d.Reasons),
		Bytes:     plan.Bytes{Exclusive: img.Unique(), Shared: max(img.Shared, 0)},
		FirstSeen: maybe(record.Images[img.ID].FirstSeen), Until: maybe(d.Until),
	}
}

func newHostRepository(r *retention.Repository) HostRepository {
	pins := make([]HostPin, len(r.Pins))
	for i, p := range r.Pins {
		pins[i] = newHostPin(p)
	}
	return HostRepository{
		Repository: r.Name, Pins: pins, Previous: fullNames(r.Previous), Skipped: r.Skipped,
		Images: r.Images, Candidates: r.Candidates, Delete: r.Delete, ReclaimableBytes: r.Bytes,
	}
}

func newHostPin(p pin.Pin) HostPin {
	return HostPin{Name: p.String(), From: p.From, Passive: p.Passive}
}

func fullNames(names []image.Name) []string {
	texts := make([]string, len(names))
	for i, n := range names {
		texts[i] = n.String()
	}
	return texts
}

// maybe is a time that may not be known.
func maybe(t time.Time) *Time {
	if t.IsZero() {
		return nil
	}
	return &Time{t}
}
