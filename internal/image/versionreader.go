package image

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// versionReader reads a tag from the left. Numbers go to the key and leave a
// mark in the pattern that no tag can hold; all else goes to the pattern as it
// is, except a pre-release, which shares its release's stream.
type versionReader struct {
	rest     string
	pattern  strings.Builder
	key      []uint64
	unstable bool
	number   bool // the tag is one number so far
	year     bool // its first component is a year
	attached int  // digits of the last component
}

// start reads the release and its pre-release.
func (r *versionReader) start() bool {
	if rest, ok := strings.CutPrefix(r.rest, releaseTime); ok {
		return r.timestamp(rest)
	}
	if len(r.rest) > 0 && (r.rest[0] == 'v' || r.rest[0] == 'V') {
		r.rest = r.rest[1:]
	}
	if !r.release() {
		return false
	}
	r.preRelease()
	return true
}

const releaseTime = "RELEASE."

// timestamp reads MinIO's names, RELEASE.2024-01-31T20-20-33Z. Only this form
// is in order: its width is fixed and it says what is what.
func (r *versionReader) timestamp(rest string) bool {
	const layout = "2006-01-02T15-04-05Z"
	if len(rest) < len(layout) {
		return false
	}
	at, err := time.Parse(layout, rest[:len(layout)])
	if err != nil || !plausible(at) {
		return false
	}
	r.pattern.WriteString(releaseTime + "<time>")
	r.key = append(r.key, uint64(at.Unix()), rankRelease, 0) //nolint:gosec // plausible: after 1990
	r.rest = rest[len(layout):]
	return true
}

// release reads the numbers between dots.
func (r *versionReader) release() bool {
	for n := 0; ; n++ {
		digits := leadingDigits(r.rest)
		value, mark, ok := parseNumber(digits)
		if !ok || n == maxComponents {
			return false
		}
		if n == 0 {
			mark = r.firstMark(digits, value, mark)
		}
		r.pattern.WriteString(mark)
		r.key = append(r.key, value)
		r.attached = len(digits)
		r.rest = r.rest[len(digits):]
		if len(r.rest) < 2 || r.rest[0] != '.' || !isDigit(r.rest[1]) {
			break
		}
		r.pattern.WriteByte('.')
		r.rest = r.rest[1:]
	}
	r.number = len(r.key) == 1
	return !backwardsDate(r.key)
}

// firstMark tells years and counters from release numbers: an image that once
// was called 5512.0.0 is not newer than 1.6.1.
func (r *versionReader) firstMark(digits string, value uint64, mark string) string {
	switch {
	case mark != numberMark || value < firstYear:
		return mark
	case value <= lastYear:
		r.year = true
		return "<year>"
	}
	return "<" + strconv.Itoa(len(strings.TrimLeft(digits, "0"))) + " digits>"
}

// backwardsDate reports a date as 31.12.2024 or 12.2024, whose numbers stand in
// the wrong order for a comparison.
func backwardsDate(key []uint64) bool {
	isYear := func(n uint64) bool { return n >= firstYear && n <= lastYear }
	isDay := func(n uint64) bool { return n >= 1 && n <= 31 }
	switch {
	case len(key) > 1 && isYear(key[1]):
		return isDay(key[0])
	case len(key) > 2 && isYear(key[2]):
		return isDay(key[0]) && isDay(key[1])
	}
	return false
}

// preRelease reads alpha, beta and candidate with a number, in all spellings.
// A bare "-beta" stays in the text behind: it may be an alias that moves.
func (r *versionReader) preRelease() {
	rank, number, rest := r.cutPreRelease()
	r.key = append(r.key, rank, number)
	r.unstable = rank != rankRelease
	r.rest = rest
}

func (r *versionReader) cutPreRelease() (rank, number uint64, rest string) {
	text := r.rest
	separated := text != "" && isSeparator(text[0])
	if separated {
		text = text[1:]
	}
	word := leadingLetters(text)
	text = text[len(word):]
	if len(text) > 1 && isSeparator(text[0]) && len(word) > 1 {
		text = text[1:]
	}
	digits := leadingDigits(text)
	text = text[len(digits):]
	rank = r.rank(strings.ToLower(word), digits, separated)
	value, mark, ok := parseNumber(digits)
	if rank == 0 || !ok || mark != numberMark || text != "" && text[0] != '-' && text[0] != '_' {
		return rankRelease, 0, r.rest
	}
	return rank, value, text
}

