package s3

import (
	"strings"
	"unicode/utf8"
)

// highest sorts behind every name that anybody gives a file. It is only asked
// for: what a server shows behind it all the same is judged as anything else.
const highest = "\U0010FFFF"

// commonDir is the deepest directory that two paths are in, "" for the root.
func commonDir(a, b string) string {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return a[:max(strings.LastIndexByte(a[:n], '/'), 0)]
}

// below is a path from which a listing must start not to miss name in the
// directory that prefix names: it sorts before it, and closely where that can
// be said in plain letters.
func below(prefix, name string) string {
	if name == "" {
		return strings.TrimSuffix(prefix, "/")
	}
	last, size := utf8.DecodeLastRuneInString(name)
	shorter := prefix + name[:len(name)-size]
	if last <= ' '+1 || last > '~' {
		return shorter
	}
	return shorter + string(last-1) + highest
}

// behind is the first path behind all names up to last, and what is in them,
// in the directory that prefix names. A name that last only begins with sorts
// before it, but what is in a directory of that name may sort after it.
func behind(prefix, last string) string {
	end := prefix + last + "0" // '0' is what follows '/'
	for i := range last {
		if i > 0 {
			end = max(end, prefix+last[:i]+"0")
		}
	}
	return end
}
