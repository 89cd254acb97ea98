package image

import (
	"cmp"
	"slices"
	"strings"
)

const (
	maxTag        = 128 // what a registry allows
	maxComponents = 6
	// shortestHash is the shortest commit that tools write. A number of as many
	// digits may be one, so that it counts only where it is a date.
	shortestHash = 7
	// A first component from firstYear up is no release number, and up to
	// lastYear it is a year.
	firstYear, lastYear = 1900, 2199
)

// The ranks of pre-releases whose order everybody agrees on.
const (
	rankAlpha uint64 = iota + 1
	rankBeta
	rankCandidate
	rankRelease
)

// Version is a tag read as a version. It is never written back: an image is
// deleted by the tag as it was found. The zero value is no version.
type Version struct {
	tag    string
	stream Stream
	key    []uint64 // components, rank, number of the pre-release, build numbers
	stable bool
}

// ParseVersion reads a tag. It reports false for all that it does not surely
// understand: words, commits, dates in an order that can not be told. A tag
// that it reads wrongly would cost an image, one that it refuses only space.
func ParseVersion(tag string) (Version, bool) {
	if len(tag) > maxTag || !isTagText(tag) {
		return Version{}, false
	}
	r := &versionReader{rest: tag}
	if !r.start() || !r.tail() {
		return Version{}, false
	}
	return Version{tag: tag, stream: Stream{r.pattern.String()}, key: r.key, stable: !r.unstable}, true
}

// String is the tag as it was read.
func (v Version) String() string { return v.tag }

// Stream is what the version can be compared in.
func (v Version) Stream() Stream { return v.stream }

// Stable reports whether nothing in the tag says that it comes before a release.
func (v Version) Stable() bool { return v.stable }

// Compare orders the versions of one stream, the older first. Other spellings
// of one version are equal: 3.1.2 and v3.1.2, 2024.9.1 and 2024.09.1. Between
// two streams it says nothing about age: it orders by stream, so that a list
// of all sorts can be sorted.
func (v Version) Compare(o Version) int {
	return cmp.Or(strings.Compare(v.stream.pattern, o.stream.pattern), slices.Compare(v.key, o.key))
}
