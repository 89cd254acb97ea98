package report

import (
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Escape makes a name fit for a line on a terminal: one that holds control
// characters, invisible ones or bytes that are no UTF-8 is quoted, any other
// stays as it is.
func Escape(s string) string {
	if printable(s) {
		return s
	}
	return strconv.Quote(s)
}

// EscapeLine does the same to a sentence without putting it in quotes.
func EscapeLine(s string) string {
	if printable(s) {
		return s
	}
	var b strings.Builder
	for i, r := range s {
		switch {
		case r == utf8.RuneError || !unicode.IsPrint(r):
			_, size := utf8.DecodeRuneInString(s[i:])
			quoted := strconv.Quote(s[i : i+size])
			b.WriteString(quoted[1 : len(quoted)-1])
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

func printable(s string) bool {
	for _, r := range s {
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			return false
		}
	}
	return true
}

// width is how many columns a terminal gives to printable text.
func width(s string) int {
	columns := 0
	for _, r := range s {
		columns += runeWidth(r)
	}
	return columns
}

func runeWidth(r rune) int {
	switch {
	case r < 0x300:
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	case wide(r):
		return 2
	}
	return 1
}

// wide follows East Asian Width: the blocks of wide and full-width characters.
func wide(r rune) bool {
	return r >= 0x1100 && (r <= 0x115f ||
		r >= 0x2e80 && r <= 0xa4cf && r != 0x303f ||
		r >= 0xac00 && r <= 0xd7a3 ||
		r >= 0xf900 && r <= 0xfaff ||
		r >= 0xfe30 && r <= 0xfe6f ||
		r >= 0xff00 && r <= 0xff60 ||
		r >= 0xffe0 && r <= 0xffe6 ||
		r >= 0x1f300 && r <= 0x1faff ||
		r >= 0x20000 && r <= 0x3fffd)
}

// elide shortens text to a number of columns by leaving out its middle: names
// differ most at their ends.
func elide(s string, columns int) string {
	if columns <= 0 || width(s) <= columns {
		return s
	}
	runes := []rune(s)
	head, tail, used := 0, len(runes), 1
	for head < tail {
		if used += runeWidth(runes[tail-1]); used > columns {
			break
		}
		tail--
		if head == tail {
			break
		}
		if used += runeWidth(runes[head]); used > columns {
			break
		}
		head++
	}
	return string(runes[:head]) + "…" + string(runes[tail:])
}

// Fit is a line for people that is no wider than a number of columns.
func Fit(line string, columns int) string { return elide(EscapeLine(line), columns) }

// Wrap breaks prose between words so that no line is wider than a number of
// columns, unless a word is. Zero columns: one line.
func Wrap(text string, columns int) []string {
	var lines []string
	line, used := "", 0
	for _, word := range words(text) {
		wide := width(unpainted(word))
		if columns > 0 && used > 0 && used+1+wide > columns {
			lines = append(lines, line)
			line, used = "", 0
		}
		if used > 0 {
			line, used = line+" ", used+1
		}
		line, used = line+word, used+wide
	}
	return append(lines, line)
}

// words are those of a text. A flag is one with the value behind it, to be
// copied whole.
func words(text string) []string {
	var found []string
	flag := false
	for word := range strings.FieldsSeq(text) {
		if flag {
			found[len(found)-1] += " " + word
			flag = false
			continue
		}
		found = append(found, word)
		flag = strings.HasPrefix(word, "--") && len(word) > len("--") && !strings.ContainsAny(word[len(word)-1:], ",.:;)")
	}
	return found
}

// fullDigest is a digest with all its digits.
var fullDigest = regexp.MustCompile(`\bsha(256|384|512):[0-9a-f]{64,128}\b`)

// digests shortens the digests in a sentence on a terminal, where they would
// be broken in their middle.
func (p *page) digests(sentence string) string {
	if p.Width == 0 {
		return sentence
	}
	return fullDigest.ReplaceAllStringFunc(sentence, short)
}

// unpainted is text without what page.paint puts around it.
func unpainted(s string) string {
	for {
		begin := strings.Index(s, "\x1b[")
		if begin < 0 {
			return s
		}
		end := strings.IndexByte(s[begin:], 'm')
		if end < 0 {
			return s
		}
		s = s[:begin] + s[begin+end+1:]
	}
}
