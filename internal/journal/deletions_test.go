package journal_test

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ebb-io/ebb/internal/image"
	"github.com/ebb-io/ebb/internal/journal"
	. "github.com/ebb-io/ebb/internal/testkit/hostworld" //nolint:revive // a world reads as its words
)

func TestRefusalsBackOff(t *testing.T) {
	var r journal.Record
	before := r
	now := Now()
	for n, want := range []time.Duration{1, 2, 4, 8, 16, 32, 64, 128, 168, 168, 168, 168, 168, 168} {
		r = r.Refuse(ID("web:1"), "in use", now)
		want := journal.Refusal{Times: n + 1, Last: now, Until: now.Add(want * time.Hour), Why: "in use"}
		if diff := cmp.Diff(want, r.Refused[ID("web:1")]); diff != "" {
			t.Errorf("refusal %d: %s", n+1, diff)
		}
		now = now.Add(Day)
	}
	second := before.Refuse(ID("web:1"), "in use", now)
	second.Refuse(ID("web:1"), "in use", now)
	if len(before.Refused) != 0 || second.Refused[ID("web:1")].Times != 1 {
		t.Error("a refusal changed an older record")
	}
}

// TestRefusalsThatCanNotBe: whatever a damaged journal counts, the next wait is
// between an hour and a week.
func TestRefusalsThatCanNotBe(t *testing.T) {
	for _, times := range []int{-1, math.MinInt, math.MaxInt} {
		r := journal.Record{Refused: map[image.Digest]journal.Refusal{ID("web:1"): {Times: times}}}
		for range 2 {
			r = r.Refuse(ID("web:1"), "in use", Now())
			if wait := r.Refused[ID("web:1")].Until.Sub(Now()); wait < time.Hour || wait > 7*Day {
				t.Errorf("%d times: it waits %s", times, wait)
			}
		}
	}
}

func TestDeletionsAreBounded(t *testing.T) {
	var r journal.Record
	for n := range 10_002 {
		r.Deletions = append(r.Deletions, journal.Deletion{At: Now().Add(time.Duration(n)), Bytes: int64(n)})
	}
	next := r.Deleted(journal.Deletion{Bytes: -1})
	if got := next.Deletions; len(got) != 10_000 || got[0].Bytes != 3 || got[9_999].Bytes != -1 {
		t.Errorf("%d, from %d to %d", len(got), got[0].Bytes, got[len(got)-1].Bytes)
	}
	both := observe(journal.Record{}, New(Tagged("web:1", "web:2"), Pin("web:1")), 0).Refuse(ID("web:1"), "conflict", Now())
	left := both.Deleted(journal.Deletion{ID: ID("web:1")})
	if len(left.Images) != 1 || len(left.Refused) != 0 || len(left.Pins[Name("web:1").String()].Images) != 0 {
		t.Errorf("%+v: an image that comes back would not be new", left)
	}
	if len(both.Images) != 2 || len(both.Refused) != 1 || len(both.Pins[Name("web:1").String()].Images) != 1 {
		t.Error("a deletion changed an older record")
	}
	roomy := journal.Record{Deletions: make([]journal.Deletion, 0, 2)}
	one, other := roomy.Deleted(journal.Deletion{Bytes: 1}), roomy.Deleted(journal.Deletion{Bytes: 2})
	if len(r.Deletions) != 10_002 || one.Deletions[0].Bytes == other.Deletions[0].Bytes {
		t.Error("a deletion changed an older record")
	}
}
