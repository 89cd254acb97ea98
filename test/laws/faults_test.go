package laws

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	app "github.com/ebb-io/ebb/internal/app/registry"
	"github.com/ebb-io/ebb/internal/plan"
	"github.com/ebb-io/ebb/internal/store/blob/fault"
)

// Law 2: a read that fails never deletes more than the same run without it.
func TestFailedReadsDeleteNoMore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSample(t, true)
		clean := s.store.Clone()
		counted := s.placed(clean)
		wanted := run(t, counted, s)
		op := drawOp(t, counted.Ops())
		broken := s.on(fault.FailReadWhere(func(o fault.Op) bool { return o == op }))
		result, err := app.Run(context.Background(), broken, nil, s.runRequest())
		if err != nil {
			return // refused as a whole
		}
		if lost := lostMore(read(clean), read(s.store)); lost != "" {
			t.Fatalf("%s is gone only when %v fails\nclean: %s\nbroken: %s", lost, op, describe(wanted.Plan), describe(result.Plan))
		}
		if broken.Fired() && len(result.Plan.Inventory().Problems) == 0 && len(result.Outcome.Failed) == 0 {
			t.Fatalf("%v failed and nothing tells of it", op)
		}
	})
}

// drawOp picks a read by name: several are under way at once, so their order
// tells nothing.
func drawOp(t *rapid.T, ops []fault.Op) fault.Op {
	slices.SortFunc(ops, func(a, b fault.Op) int {
		return strings.Compare(string(a.Kind)+a.Path, string(b.Kind)+b.Path)
	})
	return ops[rapid.IntRange(0, len(ops)-1).Draw(t, "failing read")]
}

// lostMore finds a link, a tag or a whole image that is left by the first and
// not by the second. Content alone is no loss where nothing leads to it.
func lostMore(clean, broken oracle) string {
	for path := range clean.files {
		if _, ok := broken.files[path]; !ok && strings.HasPrefix(path, root+"repositories/") {
			return path
		}
	}
	whole := broken.whole()
	for i := range clean.whole() {
		if !whole[i] {
			return i.repository + "@" + i.digest
		}
	}
	return ""
}

// describe writes a plan down for a failure's report.
func describe(p *plan.Plan) string {
	var b strings.Builder
	for _, d := range p.Decisions {
		fmt.Fprintf(&b, "\n  %s@%.19s %v delete=%v %v", d.Repository, d.Digest.String(), d.Tags, d.Delete, d.Reasons)
	}
	for _, problem := range p.Inventory().Problems {
		fmt.Fprintf(&b, "\n  %s %.120s %.60s", problem.Code, problem.Path, problem.Detail)
	}
	return b.String()
}

// Law 3: stopped at any deletion, what is still listed and was whole is whole,
// and the next run finishes the work.
func TestCrashIsSafe(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSample(t, true)
		before := read(s.store)
		clean := s.store.Clone()
		run(t, s.placed(clean), s)
		n := rapid.IntRange(1, 80).Draw(t, "crash at deletion")
		_, _ = app.Run(context.Background(), s.on(fault.CrashAtDelete(n)), nil, s.runRequest())
		crashed := read(s.store)
		stillWhole(t, before, crashed)
		second := run(t, s.on(), s)
		compareAfterResume(t, read(clean), read(s.store), second)
	})
}

func stillWhole(t *rapid.T, before, after oracle) {
	whole := after.whole()
	for i := range before.whole() {
		if after.linked(i.repository, i.digest) && !whole[i] {
			t.Fatalf("%v is listed and was whole, and is broken", i)
		}
	}
	was := before.tags()
	for tag, i := range after.tags() {
		if before.whole()[was[tag]] && !whole[i] {
			t.Fatalf("%s is listed and led to a whole image, and is broken", tag)
		}
	}
}

// compareAfterResume allows one difference, of which nothing is lost: what a tag
// alone said of an image is forgotten when the tag is gone already. What
// described a lost image is an ordinary untagged image, or alone in its
// repository a collection of signatures; what was another object's may be the
// image of an owner that has none yet.
func compareAfterResume(t *rapid.T, clean, resumed oracle, second *app.Result) {
	for path := range clean.files {
		if _, ok := resumed.files[path]; !ok {
			t.Fatalf("%s was deleted only after the first run was disturbed", path)
		}
	}
	if slices.ContainsFunc(second.Plan.Decisions, leftBehind) {
		return
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(clean.files)), slices.Sorted(maps.Keys(resumed.files))); diff != "" {
		t.Fatalf("the second run did not finish the work (-clean +resumed):\n%s%s", diff, describe(second.Plan))
	}
}

func leftBehind(d plan.Decision) bool {
	attached := !slices.ContainsFunc(d.Tags, func(tag string) bool { return !strings.HasPrefix(tag, "sha256-") })
	return !d.Delete && attached
}

// A deletion that fails keeps all that its image needs, and the next run
// finishes.
func TestFailedDeletionsAreSafe(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSample(t, true)
		before := read(s.store)
		clean := s.store.Clone()
		run(t, s.placed(clean), s)
		n := rapid.IntRange(1, 80).Draw(t, "failing deletion")
		result := run(t, s.on(fault.FailDelete(n)), s)
		after := read(s.store)
		stillWhole(t, before, after)
		if len(after.files) > len(read(clean).files) && len(result.Outcome.Failed) == 0 {
			t.Fatal("a deletion failed and nothing tells of it")
		}
		second := run(t, s.on(), s)
		compareAfterResume(t, read(clean), read(s.store), second)
	})
}
