package main

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/ebb-io/ebb/test/bench/fixture"
)

// table is what one case leads to.
type table struct {
	name string // of the case
	text string // Markdown
}

// begin and end are the lines around a case's table in a document.
func begin(name string) string { return "<!-- bench:" + name + " -->\n" }

const end = "<!-- bench:end -->\n"

// render makes the table of a case on the disk.
func render(r result, machine string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n", machine)
	b.WriteString("| fixture | command | contender | median | fastest to slowest | stock / this | this / bare | CPU time | peak memory |\n")
	b.WriteString("|---|---|---|---:|---:|---:|---:|---:|---:|\n")
	for _, name := range []string{"stock", "ebb", "bare"} {
		if s := r.samples[name]; len(s) > 0 {
			b.WriteString(r.row(name, s))
		}
	}
	return b.String()
}

func (r result) row(name string, s series) string {
	least, most := s.rangeWall()
	return fmt.Sprintf("| %s | %s | %s | %s | %s to %s | %s | %s | %s | %.0f MB |\n",
		describeShape(r.round.shape), r.round.title, name,
		seconds(s.medianWall()), seconds(least), seconds(most),
		ratio(r.samples["stock"], s), ratio(s, r.samples["bare"]),
		seconds(s.medianCPU()), float64(s.medianRSS())/1e6)
}

// ratio compares medians; it is empty where one of the two was not measured.
func ratio(a, b series) string {
	if len(a) == 0 || len(b) == 0 {
		return ""
	}
	return fmt.Sprintf("%.1f x", float64(a.medianWall())/float64(b.medianWall()))
}

func seconds(d time.Duration) string {
	return fmt.Sprintf("%.2f s", d.Seconds())
}

func describeShape(s fixture.Shape) string {
	sum := s.Summary()
	return fmt.Sprintf("%d x %d images, %d files", s.Repositories, s.Images, sum.Files)
}

// insert replaces the tables of a document that are given, and leaves the others alone.
func insert(path string, tables []table) error {
	raw, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	text := string(raw)
	for _, t := range tables {
		head, rest, found := strings.Cut(text, begin(t.name))
		_, foot, ended := strings.Cut(rest, end)
		if !found || !ended {
			return fmt.Errorf("%s: the lines %s and %s are missing", path, strings.TrimSpace(begin(t.name)), strings.TrimSpace(end))
		}
		text = head + begin(t.name) + t.text + end + foot
	}
	return os.WriteFile(path, []byte(text), 0o644)
}
