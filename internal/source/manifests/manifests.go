// Package manifests reads objects from what kubectl writes: YAML or JSON, lists
// or single objects, many documents in a file, files in folders.
//
// It hands each object to a collector and keeps none. It refuses to be content
// with less than all: whatever may hide an object from it (a file that can not
// be read, a list that was cut off or is one page of many, an error message in
// place of a list) is an error, because an owner that is not seen is an image
// that is deleted. It does not know what an object means.
package manifests

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ebb-io/ebb/internal/source/rules"
)

// ErrIncomplete is what every error of this package wraps: not all owners were
// seen, so nothing may be judged.
var ErrIncomplete = errors.New("incomplete view of the owners")

// again is what to do about most of it.
const again = "write it again with kubectl get -o yaml"

// Load reads files and folders into the collector. After an error the collector
// holds a part of them and must not be used.
func Load(paths []string, c *rules.Collector) error {
	for _, path := range paths {
		e := &entry{path: path, collector: c, kinds: map[string]bool{}}
		if err := e.load(); err != nil {
			return err
		}
	}
	c.Finish()
	return nil
}

// entry is one of the given paths, and what was found under it.
type entry struct {
	path       string
	collector  *rules.Collector
	recognized bool
	emptyList  bool
	stream     bool            // it was said that its end can not be seen
	kinds      map[string]bool // that no rule names
}

func (e *entry) load() error {
	files, skipped, err := list(e.path)
	if err != nil {
		return err
	}
	e.warnSkipped(skipped)
	for _, path := range files {
		if err := e.loadFile(path); err != nil {
			return err
		}
	}
	return e.judge()
}

// warnSkipped names files of a folder that are not read.
func (e *entry) warnSkipped(names []string) {
	const most = 3
	if len(names) > 0 {
		e.collector.Warn(fmt.Sprintf("owners %s: files that are not named *.yaml, *.yml or *.json are not read (%s)", e.path, few(names, most)))
	}
}

// judge doubts an entry in which nothing means anything to the rules: it is
// more likely the wrong file than one without owners.
func (e *entry) judge() error {
	if len(e.kinds) == 0 {
		return nil
	}
	kinds := few(slices.Sorted(maps.Keys(e.kinds)), maxShown)
	if !e.recognized && !e.emptyList {
		return incomplete(e.path, "holds only objects of unknown kinds (%s): add an owner rule that names one, or give the right file", kinds)
	}
	e.collector.Warn(fmt.Sprintf("owners %s: no owner rule names the kinds %s, and they hold no image reference that counts: they protect nothing", e.path, kinds))
	return nil
}

// add hands over one object.
func (f *file) add(object map[string]any) error {
	recognized, err := f.collector.Add(object)
	if err != nil {
		return f.errorf("%w", err)
	}
	if recognized {
		f.recognized = true
		return nil
	}
	if kind, _ := object["kind"].(string); len(f.kinds) < maxKinds {
		f.kinds[kind] = true
	}
	return nil
}

const (
	// maxKinds bounds what is remembered of strange kinds, and maxShown what
	// is said of them.
	maxKinds = 1000
	maxShown = 8
)

func few(words []string, most int) string {
	if len(words) > most {
		words = append(words[:most:most], "…")
	}
	return strings.Join(words, ", ")
}

func incomplete(path, format string, args ...any) error {
	return fmt.Errorf("owners %s: %w: it %w", path, ErrIncomplete, fmt.Errorf(format, args...))
}
