package report

import (
	"time"

	"github.com/ebb-io/ebb/internal/execute"
)

// Result is the document of a run: its plan, and what became of it.
type Result struct {
	Plan
	Deleted            execute.Deleted `json:"deleted"`
	FreedBytes         int64           `json:"freedBytes"`
	MeasuredFreedBytes int64           `json:"measuredFreedBytes"`
	Failed             []Failure       `json:"failed"`
	StartedAt          Time            `json:"startedAt"`
	FinishedAt         Time            `json:"finishedAt"`
	// Stopped says why the run did not come to its end; empty when it did.
	Stopped string `json:"stopped"`
	Memory
}

// Memory is what a registry's cache of descriptors still remembers of what is
// gone.
type Memory struct {
	// Flushed is how many keys were removed from the registry's cache in Redis.
	Flushed int64 `json:"flushedKeys"`
	// Remedy says what must still be done before the registry takes writes;
	// empty where nothing is known to remember anything.
	Remedy string `json:"remedy"`
}

// Failure is something that could not be deleted.
type Failure struct {
	Path  string `json:"path"`
	Error string `json:"error"`
}

// Outcome is what a run did, beside its plan.
type Outcome struct {
	Deleted            execute.Deleted
	FreedBytes         int64
	MeasuredFreedBytes int64
	Failed             []Failure
	Stopped            string
	Memory             Memory
	StartedAt          time.Time
	FinishedAt         time.Time
}

// NewResult writes a run down.
func NewResult(p Plan, o Outcome) Result {
	p.Kind = kindOf(KindResult)
	return Result{
		Plan: p, Deleted: o.Deleted, FreedBytes: o.FreedBytes, MeasuredFreedBytes: o.MeasuredFreedBytes,
		Failed: list(o.Failed), StartedAt: Time{o.StartedAt}, FinishedAt: Time{o.FinishedAt},
		Stopped: o.Stopped, Memory: o.Memory,
	}
}

// deletedAny tells whether anything is gone.
func (o Outcome) deletedAny() bool { return o.Deleted != execute.Deleted{} }
