package s3

import (
	"slices"
	"strings"
)

// sample asks for the names that a directory has left, and spreads boundaries
// over them. It takes the highest directory in which the span has met two names:
// most of what is left is behind it.
func (s *span) sample(deepest string) {
	level := s.branches(deepest)
	if level < 0 || s.walk.room(0) <= 0 {
		return
	}
	f := &s.stack[level]
	each := s.pagesIn(f) / float64(f.names.count)
	names, more := s.names(f, each)
	left := int(each * float64(len(names)))
	if left < 2*worthwhile {
		f.names.dry = true
		return
	}
	count := min(left/worthwhile, s.walk.room(left))
	var cuts []string
	for i := 1; i < count; i++ {
		cuts = append(cuts, names[i*len(names)/count])
	}
	if more && len(cuts) > 0 {
		cuts = append(cuts, names[len(names)-1])
	}
	s.cut(level, cuts)
}

// branches is the highest level worth a sample, or -1: one whose names tell
// nothing by themselves, and that the span does not end inside a name of.
func (s *span) branches(deepest string) int {
	for i := range s.levels(deepest) {
		if i+1 < len(s.stack) {
			if _, ends := s.endIn(s.stack[i+1].dir); ends {
				continue
			}
		}
		if t := &s.stack[i].names; t.count > 1 && t.width < 0 && !t.dry {
			return i
		}
	}
	return -1
}

// names are those in a directory between the last path and the span's end, and
// whether there are more of them. A failure only means that nothing is known.
func (s *span) names(f *frame, each float64) ([]string, bool) {
	prefix := f.dir
	if prefix != "" {
		prefix += "/"
	}
	var names []string
	after := prefix + f.names.last + "/" + highest
	for {
		var p page
		ask := listing{prefix: prefix, after: after, delimiter: "/", limit: pageSize}
		s.walk.spend(1)
		if err := s.walk.list(s.walk.ctx, ask, &p); err != nil {
			return nil, false
		}
		found, inRange := s.sampled(&p, prefix)
		if slices.ContainsFunc(found, func(name string) bool { return strings.Contains(name, "/") }) {
			return nil, false // the server does not know delimiters
		}
		names = append(names, found...)
		if !p.truncated || !inRange || len(found) == 0 {
			return names, false
		}
		left := each * float64(len(names))
		if each*float64(len(found)) < samplesLeast || int(left)/worthwhile >= s.walk.room(int(left)) {
			return names, true
		}
		after = prefix + names[len(names)-1] + "/" + highest
	}
}

// sampled are the names of one page, and whether the last is still the span's.
func (s *span) sampled(p *page, prefix string) ([]string, bool) {
	paths := slices.Clone(p.dirs)
	for _, i := range p.items {
		paths = append(paths, i.path)
	}
	slices.Sort(paths)
	var names []string
	for _, path := range paths {
		if s.end != "" && path >= s.end {
			return names, false
		}
		if name := strings.TrimPrefix(path, prefix); name != "" && path > s.after {
			names = append(names, name)
		}
	}
	return names, true
}
