// Package metrics tells Prometheus of passes over a Docker host: what was
// found, kept and deleted, and when. It serves them over HTTP and writes the
// file that the node exporter's textfile collector reads.
//
// It refuses to decide, to keep anything global, and to label by what is not
// bounded: a repository is a label only while it is pinned.
package metrics

import (
	"bytes"
	"cmp"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/ebb-io/ebb/internal/retention"
)

// The outcomes of a pass. Only Done and Partial set the last success.
const (
	Done    = "done"    // everything that could go is gone
	Partial = "partial" // some of it stayed: it changed meanwhile, is over --max-deletes, or one failed after others went
	Refused = "refused" // it would not begin, or go on: no pins, a view that is not whole, a busy host, over a limit
	Failed  = "failed"  // an error ended it, or the engine is away
)

// Metrics are the metrics of one engine's passes.
type Metrics struct {
	mu  sync.Mutex
	all []*family // by name

	images, bytes, reclaimable, kept, candidates *family
	deleted, freed, measured, passes             *family
	last, success, duration                      *family
	lastDeleted, lastFreed                       *family
}

// New makes metrics of their own. Version is this program's.
func New(version string) *Metrics {
	m := &Metrics{}
	m.images = m.family(gauge, "images", "Images that the engine held at the last pass.")
	m.bytes = m.family(gauge, "images_bytes", "Bytes of those images, what they share counted once as far as that is known.")
	m.reclaimable = m.family(gauge, "reclaimable_bytes", "Unique bytes of images that the last plan deletes, an estimate.")
	m.kept = m.family(gauge, "images_kept", "Images that the last plan keeps, by the strongest reason.", "reason")
	m.candidates = m.family(gauge, "candidates", "Images of a pinned repository that go, or that only time, a limit or a refusal keeps.", "repository")
	m.deleted = m.family(counter, "deleted_images_total", "Images that were deleted.")
	m.freed = m.family(counter, "freed_bytes_total", "Unique bytes of the images that were deleted, an estimate.")
	m.measured = m.family(counter, "measured_freed_bytes_total", "Bytes by which the engine's file system had more room after passes that deleted.")
	m.passes = m.family(counter, "passes_total", "Passes, by outcome.", "outcome")
	m.last = m.family(gauge, "last_pass_timestamp_seconds", "When the last pass of each outcome ended.", "outcome")
	m.success = m.family(gauge, "last_success_timestamp_seconds", "When the last pass ended that did what could be done.")
	m.success.reset() // absent until there is one
	m.duration = m.family(gauge, "last_pass_duration_seconds", "How long the last pass took.")
	m.lastDeleted = m.family(gauge, "last_pass_deleted_images", "Images that the last pass deleted.")
	m.lastFreed = m.family(gauge, "last_pass_freed_bytes", "Unique bytes of the images that the last pass deleted, an estimate.")
	for _, outcome := range []string{Done, Partial, Refused, Failed} {
		m.passes.set(0, outcome)
	}
	build := newFamily(gauge, "ebb_build_info", "Always 1: which program this is.", "goversion", "version")
	build.set(1, runtime.Version(), version)
	m.all = append(m.all, build)
	slices.SortFunc(m.all, func(a, b *family) int { return cmp.Compare(a.name, b.name) })
	return m
}

func (m *Metrics) family(kind, name, help string, labels ...string) *family {
	f := newFamily(kind, "ebb_host_"+name, help, labels...)
	m.all = append(m.all, f)
	return f
}

// Observe takes in a pass that ended at a time: its plan, where it got that
// far, how many images were deleted, their unique bytes, and by how much the
// file system grew free, which is negative where others wrote meanwhile.
func (m *Metrics) Observe(p *retention.Plan, deleted int, freedEstimate, measured int64, outcome string, at time.Time, took time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if p != nil {
		m.plan(p)
	}
	m.deleted.add(float64(max(deleted, 0)))
	m.freed.add(float64(max(freedEstimate, 0)))
	if deleted > 0 {
		m.measured.add(float64(max(measured, 0)))
	}
	m.passes.add(1, outcome)
	m.last.set(seconds(at), outcome)
	m.lastDeleted.set(float64(deleted))
	m.lastFreed.set(float64(freedEstimate))
	m.duration.set(took.Seconds())
	if outcome == Done || outcome == Partial {
		m.success.set(seconds(at))
	}
}

// plan replaces what the last one said: a repository that is no longer pinned
// is gone from the labels.
func (m *Metrics) plan(p *retention.Plan) {
	m.images.set(float64(p.Totals.Images))
	m.bytes.set(float64(p.Totals.Bytes))
	m.reclaimable.set(float64(p.Totals.ReclaimableBytes))
	m.kept.reset()
	for _, d := range p.Decisions {
		if !d.Delete && len(d.Reasons) > 0 {
			m.kept.add(1, string(d.Reasons[0].Code))
		}
	}
	m.candidates.reset()
	for _, r := range p.Repositories {
		m.candidates.set(float64(r.Candidates), r.Name)
	}
}

func seconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }

// text is all metrics in Prometheus' text format.
func (m *Metrics) text() []byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	var b bytes.Buffer
	for _, f := range m.all {
		f.writeTo(&b)
	}
	return b.Bytes()
}

// Handler serves the metrics.
func (m *Metrics) Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		_, _ = w.Write(m.text()) // a reader that is gone needs no more
	})
}

// WriteTextfile writes the metrics to a file whose name must end in .prom to be
// read by the node exporter. The file appears whole, and anyone may read it. It
// replaces no device and no link, only the file that a link leads to.
func (m *Metrics) WriteTextfile(path string) error {
	path, err := target(path)
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	_, written := f.Write(m.text())
	if err := errors.Join(written, f.Chmod(0o644), f.Close()); err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}