// rank takes a single letter only where it is attached (3.13.0a1): "-b10" may
// be a build, and 12345a7 is a commit.
func (r *versionReader) rank(word, digits string, separated bool) uint64 {
	switch word {
	case "alpha":
		return rankAlpha
	case "beta":
		return rankBeta
	case "rc", "cr":
		return rankCandidate
	}
	if separated || r.number || r.attached+len(word)+len(digits) >= shortestHash {
		return 0
	}
	switch word {
	case "a":
		return rankAlpha
	case "b":
		return rankBeta
	}
	return 0
}

// tail reads what stands behind: build numbers, and text.
func (r *versionReader) tail() bool {
	counted := false // the last token was a number and nothing else
	for first := true; r.rest != ""; first = false {
		if len(r.rest) < 2 || !isSeparator(r.rest[0]) || first && isSeparator(r.rest[1]) {
			return false
		}
		token := r.rest[1:]
		if end := strings.IndexAny(token, "-_"); end >= 0 {
			token = token[:end]
		}
		bare := token != "" && leadingDigits(token) == token
		if bare && (counted || first && r.year && r.number) {
			return false // a date, and nobody says in which order
		}
		counted = bare && first
		r.token(r.rest[:1], token, first)
		r.rest = r.rest[1+len(token):]
	}
	return true
}

// token adds a build number, or text that makes a stream of its own. A number
// without a word counts only right behind the release: in "-debian-12" it names
// something.
func (r *versionReader) token(separator, token string, first bool) {
	word := strings.TrimRight(token, "0123456789")
	value, mark, ok := parseNumber(token[len(word):])
	switch {
	case separator == "." || !ok || !counts(word, first), word == "b" && len(token) >= shortestHash:
		r.pattern.WriteString(separator + token)
	default:
		r.pattern.WriteString(separator + word + mark)
		r.key = append(r.key, value)
	}
	r.unstable = r.unstable || saysUnstable(token)
}

// counts reports whether a number behind the word grows with time.
func counts(word string, first bool) bool {
	if word == "" {
		return first
	}
	return slices.Contains([]string{
		"r", "ls", "build", "build.", "b", "b.", // a build or a beta: both grow
		"M", "pre", "pre.", "preview", "preview.", "dev", "dev.", "nightly", "nightly.",
	}, word)
}

// saysUnstable reports a token whose word promises no release.
func saysUnstable(token string) bool {
	word := leadingLetters(token)
	return word == "M" || word == "b" || slices.Contains([]string{
		"alpha", "beta", "rc", "cr", "pre", "preview", "dev", "devel", "develop", "development", "nightly",
		"snapshot", "canary", "next", "edge", "unstable", "test", "testing", "ea", "milestone",
		"experimental", "main", "master", "trunk",
	}, strings.ToLower(word))
}

const numberMark = "#"

// parseNumber reads a number in base 10, whatever zeros it starts with. One
// that is long enough for a commit must be a date.
func parseNumber(digits string) (value uint64, mark string, ok bool) {
	mark = numberMark
	if len(digits) >= shortestHash {
		if mark = dateMark(digits); mark == "" {
			return 0, "", false
		}
	}
	value, err := strconv.ParseUint(digits, 10, 64)
	return value, mark, err == nil
}

func dateMark(digits string) string {
	for _, form := range []struct{ layout, mark string }{
		{"20060102", "<date>"}, {"200601021504", "<date+hhmm>"}, {"20060102150405", "<date+hhmmss>"},
	} {
		if len(digits) != len(form.layout) {
			continue
		}
		if at, err := time.Parse(form.layout, digits); err == nil && plausible(at) {
			return form.mark
		}
	}
	return ""
}

// plausible keeps numbers that only happen to be dates from being taken for one.
func plausible(at time.Time) bool { return at.Year() >= 1990 && at.Year() < 2100 }

func leadingDigits(s string) string { return s[:len(s)-len(strings.TrimLeft(s, "0123456789"))] }

func leadingLetters(s string) string {
	for i := range len(s) {
		if c := s[i] | 0x20; c < 'a' || c > 'z' {
			return s[:i]
		}
	}
	return s
}

// isTagText refuses what no registry takes: what it lets through can not look
// like a mark of the pattern.
func isTagText(s string) bool {
	return !strings.ContainsFunc(s, func(c rune) bool {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		return !letter && (c < '0' || c > '9') && c != '_' && c != '.' && c != '-'
	})
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isSeparator(c byte) bool { return c == '-' || c == '.' || c == '_' }
