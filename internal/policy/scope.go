package policy

import (
	"fmt"
	"regexp"
	"strings"
)

// Glob matches repository names: a star stands for anything within a path
// segment, two stars for anything at all.
type Glob struct {
	text       string
	expression *regexp.Regexp
}

// ParseGlob reads a pattern such as "apps/*" or "team/**".
func ParseGlob(text string) (Glob, error) {
	if text == "" || strings.ContainsAny(text, "?[]{}\\ ") {
		return Glob{}, fmt.Errorf("repository pattern %q: only * and ** stand for anything in it", text)
	}
	var b strings.Builder
	for i, part := range strings.Split(text, "**") {
		if i > 0 {
			b.WriteString(".*")
		}
		b.WriteString(strings.ReplaceAll(regexp.QuoteMeta(part), `\*`, "[^/]*"))
	}
	expression, err := regexp.Compile("^" + b.String() + "$")
	if err != nil {
		return Glob{}, fmt.Errorf("repository pattern %q: %w", text, err)
	}
	return Glob{text: text, expression: expression}, nil
}

// Match tells whether the name is meant.
func (g Glob) Match(name string) bool { return g.expression.MatchString(name) }

// String is the pattern as it was written.
func (g Glob) String() string { return g.text }

// Scope is which repositories may be cleaned.
type Scope struct {
	Include []Glob // empty: all
	Exclude []Glob
}

// Contains tells whether a repository may be cleaned. Under several names it
// must be included by the first and excluded by none.
func (s Scope) Contains(name string, aliases ...string) bool {
	if len(s.Include) > 0 && !anyMatch(s.Include, name) {
		return false
	}
	for _, n := range append([]string{name}, aliases...) {
		if anyMatch(s.Exclude, n) {
			return false
		}
	}
	return true
}

func anyMatch(globs []Glob, name string) bool {
	for _, g := range globs {
		if g.Match(name) {
			return true
		}
	}
	return false
}
