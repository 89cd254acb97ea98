package s3

import (
	"slices"
	"strings"
)

const (
	// grown is how many pages a span must have taken before it is cut by what
	// its names tell.
	grown = 4
	// worthwhile is how many pages a span must be good for: each costs about
	// half a page, the last one, which is seldom full.
	worthwhile = 8
	// overhead is how many pages there must be for each request that splitting
	// may add. Half of them would have been needed all the same.
	overhead = 18
	// samplesLeast is how many pages the names of one sample must be good for
	// to take another one.
	samplesLeast = 40
)

// budget bounds what splitting costs.
type budget struct {
	pages int // so far
	guess int // pages of the whole walk, from what is known
	extra int // requests that splitting has added, at most
}

func (b *budget) left() int { return max(b.pages, b.guess)/overhead - b.extra }

// room is how many spans more may be listed at once, and how many the budget
// has room for when the walk has remaining pages before it.
func (w *walk) room(remaining int) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.budget.guess = max(w.budget.guess, w.budget.pages+remaining)
	return min(inFlight-w.active, w.budget.left())
}

func (w *walk) spend(requests int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.budget.extra += requests
}

// split cuts the rest of a span that has proven large into several. The deepest
// directory that the last page was in bounds where: below it one page tells
// nothing.
func (s *span) split(deepest string) {
	if s.pages < grown {
		return
	}
	best, left := -1, 0
	for i := range s.levels(deepest) {
		if n := s.hexLeft(i); n > left {
			best, left = i, n
		}
	}
	if left >= 2*worthwhile {
		s.cutHex(best, left)
		return
	}
	s.sample(deepest)
}

// levels is how many frames, from the root on, are at or above a directory and
// list what is in them.
func (s *span) levels(deepest string) int {
	n := 0
	for _, f := range s.stack {
		if _, only := f.step.Leaf(); only || len(f.dir) > len(deepest) {
			break
		}
		n++
	}
	return n
}

// pagesIn is how many pages the span has spent in a frame's directory.
func (s *span) pagesIn(f *frame) float64 {
	return float64(s.keys-f.names.before) * float64(s.pages) / float64(s.keys)
}

// hexLeft guesses how many pages a directory of hexadecimal names has left for
// this span: names of digests are spread evenly. 0 where it cannot be said.
func (s *span) hexLeft(level int) int {
	f := &s.stack[level]
	t := &f.names
	if t.width < 0 || t.count == 0 || t.count < 2 && !s.fansOut(level) {
		return 0
	}
	last, limit := number(t.last, t.width, '0'), s.hexLimit(f)
	if limit <= last {
		return 0
	}
	passed := float64(last-number(t.first, t.width, '0')) + 1
	return int(s.pagesIn(f) * float64(limit-last) / passed)
}

// fansOut tells that the one name seen so far begins those in it, as when
// digests are spread over directories by how they begin.
func (s *span) fansOut(level int) bool {
	if level+1 >= len(s.stack) {
		return false
	}
	t := s.stack[level+1].names
	return t.count > 0 && t.width > 0 && strings.HasPrefix(t.first, s.stack[level].names.last)
}

// hexLimit is the last number that the span may meet in a directory.
func (s *span) hexLimit(f *frame) uint64 {
	t := &f.names
	start := f.dir[strings.LastIndexByte(f.dir, '/')+1:]
	if !strings.HasPrefix(t.first, start) || !strings.HasPrefix(t.last, start) || len(start) >= t.width {
		start = ""
	}
	limit := number(start, t.width, 'f')
	if end, ok := s.endIn(f.dir); ok {
		if len(end) < t.width || hexWidth(end[:t.width]) < 0 {
			return 0
		}
		limit = min(limit, number(end, t.width, '0'))
	}
	return limit
}

// endIn is the name in a directory at which the span ends, if it ends there.
func (s *span) endIn(dir string) (string, bool) {
	if s.end == "" {
		return "", false
	}
	return inside(dir, s.end)
}

// cutHex spreads boundaries over the numbers that a directory has left, and
// leaves what is behind the directory to a span of its own.
func (s *span) cutHex(level, left int) {
	f := &s.stack[level]
	t := &f.names
	_, ends := s.endIn(f.dir)
	room := s.walk.room(left)
	count := min(left/worthwhile, room+1)
	if !ends {
		count = min(count, room)
	}
	last, limit := number(t.last, t.width, '0'), s.hexLimit(f)
	var cuts []string
	for i := 1; i < count; i++ {
		at := last + uint64(float64(limit-last)*float64(i)/float64(count))
		cuts = append(cuts, name(at, t.width))
	}
	if !ends && room > 0 {
		cuts = append(cuts, name(limit, t.width)[:min(t.width, digits)]+highest)
	}
	s.cut(level, cuts)
}

// cut ends the span at the first of the names, which are in a directory around
// the last path, and starts spans that list from each to the next.
func (s *span) cut(level int, names []string) {
	dir := s.stack[level].dir
	if dir != "" {
		dir += "/"
	}
	cuts := make([]string, 0, len(names))
	for _, n := range names {
		cuts = append(cuts, dir+n)
	}
	slices.Sort(cuts)
	cuts = slices.DeleteFunc(slices.Compact(cuts), func(at string) bool {
		return at <= s.after || s.end != "" && at+"\x00" >= s.end
	})
	if len(cuts) == 0 {
		return
	}
	s.walk.spend(len(cuts))
	end := s.end
	s.end = cuts[0] + "\x00"
	for i, at := range cuts {
		next := end
		if i+1 < len(cuts) {
			next = cuts[i+1] + "\x00"
		}
		s.walk.start(&span{walk: s.walk, after: at, end: next, stack: s.above(level)})
	}
}

// above are the frames down to a level, for a span that begins in there.
func (s *span) above(level int) []frame {
	frames := make([]frame, 0, level+8)
	for _, f := range s.stack[:level+1] {
		frames = append(frames, frame{dir: f.dir, step: f.step})
	}
	return frames
}
