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
	// RestartNeeded says that a running registry remembers what is gone.
	RestartNeeded bool `json:"restartNeeded"`
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
	RestartNeeded      bool
	StartedAt          time.Time
	FinishedAt         time.Time
}

// NewResult writes a run down.
func NewResult(p Plan, o Outcome) Result {
	p.Kind = kindOf(KindResult)
	return Result{
		Plan: p, Deleted: o.Deleted, FreedBytes: o.FreedBytes, MeasuredFreedBytes: o.MeasuredFreedBytes,
		Failed: list(o.Failed), StartedAt: Time{o.StartedAt}, FinishedAt: Time{o.FinishedAt},
		Stopped: o.Stopped, RestartNeeded: o.RestartNeeded,
	}
}

// deletedAny tells whether anything is gone.
func (o Outcome) deletedAny() bool { return o.Deleted != execute.Deleted{} }
