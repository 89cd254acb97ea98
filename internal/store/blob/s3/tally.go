package s3

import (
	"strconv"
	"strings"
)

// tally counts the names of a directory as a span passes them, to guess how
// much of it is left.
type tally struct {
	count       int
	first, last string
	width       int  // of the names, if all are hexadecimal and of one length; else -1
	before      int  // keys of the span before the directory
	dry         bool // it was asked for what is left, and that was little
}

// add counts a name.
func (t *tally) add(name string) {
	if t.count > 0 && name == t.last {
		return
	}
	if t.count == 0 {
		t.first = name
		t.width = hexWidth(name)
	}
	if t.width > 0 && hexWidth(name) != t.width {
		t.width = -1
	}
	t.count++
	t.last = name
}

// hexWidth is the length of a name of two or more lower-case hexadecimal
// digits, and -1 for any other.
func hexWidth(name string) int {
	if len(name) < 2 || strings.Trim(name, "0123456789abcdef") != "" {
		return -1
	}
	return len(name)
}

// digits is as much of a name as is reckoned with.
const digits = 12

// number is the place of a hexadecimal name, or of the beginning of one,
// among all of its length.
func number(name string, width int, fill byte) uint64 {
	n := min(width, digits)
	if len(name) < n {
		name += strings.Repeat(string(fill), n-len(name))
	}
	value, err := strconv.ParseUint(name[:n], 16, 64)
	if err != nil {
		return 0
	}
	return value
}

// name is the first name with that number.
func name(value uint64, width int) string {
	n := min(width, digits)
	text := strconv.FormatUint(value, 16)
	text = strings.Repeat("0", max(n-len(text), 0)) + text
	return text + strings.Repeat("0", width-n)
}
