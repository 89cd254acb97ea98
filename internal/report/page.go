package report

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// View is how a report for people looks.
type View struct {
	Width     int  // columns of the terminal; 0: unlimited, nothing is shortened or left out
	Color     bool // the terminal shows colours
	NoHeaders bool // tables without their first line
	Quiet     bool // the data alone
	Verbose   bool // also what is kept
	Wide      bool // one line for each image
}

// page is text in the making.
type page struct {
	bytes.Buffer
	View
}

func (p *page) line(format string, args ...any) {
	_, _ = fmt.Fprintf(p, format+"\n", args...) // a buffer never fails
}

// prose is a sentence that a quiet report leaves out.
func (p *page) prose(format string, args ...any) {
	if p.Quiet {
		return
	}
	for _, line := range Wrap(fmt.Sprintf(format, args...), p.Width) {
		p.line("%s", line)
	}
}

// farLeft is where a word begins that fits on a terminal only from there: the
// digest of an image, or the tag of a signature.
const farLeft = 4

// hanging is a sentence behind a head, with its further lines below its start,
// or far left of it where it has a word too long for that.
func (p *page) hanging(head, sentence string) {
	if p.Width == 0 {
		p.line("%s%s", head, sentence)
		return
	}
	at := width(unpainted(head))
	if at > farLeft && longestWord(sentence) > p.Width-at {
		p.line("%s", strings.TrimRight(head, " "))
		head, at = strings.Repeat(" ", farLeft), farLeft
	}
	for _, line := range Wrap(sentence, max(p.Width-at, leastLast)) {
		p.line("%s%s", head, line)
		head = strings.Repeat(" ", at)
	}
}

func longestWord(sentence string) int {
	longest := 0
	for word := range strings.FieldsSeq(sentence) {
		longest = max(longest, width(word))
	}
	return longest
}

// gap separates what follows, unless nothing stands above it.
func (p *page) gap() {
	if p.Len() > 0 && !p.Quiet {
		p.WriteByte('\n')
	}
}

// The styles, as terminals know them.
const (
	bold   = "1"
	dim    = "2"
	red    = "31"
	green  = "32"
	yellow = "33"
)

func (p *page) paint(style, text string) string {
	if !p.Color || text == "" {
		return text
	}
	return "\x1b[" + style + "m" + text + "\x1b[0m"
}

type column struct {
	title string
	right bool // numbers
}

// table is rows of cells. Its last column is shortened to fit the view, the
// others are not.
type table struct {
	columns []column
	rows    [][]string
}

func (t *table) add(cells ...string) {
	for i := range cells {
		cells[i] = Escape(cells[i])
	}
	t.rows = append(t.rows, cells)
}

// drop takes a column out.
func (t *table) drop(column int) {
	t.columns = slices.Delete(t.columns, column, column+1)
	for i := range t.rows {
		t.rows[i] = slices.Delete(t.rows[i], column, column+1)
	}
}

const between = "  "

// capped is a table of which a terminal shows only so many rows, unless all are
// asked for: what stands above it would scroll away.
func (p *page) capped(t *table, most int) {
	all := len(t.rows)
	t.rows = t.rows[:p.shown(all, most)]
	p.table(t)
	p.more(all-len(t.rows), "-v shows all")
}

// shown is how many of all rows are shown.
func (p *page) shown(all, most int) int {
	if p.Width == 0 || p.Verbose || p.Quiet || all <= most+1 { // one more row takes no more room than to say so
		return all
	}
	return most
}

func (p *page) more(left int, where string) {
	if left > 0 {
		p.line("%s", p.paint(dim, "… and "+Number(int64(left))+" more; "+where))
	}
}

func (p *page) table(t *table) {
	if len(t.rows) == 0 {
		return
	}
	widths := t.widths(p.NoHeaders)
	if !p.NoHeaders {
		titles := make([]string, len(t.columns))
		for i, c := range t.columns {
			titles[i] = c.title
		}
		p.line("%s", p.paint(dim, t.format(titles, widths, p.Width)))
	}
	for _, row := range t.rows {
		p.line("%s", t.format(row, widths, p.Width))
	}
}

func (t *table) widths(noHeaders bool) []int {
	widths := make([]int, len(t.columns))
	for i, c := range t.columns {
		if !noHeaders {
			widths[i] = width(c.title)
		}
		for _, row := range t.rows {
			widths[i] = max(widths[i], width(row[i]))
		}
	}
	return widths
}

// leastLast is what the last column gets on however narrow a terminal.
const leastLast = 16

func (t *table) format(row []string, widths []int, limit int) string {
	var b strings.Builder
	last := len(row) - 1
	for i, cell := range row[:last] {
		pad := strings.Repeat(" ", widths[i]-width(cell))
		if t.columns[i].right {
			cell = pad + cell
		} else {
			cell += pad
		}
		b.WriteString(cell + between)
	}
	cell := row[last]
	if limit > 0 {
		cell = elide(cell, max(limit-width(b.String()), leastLast))
	}
	if t.columns[last].right {
		cell = strings.Repeat(" ", max(widths[last]-width(cell), 0)) + cell
	}
	b.WriteString(cell)
	return strings.TrimRight(b.String(), " ")
}
