package host

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"time"

	app "github.com/ebb-io/ebb/internal/app/host"
	"github.com/ebb-io/ebb/internal/cli"
	"github.com/ebb-io/ebb/internal/image"
	"github.com/ebb-io/ebb/internal/metrics"
	"github.com/ebb-io/ebb/internal/pin"
	"github.com/ebb-io/ebb/internal/report"
	"github.com/ebb-io/ebb/internal/retention"
	"github.com/ebb-io/ebb/internal/store/docker"
)

// pass is one pass of a watch, and all that is told of it. It says how long to
// wait for the next.
func (w *watch) pass(ctx context.Context) time.Duration {
	started := w.Now()
	result, err := w.try(ctx)
	if result == nil {
		result = &app.Result{StartedAt: started, FinishedAt: w.Now()}
	}
	if result.Pass == nil {
		result.Pass = &app.Pass{Plan: &retention.Plan{Now: started, Policy: w.policy}}
	}
	o := outcome(result, err)
	wait := w.schedule.Next(again(result, err))
	var next time.Time // none when it is about to end
	if ctx.Err() == nil {
		next = result.FinishedAt.Add(wait)
	}
	w.tell(result, o, err, next)
	w.observe(result, o, err)
	line, failed := json.Marshal(report.NewHostResult(report.NewHostPlan(w.document(result.Pass)), o))
	if failed != nil {
		w.log.Error("the result can not be written", "error", failed)
		return wait
	}
	if w.Common.Output == cli.JSON {
		_, _ = w.Out.Write(append(line, '\n')) // the stream remembers its failures
	}
	w.notify(ctx, line)
	return wait
}

// again tells whether to try again soon: where the host is busy, or the engine
// or the pins can not be read. A limit or a lack of pins does not go by itself.
func again(result *app.Result, err error) bool {
	if err == nil {
		return changed(result) > 0
	}
	return !errors.Is(err, app.ErrLimit) && !errors.Is(err, app.ErrNoPins)
}

// try is what run does.
func (w *watch) try(ctx context.Context) (*app.Result, error) {
	at, err := w.where.open(ctx, w.App)
	if err != nil {
		return nil, err
	}
	defer at.close()
	return app.Run(ctx, at.engine, at.dir, app.RunRequest{Request: w.request(), QuietFor: w.quietFor})
}

// tell writes one line for each repository and one for the pass, whatever it
// did.
func (w *watch) tell(result *app.Result, o report.HostOutcome, err error, next time.Time) {
	for _, text := range warnings(result.Pass) {
		w.log.Warn(text)
	}
	lost := lostBy(result)
	for i := range result.Plan.Repositories {
		r := &result.Plan.Repositories[i]
		l := lost[r.Name]
		attrs := []any{
			"repository", image.FamiliarRepository(r.Name), "images", r.Images, "pins", endings(pin.Names(r.Pins)), "previous", endings(r.Previous),
			"candidates", r.Candidates, "deleted", l.images, "kept", r.Images - l.images, "bytes", l.bytes,
		}
		if r.Skipped != nil {
			attrs = append(attrs, "skipped", string(r.Skipped.Code), "why", r.Skipped.Detail)
		}
		w.log.Info("repository", attrs...)
	}
	attrs := []any{
		"outcome", passed(result, err), "images", result.Plan.Totals.Images, "deleted", o.Deleted.Images, "failed", len(o.Failed),
		"refused", len(o.Refused), "changed", len(o.Skipped), "bytes", o.FreedBytes, "measured", o.MeasuredFreedBytes, "took", result.FinishedAt.Sub(result.StartedAt).Round(time.Millisecond),
	}
	if !next.IsZero() {
		attrs = append(attrs, "next", next.UTC().Format(time.RFC3339))
	}
	level := slog.LevelInfo
	if err != nil {
		level = slog.LevelError
		attrs = append(attrs, "error", oneLine(err))
	}
	w.log.Log(context.Background(), level, "pass", attrs...)
}

// loss is what went of one repository.
type loss struct {
	images int
	bytes  int64
}

func lostBy(result *app.Result) map[string]loss {
	lost := map[string]loss{}
	for _, d := range result.Outcome.Deleted {
		l := lost[d.Repository]
		l.images++
		l.bytes += d.Bytes
		lost[d.Repository] = l
	}
	return lost
}

func endings(names []image.Name) string { return strings.Join(report.Endings(names), ",") }

// passed is how a pass ended, in the words of metrics.
func passed(result *app.Result, err error) string {
	_, known := code(err)
	postponed := slices.ContainsFunc(result.Plan.Decisions, func(d retention.Decision) bool { return d.Postponed })
	switch {
	case len(result.Outcome.Failed) > 0 && len(result.Outcome.Deleted) > 0:
		return metrics.Partial
	case err != nil && known && !errors.Is(err, docker.ErrAway) && len(result.Outcome.Failed) == 0:
		return metrics.Refused
	case err != nil:
		return metrics.Failed
	case postponed || changed(result) > 0:
		return metrics.Partial
	}
	return metrics.Done
}

func (w *watch) observe(result *app.Result, o report.HostOutcome, err error) {
	plan := result.Plan
	if plan.Engine.ID == "" { // it did not get that far
		plan = nil
	}
	w.metrics.Observe(plan, o.Deleted.Images, o.FreedBytes, o.MeasuredFreedBytes, passed(result, err),
		result.FinishedAt, result.FinishedAt.Sub(result.StartedAt))
	if w.flags.textfile == "" {
		return
	}
	if err := w.metrics.WriteTextfile(w.flags.textfile); err != nil {
		w.log.Warn("metrics are not written", "error", oneLine(err))
	}
}
