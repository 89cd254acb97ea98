package host

import (
	"strings"

	app "github.com/ebb-io/ebb/internal/app/host"
	execute "github.com/ebb-io/ebb/internal/execute/host"
	"github.com/ebb-io/ebb/internal/report"
)

// outcome is a result as reports know it.
func outcome(result *app.Result, stopped error) report.HostOutcome {
	o := report.HostOutcome{
		Failed: failures(result.Outcome.Failed), Refused: failures(result.Outcome.Refused), FreedBytes: result.Outcome.Freed,
		MeasuredFreedBytes: result.MeasuredFreedBytes, Measured: result.Measured,
		StartedAt: result.StartedAt, FinishedAt: result.FinishedAt,
	}
	for _, step := range result.Outcome.Deleted {
		o.Gone = append(o.Gone, step.ID)
	}
	o.Deleted = report.HostDeleted{Images: len(o.Gone), Names: result.Outcome.Names}
	if stopped != nil {
		o.Stopped = oneLine(stopped)
	}
	return o
}

func failures(failed []execute.Failure) []report.HostFailure {
	var found []report.HostFailure
	for _, f := range failed {
		one := report.HostFailure{ID: f.Step.ID.String(), Error: oneLine(f.Err)}
		for _, n := range f.Step.Names {
			one.Names = append(one.Names, n.String())
		}
		found = append(found, one)
	}
	return found
}

// oneLine writes joined errors side by side.
func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }
