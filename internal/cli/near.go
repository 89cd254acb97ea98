package cli

import (
	"cmp"
	"slices"
	"strings"
)

// Nearest are up to three names that differ in at most so many letters, or end
// alike behind a slash.
func Nearest(want string, names []string, most int) []string {
	last := want[strings.LastIndex(want, "/")+1:]
	distances := map[string]int{}
	var near []string
	for _, name := range names {
		d := distance(want, name)
		if strings.HasSuffix(name, "/"+last) {
			d = min(d, 1)
		}
		if d <= most {
			distances[name] = d
			near = append(near, name)
		}
	}
	slices.SortFunc(near, func(a, b string) int {
		return cmp.Or(cmp.Compare(distances[a], distances[b]), cmp.Compare(a, b))
	})
	return near[:min(len(near), 3)]
}

// distance is how many letters must change.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}
