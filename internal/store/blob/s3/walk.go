package s3

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ebb-io/ebb/internal/store/blob"
)

// lister shows one page; tests put theirs in the place of a server.
type lister func(context.Context, listing, *page) error

// Walk shows the files below dir. It lists all keys there, whatever the visitor
// skips, but jumps over a skipped directory where a page ends in it. A large
// listing is split into spans that are listed at once; see split.go.
func (d *Driver) Walk(ctx context.Context, dir string, v blob.Visitor) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := blob.CheckDir(dir); err != nil {
		return d.wrap("", err)
	}
	w := newWalk(ctx, d.list, dir, v)
	w.run()
	if err := ctx.Err(); err != nil {
		return err
	}
	if dir != "" && !w.exists() {
		return d.absent(dir)
	}
	return ctx.Err()
}

// walk is one call of Walk.
type walk struct {
	ctx     context.Context
	list    lister
	root    string
	prefix  string // of all that is below the root
	visitor blob.Visitor
	bounded bool

	spans  sync.WaitGroup
	seen   atomic.Bool // something is below the root
	failed atomic.Bool

	mu      sync.Mutex
	budget  budget
	active  int       // spans that are being listed
	began   time.Time // by the server's clock; zero until the first page
	last    string    // the greatest path of all
	settled string    // the greatest path of those that were there when the walk began
	ended   []*span   // of which the server said that nothing follows
}

func newWalk(ctx context.Context, list lister, dir string, v blob.Visitor) *walk {
	w := &walk{ctx: ctx, list: list, root: dir, visitor: v, bounded: v.First != "" || v.Last != ""}
	if dir != "" {
		w.prefix = dir + "/"
	}
	return w
}

func (w *walk) run() {
	first := &span{walk: w, stack: []frame{{dir: w.root, step: blob.List()}}}
	if w.visitor.First != "" {
		first.after = below(w.prefix, w.visitor.First)
	}
	if w.visitor.Last != "" {
		first.end = behind(w.prefix, w.visitor.Last)
	}
	w.start(first)
	w.spans.Wait()
	if w.ctx.Err() == nil {
		w.prove()
	}
}

func (w *walk) start(s *span) {
	w.mu.Lock()
	w.active++
	w.mu.Unlock()
	w.spans.Go(func() {
		s.run()
		w.mu.Lock()
		w.active--
		w.mu.Unlock()
	})
}

// fail tells that what lies between two paths is not known.
func (w *walk) fail(after, end string, err error) {
	if w.ctx.Err() != nil {
		return
	}
	w.failed.Store(true)
	w.visitor.Fail(w.cover(after, end), err)
}

// cover is the deepest directory that holds all that lies between two paths.
func (w *walk) cover(after, end string) string {
	if end == "" || after == "" {
		return w.root
	}
	dir := commonDir(after, end)
	if len(dir) < len(w.root) {
		return w.root
	}
	return dir
}

// saw keeps what the proof at the end needs. Files that came while the walk went
// on, by the server's clock, prove nothing.
func (w *walk) saw(p *page) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.budget.pages++
	if w.began.IsZero() {
		w.began = p.date
	}
	for _, i := range p.items {
		w.last = max(w.last, i.path)
		if !w.meanwhile(i) {
			w.settled = max(w.settled, i.path)
		}
	}
}

func (w *walk) meanwhile(i item) bool {
	return !w.began.IsZero() && !i.modTime.IsZero() && !i.modTime.Before(w.began.Truncate(time.Second))
}

// prove asks once more whether anything follows, and compares what the spans
// were told: a server that says too early that there is no more would make
// files look absent.
func (w *walk) prove() {
	for _, s := range w.ended {
		if s.after < w.settled {
			w.fail(s.after, "", early(s.after, w.settled))
		}
	}
	for len(w.ended) > 0 && w.ctx.Err() == nil { // else all stopped at a bound, or failed and told so
		last := slices.MaxFunc(w.ended, func(a, b *span) int { return strings.Compare(a.after, b.after) })
		last.after = max(last.after, w.last)
		more, err := w.follows(last.after)
		if err != nil {
			w.fail(last.after, "", err)
		}
		if err != nil || !more {
			return
		}
		w.ended = nil
		last.token, last.done = "", false
		w.start(last)
		w.spans.Wait()
	}
}

// follows tells whether files came behind the end since it was reached.
func (w *walk) follows(end string) (bool, error) {
	var p page
	if err := w.list(w.ctx, listing{prefix: w.prefix, after: end, limit: 1}, &p); err != nil {
		return false, err
	}
	switch {
	case len(p.items) > 0 && !w.meanwhile(p.items[0]):
		return false, early(end, p.items[0].path)
	case len(p.items) == 0 && p.truncated:
		return false, &distrust{"there is more, but it shows nothing"}
	}
	return len(p.items) > 0, nil
}

func early(end, next string) error {
	return &distrust{fmt.Sprintf("the listing ended early, at %q: %q follows", end, next)}
}

// exists tells whether the root is a directory. Where a bound or a failure hid
// that, it looks again, or does not doubt it.
func (w *walk) exists() bool {
	if w.seen.Load() || w.failed.Load() {
		return true
	}
	if !w.bounded || w.visitor.First == "" && w.last == "" { // a bound behind an empty page hides nothing
		return false
	}
	nothing := blob.Visitor{
		Enter: func(string) blob.Step { return blob.Skip() },
		File:  func(blob.Entry) {},
		Fail:  w.visitor.Fail,
	}
	all := newWalk(w.ctx, w.list, w.root, nothing)
	all.run()
	return all.exists()
}
