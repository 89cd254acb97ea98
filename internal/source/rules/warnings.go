package rules

import (
	"fmt"
	"slices"
)

// maxWarnings bounds what hostile or broken input can make us remember.
const maxWarnings = 50

// warnings keeps the first few in their own order, so that which ones are kept
// does not depend on the order in which they came.
type warnings struct {
	sorted []string
	more   bool
}

func (w *warnings) add(text string) {
	i, found := slices.BinarySearch(w.sorted, text)
	if found {
		return
	}
	w.sorted = slices.Insert(w.sorted, i, text)
	if len(w.sorted) > maxWarnings {
		w.sorted = w.sorted[:maxWarnings]
		w.more = true
	}
}

func (w *warnings) list() []string {
	list := slices.Clone(w.sorted)
	if w.more {
		list = append(list, fmt.Sprintf("only the first %d warnings are shown", maxWarnings))
	}
	return list
}
