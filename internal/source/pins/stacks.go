package pins

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ebb-io/ebb/internal/engine"
	"github.com/ebb-io/ebb/internal/image"
	"github.com/ebb-io/ebb/internal/journal"
	"github.com/ebb-io/ebb/internal/pin"
)

const maxStacks = 1000 // that are read in one pass

// stacks are passive pins from the compose files that labels name or named.
func stacks(snapshot *engine.Snapshot, record *journal.Record, environment map[string]string) pin.Set {
	var all pin.Set
	var unread []string
	left := workPerPass
	labelled := fromLabels(snapshot.Containers)
	seen := map[string]bool{}
	for i, compose := range labelled {
		seen[compose.Key()] = true
		set, err := pin.Set{}, errTooMuch
		if i < maxStacks {
			set, err = labelledStack(compose, environment, used(snapshot.Containers, compose.Project), &left)
		}
		if err != nil {
			unread = append(unread, fmt.Sprintf("%s (%s)", compose.Path(), err))
			set = remembered(record.Stacks[compose.Key()])
		}
		all = Combine(all, set)
	}
	for _, key := range slices.Sorted(maps.Keys(record.Stacks)) {
		if known := record.Stacks[key]; !seen[key] {
			all = Combine(all, remembered(known), gone(known, environment, &left))
		}
	}
	if len(unread) > 0 {
		all.Warnings = append(all.Warnings, unreadable(unread))
	}
	return all
}

// unreadable is one line for all, however many.
func unreadable(files []string) pin.Warning {
	const shown = 3
	text := strings.Join(files[:min(shown, len(files))], ", ")
	if more := len(files) - shown; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return pin.Warning("compose files that containers name and that can not be read here keep what they last named: " + text)
}

// fromLabels are the stacks that containers name, each once and in order.
func fromLabels(containers []engine.Container) []engine.Compose {
	var found []engine.Compose
	for _, c := range containers {
		if len(c.Compose.Files) > 0 {
			found = append(found, c.Compose)
		}
	}
	return sorted(found, func(a, b engine.Compose) int {
		return cmp.Or(cmp.Compare(a.Path(), b.Path()), cmp.Compare(a.Project, b.Project), cmp.Compare(a.Dir, b.Dir), slices.Compare(a.EnvFiles, b.EnvFiles))
	})
}

// used are the repositories that a project's containers were made from: what
// a file leaves open they answer.
func used(containers []engine.Container, project string) map[string]bool {
	repositories := map[string]bool{}
	for _, c := range containers {
		if c.Compose.Project != project {
			continue
		}
		if name, err := image.ParseName(c.From); err == nil {
			repositories[name.Repository] = true
		}
	}
	return repositories
}

// labelledStack reads a stack that labels name.
func labelledStack(c engine.Compose, environment map[string]string, used map[string]bool, left *int) (pin.Set, error) {
	if slices.ContainsFunc(c.Files, func(file string) bool { return !filepath.IsAbs(file) }) {
		return pin.Set{}, fmt.Errorf("not an absolute path")
	}
	found, err := readStack(Stack{Files: c.Files, Dir: c.Dir, EnvFiles: c.EnvFiles, Project: c.Project, Environment: environment}, left)
	if err != nil {
		return pin.Set{}, err
	}
	set, unknown := found.pins("compose file "+c.Path(), true)
	set.Skipped = slices.DeleteFunc(set.Skipped, func(skip pin.Skip) bool { return used[skip.Repository] })
	for _, err := range unknown {
		set.Warnings = append(set.Warnings, pin.Warning(fmt.Sprintf("compose file %s: %s", c.Path(), err)))
	}
	set.Stacks = []pin.Stack{{Key: c.Key(), Images: found.images()}}
	return set, nil
}

// images are all that a stack names, as it is read, each once and in order.
func (s services) images() []string {
	seen := map[string]bool{}
	for _, service := range s {
		for _, written := range append([]string{service.image}, service.passive...) {
			seen[written] = true
		}
	}
	delete(seen, "")
	return slices.Sorted(maps.Keys(seen))
}

// remembered is what a stack's files named when they were last read.
func remembered(known journal.Stack) pin.Set {
	var set pin.Set
	for _, written := range known.Images {
		// What can not be told was said when the file was read.
		_ = judge(&set, written, "compose file "+known.Path()+", as last read", true)
	}
	return set
}

// gone reads files again whose containers are gone, as far as it can: they may
// have been edited for the next start.
func gone(known journal.Stack, environment map[string]string, left *int) pin.Set {
	set, err := labelledStack(known.Compose, environment, nil, left)
	if err != nil {
		return pin.Set{}
	}
	for i := range set.Stacks { // nobody knows which of both will be started again
		set.Stacks[i].Images = append(set.Stacks[i].Images, known.Images...)
	}
	return pin.Set{Pins: set.Pins, Skipped: set.Skipped, Stacks: set.Stacks}
}
