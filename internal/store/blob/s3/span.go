package s3

import (
	"strings"

	"github.com/ebb-io/ebb/internal/store/blob"
)

// span is a stretch of the keys that is listed page by page. Spans meet at
// names of one directory and never cut through one below it, so each directory
// is entered once: those above are entered when the stretch is cut.
type span struct {
	walk  *walk
	after string  // what was shown last, or where the stretch begins; not part of what is left
	end   string  // the first path behind the stretch; "" is none
	token string  // to go on behind what was shown last
	stack []frame // the directories around the last path, the root first

	done  bool
	pages int // since the span began
	keys  int
	empty int // pages in a row that showed nothing
}

// frame is a directory that the span is in.
type frame struct {
	dir     string
	step    blob.Step
	names   tally
	ignored int // files of it that nobody asked for
}

// emptyPages is how many pages may show nothing and say that there is more.
const emptyPages = 16

func (s *span) run() {
	var p page
	for !s.done && s.walk.ctx.Err() == nil {
		if err := s.step(&p); err != nil {
			s.walk.fail(s.after, s.end, err)
			return
		}
	}
}

// step lists and shows one page and finds out how to go on.
func (s *span) step(p *page) error {
	w := s.walk
	ask := listing{prefix: w.prefix, after: s.after, token: s.token, limit: pageSize}
	if err := w.list(w.ctx, ask, p); err != nil {
		return err
	}
	w.saw(p)
	s.pages++
	for _, i := range p.items {
		if s.end != "" && i.path >= s.end {
			s.done = true
			if s.counts(i.path) {
				w.seen.Store(true)
			}
			return nil
		}
		s.after = i.path
		s.keys++
		if s.show(i); w.ctx.Err() != nil {
			return nil
		}
	}
	return s.goOn(p)
}

func (s *span) goOn(p *page) error {
	if s.empty++; len(p.items) > 0 {
		s.empty = 0
	}
	if s.empty > emptyPages {
		return &distrust{"it shows nothing, page after page, and says that there is more"}
	}
	if !p.truncated {
		s.done = true
		s.walk.mu.Lock()
		s.walk.ended = append(s.walk.ended, s)
		s.walk.mu.Unlock()
		return nil
	}
	s.token = p.next
	if target := s.jump(); target != "" {
		s.after, s.token = target, ""
		s.done = s.end != "" && target >= s.end
		return nil
	}
	if len(p.items) > 0 {
		s.split(commonDir(p.items[0].path, s.after))
	}
	return nil
}

func (s *span) top() *frame { return &s.stack[len(s.stack)-1] }

// inside is what path is called in dir, which is a directory or "".
func inside(dir, path string) (string, bool) {
	if dir == "" {
		return path, true
	}
	rest, ok := strings.CutPrefix(path, dir)
	if !ok || rest == "" || rest[0] != '/' {
		return "", false
	}
	return rest[1:], true
}

// counts tells whether a path makes the root a directory.
func (s *span) counts(path string) bool {
	rest, ok := inside(s.walk.root, path)
	return ok && blob.CheckPath(rest) == nil
}

// show asks about directories that begin with this file, and shows it.
func (s *span) show(i item) {
	rest, ok := inside(s.top().dir, i.path)
	for !ok {
		s.stack = s.stack[:len(s.stack)-1]
		rest, ok = inside(s.top().dir, i.path)
	}
	if blob.CheckPath(rest) != nil {
		return
	}
	s.walk.seen.Store(true)
	for {
		top := s.top()
		if top.step.Skipped() {
			return
		}
		if leaf, only := top.step.Leaf(); only && leaf != rest {
			top.ignored++
			return
		}
		name, deeper, nested := strings.Cut(rest, "/")
		top.names.add(name)
		if !nested {
			s.walk.visitor.File(blob.Entry{Path: i.path, Size: i.size, ModTime: i.modTime})
			return
		}
		dir := i.path[:len(i.path)-len(deeper)-1]
		s.stack = append(s.stack, frame{dir: dir, step: s.walk.visitor.Enter(dir), names: tally{before: s.keys - 1}})
		if s.walk.ctx.Err() != nil {
			return
		}
		rest = deeper
	}
}

// worthAJump is how many files of a directory must have been in vain for the
// rest of them to be jumped over.
const worthAJump = pageSize / 4

// jump is where the listing may go on when the last path was in a directory of
// which nothing more is wanted, or not before a certain file; else "".
func (s *span) jump() string {
	for _, f := range s.stack {
		if _, in := inside(f.dir, s.after); !in {
			return ""
		}
		if f.step.Skipped() {
			return f.dir + "/" + highest
		}
		leaf, only := f.step.Leaf()
		if !only || f.ignored < worthAJump {
			continue
		}
		if s.after >= f.dir+"/"+leaf {
			return f.dir + "/" + highest
		}
		return max(s.after, below(f.dir+"/", leaf))
	}
	return ""
}
