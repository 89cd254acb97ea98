package host_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ebb-io/ebb/internal/engine"
	"github.com/ebb-io/ebb/internal/execute/host"
	"github.com/ebb-io/ebb/internal/image"
	"github.com/ebb-io/ebb/internal/retention"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func id(text string) image.Digest { return image.SHA256([]byte(text)) }

func digest(repository, text string) string { return repository + "@" + id(text).String() }

// world is images by a word, with their names.
func world(containerd bool, images map[string][]string) *fakeEngine {
	e := &fakeEngine{containerd: containerd, names: map[image.Digest][]image.Name{}, used: map[image.Digest]bool{}, stays: map[image.Digest]bool{}}
	for word, names := range images {
		e.names[id(word)] = nil
		for _, n := range names {
			e.names[id(word)] = append(e.names[id(word)], name(n))
		}
	}
	return e
}

func images() map[string][]string {
	return map[string][]string{
		"one":   {"traefik:v1"},
		"two":   {"traefik:v2", "traefik:2"},
		"three": {"traefik:v3", digest("traefik", "d3")},
		"four":  {digest("traefik", "d4")},
		"five":  {},
		"keep":  {"traefik:v9"},
	}
}

// step is what a plan makes of an image as it is now.
func step(e *fakeEngine, word string) retention.Step {
	s := retention.Step{ID: id(word), Repository: "docker.io/library/traefik", Bytes: 10}
	for _, n := range e.names[id(word)] {
		if n.Tag != "" || e.containerd {
			s.Names = append(s.Names, n)
		}
	}
	return s
}

func steps(e *fakeEngine, words ...string) []retention.Step {
	var found []retention.Step
	for _, word := range words {
		found = append(found, step(e, word))
	}
	return found
}

func run(e *fakeEngine) host.Run {
	return host.Run{
		Engine: e, Clock: func() time.Time { return now },
		Still: func(context.Context, retention.Step) error { return nil },
		Begin: func(host.Deletion) error { return nil },
		Done:  func(host.Deletion) {},
	}
}

var all = []string{"one", "two", "three", "four", "five"}

func onBoth(t *testing.T, test func(t *testing.T, containerd bool)) {
	t.Helper()
	for _, containerd := range []bool{false, true} {
		t.Run(fmt.Sprintf("containerd=%v", containerd), func(t *testing.T) { test(t, containerd) })
	}
}

func TestAllGoUnderAllTheirNames(t *testing.T) {
	onBoth(t, func(t *testing.T, containerd bool) {
		e := world(containerd, images())
		out := run(e).Do(t.Context(), steps(e, all...))
		if len(out.Deleted) != len(all) || out.Stopped != nil || out.FreedBytes != 50 || !out.Deleted[0].At.Equal(now) {
			t.Errorf("%+v", out)
		}
		if diff := cmp.Diff(map[string]string{id("keep").String(): "docker.io/library/traefik:v9"}, e.held()); diff != "" {
			t.Error(diff)
		}
	})
}

// A removal is of an ID or a name that a step has, and nothing else.
func onlyPlanned(t *testing.T, e *fakeEngine, planned []retention.Step) {
	t.Helper()
	var allowed []string
	for _, s := range planned {
		allowed = append(allowed, s.ID.String())
		for _, n := range s.Names {
			allowed = append(allowed, n.String())
		}
	}
	for _, call := range e.calls {
		if what, ok := strings.CutPrefix(call, "remove "); ok && !slices.Contains(allowed, what) {
			t.Errorf("%s, which no step names", call)
		}
	}
}

// TestEveryFault: whatever call fails, before or after it took effect, nothing
// goes but by plan, an image that stays has all its names or that is told, and
// the next run comes to the same end.
func TestEveryFault(t *testing.T) {
	clean := world(false, images())
	run(clean).Do(t.Context(), steps(clean, all...))
	onBoth(t, func(t *testing.T, containerd bool) {
		for n := 1; n <= 40; n++ {
			for _, failure := range []error{errors.New("broken"), engine.ErrConflict, engine.ErrNotFound} {
				for _, done := range []bool{false, true} {
					t.Run(fmt.Sprintf("%d %v done=%v", n, failure, done), func(t *testing.T) {
						e := world(containerd, images())
						planned := steps(e, all...)
						before := e.held()
						e.fault = func(call int) (bool, error) {
							if call == n {
								return done, failure
							}
							return true, nil
						}
						out := run(e).Do(t.Context(), planned)
						onlyPlanned(t, e, planned)
						faultIsTold(t, e, out, n, failure)
						whole(t, e, before, out)
						e.fault = nil
						again := remaining(e, planned)
						if out := run(e).Do(t.Context(), again); out.Stopped != nil || len(out.Failed)+len(out.Refused)+len(out.Moved) > 0 {
							t.Errorf("the next run: %+v", out)
						}
						if diff := cmp.Diff(clean.held(), e.held()); diff != "" {
							t.Errorf("the next run does not finish:\n%s", diff)
						}
					})
				}
			}
		}
	})
}

