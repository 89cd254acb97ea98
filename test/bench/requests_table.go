package main

import (
	"fmt"
	"strings"

	"github.com/ebb-io/ebb/internal/testkit/objects"
)

// renderCounts makes the table of requests, which is the same on every machine.
func renderCounts(all []tally, _ string) string {
	var b strings.Builder
	b.WriteString("| fixture in a bucket | command | contender | requests | stock / this | LIST | GET | HEAD | DELETE | other |\n")
	b.WriteString("|---|---|---|---:|---:|---:|---:|---:|---:|---:|\n")
	for _, t := range all {
		fewer := ""
		if stock, ok := stockOn(all, t); ok {
			fewer = fmt.Sprintf("%.1f x", float64(stock.asked.total())/float64(t.asked.total()))
		}
		n := t.asked.Counts
		fmt.Fprintf(&b, "| %s | %s | %s | %d | %s | %d | %d | %d | %d | %d |\n", describeShape(t.shape), t.title, t.name,
			t.asked.total(), fewer, n[objects.List], n[objects.Get], n[objects.Head], t.asked.deletions(), t.asked.others())
	}
	return b.String()
}

// renderLatency makes the table of what a far bucket costs.
func renderLatency(all []tally, machine string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n", machine)
	fmt.Fprintf(&b, "| fixture in a bucket, %d ms a request | command | contender | requests | in flight at most | measured | median | fastest to slowest | stock / this | CPU time | peak memory |\n", farAway.Milliseconds())
	b.WriteString("|---|---|---|---:|---:|---:|---:|---:|---:|---:|---:|\n")
	for _, t := range all {
		stock, _ := stockOn(all, t)
		least, most := t.samples.rangeWall()
		fmt.Fprintf(&b, "| %s | %s | %s | %d | %d | %d x | %s | %s to %s | %s | %s | %.0f MB |\n",
			describeShape(t.shape), t.title, t.name, t.asked.total(), t.asked.InFlight, len(t.samples),
			seconds(t.samples.medianWall()), seconds(least), seconds(most), ratio(stock.samples, t.samples),
			seconds(t.samples.medianCPU()), float64(t.samples.medianRSS())/1e6)
	}
	return b.String()
}
