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
	labelled := fromLabels(snapshot.Containers, environment)
	seen := map[string]bool{}
	for i, s := range labelled {
		path := s.path()
		seen[path] = true
		set, err := pin.Set{}, errTooMuch
		if i < maxStacks {
			set, err = labelledStack(s, used(snapshot.Containers, s.Project), &left)
		}
		if err != nil {
			unread = append(unread, fmt.Sprintf("%s (%s)", path, err))
			set = remembered(path, record)
		}
		all = Combine(all, set)
	}
	for _, path := range slices.Sorted(maps.Keys(record.ComposeFiles)) {
		known := record.ComposeFiles[path]
		if !seen[path] {
			all = Combine(all, remembered(path, record), gone(path, known.Project, environment, &left))
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
func fromLabels(containers []engine.Container, environment map[string]string) []Stack {
	found := map[string]Stack{}
	for _, c := range containers {
		if len(c.Compose.Files) == 0 {
			continue
		}
		s := Stack{Files: c.Compose.Files, Dir: c.Compose.Dir, EnvFiles: c.Compose.EnvFiles, Project: c.Compose.Project, Environment: environment}
		found[strings.Join([]string{s.path(), s.Project, s.Dir, joinFiles(s.EnvFiles)}, "\x00")] = s
	}
	sorted := slices.Collect(maps.Values(found))
	slices.SortFunc(sorted, func(a, b Stack) int {
		return cmp.Or(cmp.Compare(a.path(), b.path()), cmp.Compare(a.Project, b.Project), cmp.Compare(a.Dir, b.Dir), slices.Compare(a.EnvFiles, b.EnvFiles))
	})
	return sorted
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
func labelledStack(s Stack, used map[string]bool, left *int) (pin.Set, error) {
	if slices.ContainsFunc(s.Files, func(file string) bool { return !filepath.IsAbs(file) }) {
		return pin.Set{}, fmt.Errorf("not an absolute path")
	}
	found, err := readStack(s, left)
	if err != nil {
		return pin.Set{}, err
	}
	set, unknown := found.pins("compose file "+s.path(), true)
	set.Skipped = slices.DeleteFunc(set.Skipped, func(skip pin.Skip) bool { return used[skip.Repository] })
	for _, err := range unknown {
		set.Warnings = append(set.Warnings, pin.Warning(fmt.Sprintf("compose file %s: %s", s.path(), err)))
	}
	set.Files = []pin.File{{Path: s.path(), Project: s.Project, Images: found.images()}}
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

// remembered is what a file named when it was last read.
func remembered(path string, record *journal.Record) pin.Set {
	var set pin.Set
	for _, written := range record.ComposeFiles[path].Images {
		// What can not be told was said when the file was read.
		_ = judge(&set, written, "compose file "+path+", as last read", true)
	}
	return set
}

// gone reads a file again whose containers are gone, as far as it can: it may
// have been edited for the next start.
func gone(path, project string, environment map[string]string, left *int) pin.Set {
	set, err := labelledStack(Stack{Files: strings.Split(path, ","), Project: project, Environment: environment}, nil, left)
	if err != nil {
		return pin.Set{}
	}
	return pin.Set{Pins: set.Pins, Skipped: set.Skipped}
}