// remaining is what the next plan makes of what is still there.
func remaining(e *fakeEngine, planned []retention.Step) []retention.Step {
	var left []retention.Step
	for _, s := range planned {
		names, there := e.names[s.ID]
		if !there {
			continue
		}
		s.Names = nil
		for _, n := range names {
			if n.Tag != "" || e.containerd {
				s.Names = append(s.Names, n)
			}
		}
		left = append(left, s)
	}
	return left
}

func faultIsTold(t *testing.T, e *fakeEngine, out host.Outcome, n int, failure error) {
	t.Helper()
	if n > len(e.calls) || errors.Is(failure, engine.ErrNotFound) {
		return // there was none, or it is the answer that is hoped for
	}
	if out.Stopped == nil && len(out.Refused)+len(out.Moved)+len(out.Failed) == 0 {
		t.Errorf("nobody is told of what became of %q: %+v", e.calls[n-1], out)
	}
}

// whole: what is gone is told to be, and what stays has its names unless a
// failure says otherwise.
func whole(t *testing.T, e *fakeEngine, before map[string]string, out host.Outcome) {
	t.Helper()
	told := map[string]bool{}
	for _, d := range out.Deleted {
		told[d.ID.String()] = true
	}
	for _, s := range out.Gone {
		told[s.ID.String()] = true
	}
	failed := map[string]bool{}
	for _, f := range out.Failed {
		failed[f.ID.String()] = true
	}
	after := e.held()
	for id, names := range before {
		left, there := after[id]
		switch {
		case !there && !told[id]:
			t.Errorf("%s is gone, and nobody is told", id)
		case there && left != names && !failed[id]:
			t.Errorf("%s had %q and has %q, and nobody is told", id, names, left)
		}
	}
}

// A name that was given to another image in between is neither removed nor taken
// back.
func TestNameThatMoves(t *testing.T) {
	for i := range 24 {
		n, used := i/2+1, i%2 == 1
		t.Run(fmt.Sprintf("%d used=%v", n, used), func(t *testing.T) {
			e := world(false, map[string][]string{"two": {"traefik:2", "traefik:v2"}, "keep": {"traefik:v9"}})
			e.used[id("two")] = used
			planned := steps(e, "two")
			e.before = func(call int) {
				if call == n {
					e.names[id("two")] = slices.DeleteFunc(e.names[id("two")], func(o image.Name) bool { return o == name("traefik:v2") })
					e.names[id("keep")] = append(e.names[id("keep")], name("traefik:v2"))
				}
			}
			if out := run(e).Do(t.Context(), planned); len(out.Failed) > 0 {
				t.Errorf("no name is lost: %+v", out)
			}
			moved := n <= len(e.calls)
			if moved && !slices.Contains(e.names[id("keep")], name("traefik:v2")) && !removedRightAfter(e, n) {
				t.Errorf("the other image lost it: %v after\n%s", e.held(), strings.Join(e.calls, "\n"))
			}
		})
	}
}

// An answer about another image than was asked for deletes nothing.
func TestConfusedEngine(t *testing.T) {
	e := world(false, images())
	planned := steps(e, "two")
	e.confused = true
	out := run(e).Do(t.Context(), planned)
	if len(out.Moved) != 1 || len(e.calls) != 1 {
		t.Errorf("%v: %+v", e.calls, out)
	}
}

// removedRightAfter: an engine has no call that removes a name only if it still
// is an image's, so a change between the look and the removal is not seen.
func removedRightAfter(e *fakeEngine, n int) bool {
	return e.calls[n-1] == "remove docker.io/library/traefik:v2"
}

