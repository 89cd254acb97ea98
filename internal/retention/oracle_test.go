package retention_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/ebb-io/ebb/internal/policy"
	"github.com/ebb-io/ebb/internal/retention"
	. "github.com/ebb-io/ebb/internal/testkit/hostworld" //nolint:revive // a world reads as its words
)

// tag is a version of the repository in numbers, so that the oracle needs no
// parser.
type tag struct {
	number    int // 1.0 to 1.9
	candidate int // 0: it is a release
	alpine    bool
}

func (v tag) String() string {
	text := fmt.Sprintf("web:1.%d", v.number)
	if v.candidate > 0 {
		text += fmt.Sprintf("-rc.%d", v.candidate)
	}
	if v.alpine {
		text += "-alpine"
	}
	return text
}

// rank orders the tags of one stream; a release is above its candidates.
func (v tag) rank() int {
	if v.candidate == 0 {
		return v.number*10 + 9
	}
	return v.number*10 + v.candidate
}

var anyTag = rapid.Custom(func(t *rapid.T) tag {
	v := tag{number: rapid.IntRange(0, 9).Draw(t, "number"), alpine: rapid.IntRange(0, 3).Draw(t, "alpine") == 0}
	if !v.alpine && rapid.IntRange(0, 4).Draw(t, "candidate") == 0 {
		v.candidate = rapid.IntRange(1, 3).Draw(t, "which")
	}
	return v
})

// shelf is one repository: images by their tags, pins, and what was a pin once.
type shelf struct {
	images [][]tag
	pins   []tag
	former []tag // the last one first, each a day before
	policy policy.Host
}

func drawShelf(t *rapid.T) shelf {
	tags := rapid.SliceOfNDistinct(anyTag, 1, 12, rapid.ID).Draw(t, "tags")
	var s shelf
	for len(tags) > 0 {
		n := min(len(tags), rapid.SampledFrom([]int{1, 1, 1, 2}).Draw(t, "names"))
		s.images, tags = append(s.images, tags[:n]), tags[n:]
	}
	every := slices.Concat(s.images...)
	s.pins = rapid.SliceOfNDistinct(rapid.SampledFrom(every), 1, min(3, len(every)), rapid.ID).Draw(t, "pins")
	s.former = rapid.SliceOfNDistinct(rapid.SampledFrom(every), 0, min(2, len(every)), rapid.ID).Draw(t, "former")
	s.policy = atOnce(previous(rapid.IntRange(0, 2).Draw(t, "previous")), newer(rapid.IntRange(-1, 2).Draw(t, "newer")))
	s.policy.UnusedFor = 0
	return s
}

func (s shelf) world() *World {
	var parts []Part
	for _, tags := range s.images {
		var names []string
		for _, v := range tags {
			names = append(names, v.String())
		}
		parts = append(parts, Image(names[0], names...))
	}
	for _, pin := range s.pins {
		parts = append(parts, Pin(pin.String()))
	}
	for n, pin := range s.former {
		parts = append(parts, WasPin(pin.String(), "gone", time.Duration(n+1)*Day))
	}
	return New(parts...)
}

// imageOf is the tags of the image that has one.
func (s shelf) imageOf(v tag) []tag {
	return s.images[slices.IndexFunc(s.images, func(tags []tag) bool { return slices.Contains(tags, v) })]
}

// keeps is the rule, word for word: whether any pin keeps a tag.
func (s shelf) keeps(v tag) bool {
	claimed := false
	for _, pin := range s.pins {
		if pin.alpine != v.alpine {
			continue
		}
		claimed = true
		if v.rank() == pin.rank() || v.rank() > pin.rank() && s.amongNewest(v) || v.rank() < pin.rank() && v.rank() >= s.floor(pin) {
			return true
		}
	}
	return !claimed // nothing can be compared with it
}

func (s shelf) amongNewest(v tag) bool {
	above := 0 // distinct versions over v
	for _, other := range slices.Concat(s.images...) {
		if other.alpine == v.alpine && other.rank() > v.rank() {
			above++
		}
	}
	return s.policy.KeepNewer == policy.Unlimited || above < s.policy.KeepNewer
}

// floor is the lowest rank that a pin keeps.
func (s shelf) floor(pin tag) int {
	var steps []int // stable versions below, unless the pin is none itself
	for _, other := range slices.Concat(s.images...) {
		if other.alpine == pin.alpine && other.rank() < pin.rank() && !slices.Contains(s.imageOf(pin), other) &&
			(other.candidate == 0 || pin.candidate > 0) {
			steps = append(steps, other.rank())
		}
	}
	slices.Sort(steps)
	lowest := pin.rank()
	if n := min(s.policy.KeepPrevious, len(steps)); n > 0 {
		lowest = steps[len(steps)-n]
	}
	if s.policy.KeepPrevious == 0 {
		return lowest
	}
	// What is pinned was pinned last of all; then what once was.
	for _, last := range append(slices.Clone(s.pins), s.former...) {
		if last.alpine == pin.alpine && last.rank() < pin.rank() && !slices.Contains(s.imageOf(pin), last) {
			if slices.Contains(s.pins, last) {
				for _, other := range s.pins { // of several the lowest
					if other.alpine == pin.alpine && other.rank() < last.rank() && !slices.Contains(s.imageOf(pin), other) {
						last = other
					}
				}
			}
			return min(lowest, last.rank())
		}
	}
	return lowest
}

// goes are the images none of whose tags anything keeps.
func (s shelf) goes() []string {
	found := []string{}
	for _, tags := range s.images {
		if !slices.ContainsFunc(tags, s.keeps) {
			found = append(found, tags[0].String())
		}
	}
	slices.Sort(found)
	return found
}

func TestTheRuleWordForWord(t *testing.T) {
	deleted := 0
	rapid.Check(t, func(t *rapid.T) {
		s := drawShelf(t)
		w := s.world()
		plan := retention.Build(input(w, s.policy))
		got := gone(w, plan)
		slices.Sort(got)
		if want := s.goes(); !slices.Equal(got, want) {
			t.Fatalf("%q go, want %q\n%s", got, want, told(w, plan))
		}
		deleted += len(got)
	})
	if deleted == 0 {
		t.Error("no plan of all deleted anything")
	}
}

// TestTheOrderOfListingsChangesNothing in a plan.
func TestTheOrderOfListingsChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawShelf(t)
		w := s.world()
		plan := retention.Build(input(w, s.policy))
		shuffled := s.world()
		shuffled.Snapshot.Images = rapid.Permutation(shuffled.Snapshot.Images).Draw(t, "images")
		shuffled.Pins.Pins = rapid.Permutation(shuffled.Pins.Pins).Draw(t, "pins")
		other := retention.Build(input(shuffled, s.policy))
		if told(w, plan) != told(w, other) || plan.Fingerprint() != other.Fingerprint() {
			t.Fatalf("%s\nin another order:\n%s", told(w, plan), told(w, other))
		}
	})
}
