package refs

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Values are what tells one object of a kind from another.
type Values struct {
	Namespace string
	Name      string
	UID       string
}

// Pattern is a repository or a tag with variables, such as
// "vi/{namespace}/{name}". It can be used in both directions: Build writes the
// text for an object, Match reads the object from a text. The zero value
// matches and builds nothing.
type Pattern struct {
	text     string
	segments []segment
}

// segment is what stands between two slashes: a literal, or a literal around
// one variable.
type segment struct {
	prefix, variable, suffix string
}

var variables = regexp.MustCompile(`\{[^{}]*\}`)

// known are the variables that a pattern may hold.
func known() []string { return []string{"{namespace}", "{name}", "{uid}"} }

// ParsePattern reads a pattern. It refuses one that can not be read backwards
// without guessing: two variables in one segment, a variable twice, or none.
func ParsePattern(text string) (Pattern, error) {
	p := Pattern{text: text}
	seen := map[string]bool{}
	for part := range strings.SplitSeq(text, "/") {
		s, err := parseSegment(part)
		if err != nil {
			return Pattern{}, fmt.Errorf("pattern %q: %w", text, err)
		}
		if s.variable != "" && seen[s.variable] {
			return Pattern{}, fmt.Errorf("pattern %q: %s stands in it twice", text, s.variable)
		}
		seen[s.variable] = true
		p.segments = append(p.segments, s)
	}
	if delete(seen, ""); len(seen) == 0 {
		return Pattern{}, fmt.Errorf("pattern %q: names no object: write {namespace}, {name} or {uid} in it", text)
	}
	return p, nil
}

func parseSegment(part string) (segment, error) {
	found := variables.FindAllString(part, -1)
	switch {
	case part == "":
		return segment{}, errors.New("has an empty segment: write it without a slash at an end or two in a row")
	case len(found) > 1:
		return segment{}, fmt.Errorf("can not be read backwards: %s share one segment", strings.Join(found, " and "))
	case len(found) == 0 && strings.ContainsAny(part, "{}"):
		return segment{}, fmt.Errorf("has an unpaired brace in %q", part)
	case len(found) == 0:
		return segment{prefix: part}, nil
	case !slices.Contains(known(), found[0]):
		return segment{}, fmt.Errorf("%s is unknown: %s can be used", found[0], strings.Join(known(), ", "))
	}
	prefix, suffix, _ := strings.Cut(part, found[0])
	if strings.ContainsAny(prefix+suffix, "{}") {
		return segment{}, fmt.Errorf("has an unpaired brace in %q", part)
	}
	return segment{prefix: prefix, variable: found[0], suffix: suffix}, nil
}

// String is the pattern as it was written.
func (p Pattern) String() string { return p.text }

// IsZero tells whether there is no pattern.
func (p Pattern) IsZero() bool { return len(p.segments) == 0 }

// HasLiteral tells whether the pattern holds any fixed text: one without it
// lays claim to whatever has its number of segments.
func (p Pattern) HasLiteral() bool {
	return slices.ContainsFunc(p.segments, func(s segment) bool { return s.prefix+s.suffix != "" })
}

// Uses tells whether the pattern holds the variable, written with its braces.
func (p Pattern) Uses(variable string) bool {
	return slices.ContainsFunc(p.segments, func(s segment) bool { return s.variable == variable })
}

// Build writes the text of an object. It is false when a value that the
// pattern needs is not known.
func (p Pattern) Build(v Values) (string, bool) {
	parts := make([]string, len(p.segments))
	for i, s := range p.segments {
		value := v.get(s.variable)
		if s.variable != "" && value == "" {
			return "", false
		}
		parts[i] = s.prefix + value + s.suffix
	}
	return strings.Join(parts, "/"), len(parts) > 0
}

// Match reads the object from a text. It is false for a text that no object
// can have built: a name that Kubernetes would not take names no object.
func (p Pattern) Match(text string) (Values, bool) {
	parts := strings.Split(text, "/")
	if len(parts) != len(p.segments) {
		return Values{}, false
	}
	var v Values
	for i, s := range p.segments {
		if !s.read(parts[i], &v) {
			return Values{}, false
		}
	}
	return v, true
}

func (s segment) read(part string, v *Values) bool {
	if s.variable == "" {
		return part == s.prefix
	}
	rest, ok := strings.CutPrefix(part, s.prefix)
	if !ok {
		return false
	}
	value, ok := strings.CutSuffix(rest, s.suffix)
	if !ok || !valid(s.variable, value) {
		return false
	}
	v.set(s.variable, value)
	return true
}

var (
	label     = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)
	subdomain = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$`)
	uuid      = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)
)

func valid(variable, value string) bool {
	switch variable {
	case "{namespace}":
		return label.MatchString(value)
	case "{uid}":
		return uuid.MatchString(value)
	}
	return len(value) <= maxName && subdomain.MatchString(value)
}

// maxName is how long Kubernetes lets the name of an object be.
const maxName = 253

func (v *Values) get(variable string) string {
	switch variable {
	case "{namespace}":
		return v.Namespace
	case "{name}":
		return v.Name
	case "{uid}":
		return v.UID
	}
	return ""
}

func (v *Values) set(variable, value string) {
	switch variable {
	case "{namespace}":
		v.Namespace = value
	case "{name}":
		v.Name = value
	case "{uid}":
		v.UID = value
	}
}
