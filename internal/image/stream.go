package image

// Stream says which versions of a repository can be compared: those that are
// written the same way but for their numbers. It is comparable; the zero value
// is the stream of no version.
//
// Two versions are in one stream when they have as many components, count in
// the same way (a year is no release number), carry the same sorts of build
// number, and have the same text behind. So 3.1 (an alias that moves) and 3.1.2
// are apart, as are 3.1.2 and 3.1.2-alpine, 3.1.2 and 3.1.2-ls4, and alpine3.19
// and alpine3.20.
type Stream struct{ pattern string }

// String is how the stream's versions look, with "#" for a number: "#.#.#",
// "#.#-alpine", "<year>.#.#", "#.#.#-ls#", "<date>". A pre-release does not
// show: it is in the stream of its release.
func (s Stream) String() string { return s.pattern }
