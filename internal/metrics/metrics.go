// Package metrics tells Prometheus of passes over a Docker host: what was
// found, kept and deleted, and when. It serves them over HTTP and writes the
// file that the node exporter's textfile collector reads.
//
// It refuses to decide, to keep anything global, and to label by what is not
// bounded: a repository is a label only while it is pinned.
package metrics

import (
	"net/http"
	"runtime"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/ebb-io/ebb/internal/retention"
)

// The outcomes of a pass. Only Done and Partial set the last success.
const (
	Done    = "done"    // everything that could go is gone
	Partial = "partial" // some deletions failed, or a limit cut the pass
	Refused = "refused" // nothing was judged: no pins, a busy host, over a limit
	Failed  = "failed"  // an error ended it
)

// Metrics are the metrics of one engine's passes.
type Metrics struct {
	registry *prometheus.Registry

	images, bytes, reclaimable prometheus.Gauge
	kept, candidates           *prometheus.GaugeVec
	deleted, freed, measured   prometheus.Counter
	passes                     *prometheus.CounterVec
	last                       *prometheus.GaugeVec
	success                    *prometheus.GaugeVec // without labels; absent until there is one
	duration                   prometheus.Gauge
	lastDeleted, lastFreed     prometheus.Gauge
}

// New makes metrics with a registry of their own. Version is this program's.
func New(version string) *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry()}
	m.images = m.gauge("images", "Images that the engine held at the last pass.")
	m.bytes = m.gauge("images_bytes", "Bytes of those images, what they share counted once as far as that is known.")
	m.reclaimable = m.gauge("reclaimable_bytes", "Unique bytes of images that the last plan deletes, an estimate.")
	m.kept = m.gauges("images_kept", "Images that the last plan keeps, by the strongest reason.", "reason")
	m.candidates = m.gauges("candidates", "Images of a pinned repository that go, or that only time, a limit or a refusal keeps.", "repository")
	m.deleted = m.counter("deleted_images_total", "Images that were deleted.")
	m.freed = m.counter("freed_bytes_total", "Unique bytes of the images that were deleted, an estimate.")
	m.measured = m.counter("measured_freed_bytes_total", "Bytes by which the engine's file system had more room after passes that deleted.")
	m.passes = m.counters("passes_total", "Passes, by outcome.", "outcome")
	m.last = m.gauges("last_pass_timestamp_seconds", "When the last pass of each outcome ended.", "outcome")
	m.success = m.gauges("last_success_timestamp_seconds", "When the last pass ended that did what could be done.")
	m.duration = m.gauge("last_pass_duration_seconds", "How long the last pass took.")
	m.lastDeleted = m.gauge("last_pass_deleted_images", "Images that the last pass deleted.")
	m.lastFreed = m.gauge("last_pass_freed_bytes", "Unique bytes of the images that the last pass deleted, an estimate.")
	m.build(version)
	for _, outcome := range []string{Done, Partial, Refused, Failed} {
		m.passes.WithLabelValues(outcome)
	}
	return m
}

// build is ebb_build_info, which is 1.
func (m *Metrics) build(version string) {
	info := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Namespace: "ebb", Name: "build_info", Help: "Always 1: which program this is.",
	}, []string{"version", "goversion"})
	m.registry.MustRegister(info)
	info.WithLabelValues(version, runtime.Version()).Set(1)
}

// Observe takes in a pass that ended at a time: its plan, where it got that
// far, how many images were deleted, their unique bytes, and by how much the
// file system grew free, which is negative where others wrote meanwhile.
func (m *Metrics) Observe(p *retention.Plan, deleted int, freedEstimate, measured int64, outcome string, at time.Time, took time.Duration) {
	if p != nil {
		m.plan(p)
	}
	m.deleted.Add(float64(max(deleted, 0)))
	m.freed.Add(float64(max(freedEstimate, 0)))
	if deleted > 0 {
		m.measured.Add(float64(max(measured, 0)))
	}
	m.passes.WithLabelValues(outcome).Inc()
	m.last.WithLabelValues(outcome).Set(seconds(at))
	m.lastDeleted.Set(float64(deleted))
	m.lastFreed.Set(float64(freedEstimate))
	m.duration.Set(took.Seconds())
	if outcome == Done || outcome == Partial {
		m.success.WithLabelValues().Set(seconds(at))
	}
}

// plan replaces what the last one said: a repository that is no longer pinned
// is gone from the labels.
func (m *Metrics) plan(p *retention.Plan) {
	m.images.Set(float64(p.Totals.Images))
	m.bytes.Set(float64(p.Totals.Bytes))
	m.reclaimable.Set(float64(p.Totals.ReclaimableBytes))
	m.kept.Reset()
	for _, d := range p.Decisions {
		if !d.Delete && len(d.Reasons) > 0 {
			m.kept.WithLabelValues(string(d.Reasons[0].Code)).Inc()
		}
	}
	m.candidates.Reset()
	for _, r := range p.Repositories {
		m.candidates.WithLabelValues(r.Name).Set(float64(r.Candidates))
	}
}

func seconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }

// Handler serves the metrics.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

// WriteTextfile writes the metrics to a file whose name must end in .prom to be
// read by the node exporter. The file appears whole, and anyone may read it.
func (m *Metrics) WriteTextfile(path string) error {
	return prometheus.WriteToTextfile(path, m.registry)
}