func TestWhatStays(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(e *fakeEngine)
		kind   func(out host.Outcome) []host.Failure
		want   string // that it has still
		reason string
	}{
		{
			"used", func(e *fakeEngine) { e.used[id("two")] = true }, func(o host.Outcome) []host.Failure { return o.Refused },
			"docker.io/library/traefik:2 docker.io/library/traefik:v2", "the engine refuses, and its names come back",
		},
		{
			"a new name", func(e *fakeEngine) { e.names[id("two")] = append(e.names[id("two")], name("other:x")) },
			func(o host.Outcome) []host.Failure { return o.Moved },
			"docker.io/library/other:x docker.io/library/traefik:2 docker.io/library/traefik:v2", "nobody judged that name",
		},
		{
			"still there", func(e *fakeEngine) { e.stays[id("two")] = true }, func(o host.Outcome) []host.Failure { return o.Refused },
			"docker.io/library/traefik:2 docker.io/library/traefik:v2", "an engine that only takes the names has not deleted it",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := world(true, images())
			planned := steps(e, "two", "one")
			tt.change(e)
			out := run(e).Do(t.Context(), planned)
			found := tt.kind(out)
			if len(found) != 1 || found[0].ID != id("two") || len(out.Deleted) != 1 || out.Stopped != nil {
				t.Errorf("%s: %+v", tt.reason, out)
			}
			if got := e.held()[id("two").String()]; got != tt.want {
				t.Errorf("%s: it has %q", tt.reason, got)
			}
		})
	}
}

func TestWhatIsGoneIsNoDeletion(t *testing.T) {
	e := world(false, images())
	planned := steps(e, "one", "two")
	delete(e.names, id("one"))
	out := run(e).Do(t.Context(), planned)
	if len(out.Gone) != 1 || len(out.Deleted) != 1 || out.FreedBytes != 10 {
		t.Errorf("%+v", out)
	}
}

func TestGate(t *testing.T) {
	busy := errors.New("busy")
	for _, tt := range []struct {
		name    string
		still   error
		skipped int
		stopped bool
	}{
		{"skip", fmt.Errorf("%w: a pull", host.ErrSkip), 2, false},
		{"stop", busy, 0, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e, asked := world(false, images()), 0
			r := run(e)
			r.Still = func(context.Context, retention.Step) error { asked++; return tt.still }
			out := r.Do(t.Context(), steps(e, "one", "two"))
			if len(out.Skipped) != tt.skipped || (out.Stopped != nil) != tt.stopped || len(e.calls) > 0 || asked != 1 {
				t.Errorf("asked %d times, called %v: %+v", asked, e.calls, out)
			}
		})
	}
}

// A digest can not be put back: that is a failure, and the end of the pass.
func TestLostDigest(t *testing.T) {
	e := world(true, map[string][]string{"two": {digest("a", "d"), digest("b", "d")}, "one": {"traefik:v1"}})
	e.used[id("two")] = true
	out := run(e).Do(t.Context(), steps(e, "two", "one"))
	if len(out.Failed) != 1 || out.Stopped == nil || !strings.Contains(out.Stopped.Error(), "can not be put back") || len(e.names[id("one")]) != 1 {
		t.Errorf("%+v", out)
	}
}

// A signal in the middle of an image leaves none half done.
func TestSignalAmidAnImage(t *testing.T) {
	for n := 1; n <= 4; n++ {
		e := world(false, images())
		ctx, cancel := context.WithCancel(t.Context())
		e.before = func(call int) {
			if call == n {
				cancel()
			}
		}
		out := run(e).Do(ctx, steps(e, "two", "one"))
		if len(out.Deleted) != 1 || !errors.Is(out.Stopped, context.Canceled) || len(e.names[id("one")]) != 1 {
			t.Errorf("after call %d: %+v", n, out)
		}
	}
}

// The image in hand is finished when the pass is told to end, and no other is
// begun.
func TestEnd(t *testing.T) {
	end := errors.New("told to end")
	e := world(false, images())
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	r := run(e)
	r.Done = func(host.Deletion) { cancel(end) }
	out := r.Do(ctx, steps(e, "two", "one"))
	if len(out.Deleted) != 1 || !errors.Is(out.Stopped, end) || len(e.names[id("one")]) != 1 {
		t.Errorf("%+v", out)
	}
}

// What can not be written down is not begun, and nothing behind it.
func TestWhatCanNotBeWrittenDown(t *testing.T) {
	full := errors.New("no space left")
	e := world(false, images())
	r := run(e)
	r.Begin = func(d host.Deletion) error {
		if d.ID == id("two") {
			return full
		}
		return nil
	}
	out := r.Do(t.Context(), steps(e, "one", "two", "three"))
	if len(out.Deleted) != 1 || !errors.Is(out.Stopped, full) || len(e.names[id("two")]) != 2 || len(e.names[id("three")]) == 0 {
		t.Errorf("%+v", out)
	}
}
