package report

import (
	"time"

	"github.com/ebb-io/ebb/internal/image"
)

// HostResult is the document of a run on a Docker host: its plan, and what
// became of it.
type HostResult struct {
	HostPlan
	Deleted HostDeleted `json:"deleted"`
	// FreedBytes are the unique bytes of what was deleted, an estimate.
	FreedBytes         int64         `json:"freedBytes"`
	MeasuredFreedBytes int64         `json:"measuredFreedBytes"` // by which free space grew; zero where Measured is false
	Measured           bool          `json:"measured"`
	Failed             []HostFailure `json:"failed"`
	Refused            []HostFailure `json:"refused"` // by the engine, which uses them
	Skipped            []HostFailure `json:"skipped"` // they, or their repository, changed meanwhile
	StartedAt          Time          `json:"startedAt"`
	FinishedAt         Time          `json:"finishedAt"`
	// Stopped says why the run did not come to its end; empty when it did.
	Stopped string `json:"stopped"`
}

// HostDeleted counts what is gone.
type HostDeleted struct {
	Images int `json:"images"`
	Names  int `json:"names"`
}

// HostFailure is an image that could not be deleted.
type HostFailure struct {
	ID    string   `json:"id"`
	Names []string `json:"names"` // in full
	Error string   `json:"error"`
}

// HostOutcome is what a run did, beside its plan.
type HostOutcome struct {
	Deleted            HostDeleted
	Gone               []image.Digest // the images that are gone
	FreedBytes         int64
	MeasuredFreedBytes int64
	Measured           bool
	Failed             []HostFailure
	Refused            []HostFailure
	Skipped            []HostFailure
	Stopped            string
	StartedAt          time.Time
	FinishedAt         time.Time
}

// Begun tells whether anything was tried.
func (o HostOutcome) Begun() bool {
	return o.Deleted.Images+len(o.Failed)+len(o.Refused)+len(o.Skipped) > 0
}

// NewHostResult writes a run down.
func NewHostResult(p HostPlan, o HostOutcome) HostResult {
	p.Kind = kindOf(KindResult)
	return HostResult{
		HostPlan: p, Deleted: o.Deleted, FreedBytes: o.FreedBytes, MeasuredFreedBytes: o.MeasuredFreedBytes, Measured: o.Measured,
		Failed: failuresOf(o.Failed), Refused: failuresOf(o.Refused), Skipped: failuresOf(o.Skipped),
		StartedAt: Time{o.StartedAt}, FinishedAt: Time{o.FinishedAt}, Stopped: o.Stopped,
	}
}

func failuresOf(failed []HostFailure) []HostFailure {
	found := make([]HostFailure, len(failed))
	for i, f := range failed {
		found[i] = HostFailure{ID: f.ID, Names: list(f.Names), Error: f.Error}
	}
	return found
}
