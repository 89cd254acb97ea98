// Package pins says which images a Docker host is meant to run: from
// arguments, from a list in a file, from compose files, and from the
// containers that run. Everything is read anew at each pass.
//
// Compose files are read by a reader of its own and not by compose-go's loader:
// those that containers' labels name are other people's, so that reading them
// must have a bound and no network, and a variable without a value must not
// become empty text, which the loader makes of it. What a variable or an .env
// file means compose-go's template and dotenv say, and in the tests its loader
// is the oracle.
//
// It refuses to add a tag that nobody wrote (but where the file's own rules
// do), to take an unset variable for empty text, to read without a bound, to
// run anything and to speak to a network.
package pins

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ebb-io/ebb/internal/image"
	"github.com/ebb-io/ebb/internal/pin"
)

// Args are the pins that a person wrote on the command line or in a
// configuration; from says where. One that is no name, or that has neither tag
// nor digest, is an error.
func Args(refs []string, from string) (pin.Set, error) {
	var s pin.Set
	for _, ref := range refs {
		name, err := Parse(ref)
		if err != nil {
			return pin.Set{}, fmt.Errorf("%s: %w", from, err)
		}
		s.Pins = append(s.Pins, pin.Pin{Name: name, From: from})
	}
	return s, nil
}

// Parse reads a pin that a person wrote: a name that says which version is
// meant.
func Parse(ref string) (image.Name, error) {
	name, err := image.ParseName(ref)
	if err != nil {
		return image.Name{}, err
	}
	if name.Tag == "" && !name.Digested {
		return image.Name{}, fmt.Errorf("image name %q: which version is meant? Write a tag, such as %s:1.2.3, or a digest, such as %s@sha256:…",
			ref, ref, ref)
	}
	return name, nil
}

// File are the pins of a file: one a line; "#" begins a comment, on its own
// line or behind a blank. An error names the line.
func File(path string) (pin.Set, error) {
	if path == "-" {
		return pin.Set{}, errors.New("pins can not be read from standard input, as each pass reads them anew: name a file")
	}
	content, err := readFile(path)
	if err != nil {
		return pin.Set{}, fmt.Errorf("%s: %w", path, err)
	}
	return list(content, path)
}

func list(content []byte, path string) (pin.Set, error) {
	var s pin.Set
	lines := bufio.NewScanner(bytes.NewReader(bytes.TrimPrefix(content, []byte("\ufeff"))))
	for number := 1; lines.Scan(); number++ {
		ref := uncomment(lines.Text())
		if ref == "" {
			continue
		}
		name, err := Parse(ref)
		if err != nil {
			return pin.Set{}, fmt.Errorf("%s:%d: %w", path, number, err)
		}
		s.Pins = append(s.Pins, pin.Pin{Name: name, From: fmt.Sprintf("%s:%d", path, number)})
	}
	if err := lines.Err(); err != nil {
		return pin.Set{}, fmt.Errorf("%s: %w", path, err)
	}
	return s, nil
}

// uncomment is what a line says. No name holds a "#", but one glued to a name
// is a mistake that must not pass for a comment.
func uncomment(line string) string {
	for i := range len(line) {
		if line[i] == '#' && (i == 0 || line[i-1] == ' ' || line[i-1] == '\t') {
			line = line[:i]
			break
		}
	}
	return strings.TrimSpace(line)
}

// Combine is everything that several sources say, each thing once and in order.
func Combine(sets ...pin.Set) pin.Set {
	var all pin.Set
	for _, s := range sets {
		all.Pins = append(all.Pins, s.Pins...)
		all.Skipped = append(all.Skipped, s.Skipped...)
		all.Warnings = append(all.Warnings, s.Warnings...)
		all.Stacks = append(all.Stacks, s.Stacks...)
	}
	all.Pins = sorted(all.Pins, comparePins)
	all.Skipped = sorted(all.Skipped, compareSkips)
	all.Warnings = sorted(all.Warnings, cmp.Compare[pin.Warning])
	all.Stacks = mergeStacks(all.Stacks)
	return all
}

func sorted[T any](all []T, compare func(a, b T) int) []T {
	slices.SortFunc(all, compare)
	return slices.CompactFunc(all, func(a, b T) bool { return compare(a, b) == 0 })
}

func comparePins(a, b pin.Pin) int {
	return cmp.Or(a.Compare(b.Name), compareBool(a.Passive, b.Passive), cmp.Compare(a.From, b.From))
}

func compareSkips(a, b pin.Skip) int {
	return cmp.Or(cmp.Compare(a.Repository, b.Repository), cmp.Compare(a.Why, b.Why), cmp.Compare(a.From, b.From))
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// mergeStacks keeps one entry for each stack, with the images of all.
func mergeStacks(stacks []pin.Stack) []pin.Stack {
	slices.SortStableFunc(stacks, func(a, b pin.Stack) int { return cmp.Compare(a.Key, b.Key) })
	var merged []pin.Stack
	for _, s := range stacks {
		last := len(merged) - 1
		if last < 0 || merged[last].Key != s.Key {
			merged = append(merged, pin.Stack{Key: s.Key})
			last++
		}
		merged[last].Images = append(merged[last].Images, s.Images...)
	}
	for i := range merged {
		merged[i].Images = sorted(merged[i].Images, cmp.Compare[string])
	}
	return merged
}
