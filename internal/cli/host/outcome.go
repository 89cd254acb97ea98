package host

import (
	"slices"
	"strings"

	app "github.com/ebb-io/ebb/internal/app/host"
	execute "github.com/ebb-io/ebb/internal/execute/host"
	"github.com/ebb-io/ebb/internal/report"
)

// outcome is a result as reports know it.
func outcome(result *app.Result, stopped error) report.HostOutcome {
	o := report.HostOutcome{
		Failed: failures(result.Outcome.Failed), Refused: failures(result.Outcome.Refused), FreedBytes: result.Outcome.FreedBytes,
		MeasuredFreedBytes: result.MeasuredFreedBytes, Measured: result.Measured,
		StartedAt: result.StartedAt, FinishedAt: result.FinishedAt,
	}
	o.Skipped = failures(slices.Concat(result.Outcome.Moved, result.Outcome.Skipped))
	for _, d := range result.Outcome.Deleted {
		o.Gone = append(o.Gone, d.ID)
		o.Deleted.Images++
		o.Deleted.Names += len(d.Names)
	}
	if stopped != nil {
		o.Stopped = oneLine(stopped)
	}
	return o
}

func failures(failed []execute.Failure) []report.HostFailure {
	var found []report.HostFailure
	for _, f := range failed {
		one := report.HostFailure{ID: f.ID.String(), Error: oneLine(f.Why)}
		for _, n := range f.Names {
			one.Names = append(one.Names, n.String())
		}
		found = append(found, one)
	}
	return found
}

// oneLine writes joined errors side by side.
func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }
