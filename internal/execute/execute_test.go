package execute_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	app "github.com/ebb-io/ebb/internal/app/registry"
	"github.com/ebb-io/ebb/internal/execute"
	"github.com/ebb-io/ebb/internal/inventory"
	"github.com/ebb-io/ebb/internal/plan"
	"github.com/ebb-io/ebb/internal/policy"
	"github.com/ebb-io/ebb/internal/refs"
	"github.com/ebb-io/ebb/internal/store/blob/mem"
	"github.com/ebb-io/ebb/internal/store/registry"
	"github.com/ebb-io/ebb/internal/testkit/world"
)

// recorder is a store that only writes down what it is told to delete.
type recorder struct {
	calls  []string
	fail   func(inventory.Item) error
	cancel func()
}

func (r *recorder) Delete(ctx context.Context, items []inventory.Item) []error {
	if ctx.Err() != nil {
		panic("a batch that began must not see the context end")
	}
	errs := make([]error, len(items))
	for i, item := range items {
		r.calls = append(r.calls, fmt.Sprint(item.Kind))
		if r.fail != nil {
			errs[i] = r.fail(item)
		}
	}
	if r.cancel != nil {
		r.cancel()
	}
	return errs
}

// indexed is a plan that deletes an index, its child and everything of both.
func indexed(t *testing.T) *plan.Plan {
	t.Helper()
	store := mem.New()
	w := world.New(world.Mem(store))
	child := w.Image("vi/ns/a", world.Layers(w.Layer("layer")))
	w.Index("vi/ns/a", []world.Image{child}, world.Tag("v1"))
	w.Image("apps/web", world.ConfigText("kept"), world.Tag("v1"))
	pattern, err := refs.ParsePattern("vi/{namespace}/{name}")
	if err != nil {
		t.Fatal(err)
	}
	set := refs.Set{Rules: []refs.Rule{{Name: "vi", Kind: "VirtualImage", Repository: pattern, Objects: 1}}}
	p, err := app.Check(t.Context(), registry.New(store, nil), app.Request{
		Owners: func(context.Context) (refs.Set, error) { return set, nil },
		Policy: policy.Default(), Now: w.Now(),
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

const (
	history, link, folder   = "0", "1", "2"
	revision, layer         = "3", "4"
	manifestBlob, otherBlob = "5", "6"
	repositoryFolder        = "9"
)

func TestParentsGoBeforeWhatTheyNeed(t *testing.T) {
	store := &recorder{}
	out := execute.Run{Store: store}.Do(t.Context(), indexed(t))
	want := []string{
		history, link, folder, revision, revision, layer, layer,
		manifestBlob, manifestBlob, otherBlob, otherBlob, repositoryFolder,
	}
	if diff := cmp.Diff(want, store.calls); diff != "" {
		t.Error(diff)
	}
	counted := execute.Deleted{Tags: 1, Manifests: 2, LayerLinks: 2, Blobs: 4, Repositories: 1}
	if out.Deleted != counted || out.Stopped != nil || out.FreedBytes == 0 {
		t.Errorf("outcome %+v", out)
	}
}

// The index' revision and its child's are in phases of their own: when the
// index can not be deleted, the child and all it needs stay.
func TestFailedParentKeepsAllItNeeds(t *testing.T) {
	p := indexed(t)
	var index inventory.Item
	for _, d := range p.Decisions {
		if len(d.Tags) > 0 && d.Delete {
			index = inventory.Item{Kind: inventory.Revision, Repository: d.Repository, Digest: d.Digest}
		}
	}
	store := &recorder{fail: func(item inventory.Item) error {
		if item == index {
			return errors.New("no")
		}
		return nil
	}}
	out := execute.Run{Store: store}.Do(t.Context(), p)
	if diff := cmp.Diff([]string{history, link, folder, revision}, store.calls); diff != "" {
		t.Error(diff)
	}
	if len(out.Failed) != 1 || out.Failed[0].Item != index || out.Stopped != nil {
		t.Errorf("outcome %+v", out)
	}
}

func TestFailedTagKeepsItsImage(t *testing.T) {
	store := &recorder{fail: func(item inventory.Item) error {
		if item.Kind == inventory.TagLink {
			return errors.New("it has moved")
		}
		return nil
	}}
	execute.Run{Store: store}.Do(t.Context(), indexed(t))
	if diff := cmp.Diff([]string{history, link}, store.calls); diff != "" {
		t.Error(diff)
	}
}

func TestFailedLayerLinkKeepsItsBlob(t *testing.T) {
	store := &recorder{fail: func(item inventory.Item) error {
		if item.Kind == inventory.LayerLink {
			return errors.New("no")
		}
		return nil
	}}
	execute.Run{Store: store}.Do(t.Context(), indexed(t))
	if slices.Contains(store.calls, otherBlob) || slices.Contains(store.calls, repositoryFolder) {
		t.Errorf("links stand, and their blobs or folder went: %v", store.calls)
	}
	if !slices.Contains(store.calls, manifestBlob) {
		t.Errorf("manifests without a revision stay: %v", store.calls)
	}
}

func TestFailedManifestBlobKeepsItsContent(t *testing.T) {
	store := &recorder{fail: func(item inventory.Item) error {
		if item.Kind == inventory.ManifestBlob {
			return errors.New("no")
		}
		return nil
	}}
	execute.Run{Store: store}.Do(t.Context(), indexed(t))
	if slices.Contains(store.calls, otherBlob) {
		t.Errorf("manifests stand, and their content went: %v", store.calls)
	}
}

// Every phase is guarded, every batch has the lock, every phase is synced.
func TestNothingIsDeletedWithoutProof(t *testing.T) {
	refused := errors.New("refused")
	phases := 0
	for _, items := range indexed(t).Steps(nil) {
		if len(items) > 0 {
			phases++
		}
	}
	for _, test := range []struct {
		name string
		run  func(works int) execute.Run
		late int // phases that are done when it fails for the first time
	}{
		{"guard", func(works int) execute.Run {
			return execute.Run{Proofs: execute.Proofs{Guard: failing(works, refused)}}
		}, 0},
		{"lock", func(works int) execute.Run { return execute.Run{Proofs: execute.Proofs{Beat: failing(works, refused)}} }, 0},
		{"sync", func(works int) execute.Run { return execute.Run{Proofs: execute.Proofs{Sync: failing(works, refused)}} }, 1},
	} {
		for works := range phases {
			store := &recorder{}
			run := test.run(works)
			run.Store = store
			out := run.Do(t.Context(), indexed(t))
			if !errors.Is(out.Stopped, refused) {
				t.Errorf("%s failed in phase %d: stopped by %v", test.name, works, out.Stopped)
			}
			if done := distinct(store.calls); done > works+test.late {
				t.Errorf("%s worked %d times, and %d kinds were deleted", test.name, works, done)
			}
		}
	}
}

// failing works a number of times and then fails.
func failing(times int, err error) func(context.Context) error {
	return func(context.Context) error {
		if times--; times < 0 {
			return err
		}
		return nil
	}
}

func distinct(calls []string) int { return len(slices.Compact(slices.Clone(calls))) }

// A signal ends the run after the batch in hand, and tells what stopped it.
func TestSignalFinishesTheStepInHand(t *testing.T) {
	signal := errors.New("signal")
	ctx, cancel := context.WithCancelCause(t.Context())
	store := &recorder{cancel: func() { cancel(signal) }}
	out := execute.Run{Store: store}.Do(ctx, indexed(t))
	if diff := cmp.Diff([]string{history}, store.calls); diff != "" {
		t.Error(diff)
	}
	if !errors.Is(out.Stopped, signal) {
		t.Errorf("stopped by %v", out.Stopped)
	}
}

// leaving deletes until its context ends, which it is made to do in the middle of
// a batch.
type leaving struct {
	lose    func()
	deleted int
}

func (l *leaving) Delete(ctx context.Context, items []inventory.Item) []error {
	errs := make([]error, len(items))
	for i := range items {
		if errs[i] = context.Cause(ctx); errs[i] == nil {
			l.deleted++
		}
		if items[i].Kind == inventory.LayerLink {
			l.lose()
		}
	}
	return errs
}

// A lost lock stops the batch in hand: what it left is no failure.
func TestLostLockStopsTheBatchInHand(t *testing.T) {
	lost := errors.New("lost")
	held, lose := context.WithCancelCause(t.Context())
	store := &leaving{lose: func() { lose(lost) }}
	var steps []inventory.Item
	for _, phase := range indexed(t).Steps(nil) {
		steps = append(steps, phase...)
	}
	proofs := execute.Proofs{Held: func() context.Context { return held }}
	out := execute.Run{Store: store, Proofs: proofs}.Do(t.Context(), indexed(t))
	if !errors.Is(out.Stopped, lost) || out.Deleted.LayerLinks != 1 || out.Deleted.Blobs > 0 || len(out.Failed) > 0 {
		t.Errorf("%d of %d deleted, outcome %+v", store.deleted, len(steps), out)
	}
	proofs.Held = func() context.Context { return context.WithoutCancel(held) }
	var left []error
	err := execute.Phase(t.Context(), proofs, len(steps), steps, func(ctx context.Context, items []inventory.Item) {
		left = (&leaving{lose: func() {}}).Delete(ctx, items)
	})
	if err != nil || errors.Join(left...) != nil {
		t.Errorf("with the lock: %v, %v", err, left)
	}
}

func TestRestrictedPlanHoldsBack(t *testing.T) {
	store := &recorder{}
	out := execute.Run{Store: store}.Do(t.Context(), indexed(t).Restrict(plan.Named{}))
	if len(store.calls) > 0 || out.Deleted != (execute.Deleted{}) {
		t.Errorf("nothing was named, and %v were deleted", store.calls)
	}
}

// A batch is never larger than it may be, and the lock is looked at before each.
func TestBatchesAreBounded(t *testing.T) {
	p, beats, items := indexed(t), 0, 0
	for _, phase := range p.Steps(nil) {
		items += len(phase)
	}
	store := &recorder{}
	one := func(inventory.ItemKind) int { return 1 }
	beat := func(context.Context) error { beats++; return nil }
	execute.Run{Store: store, Batch: one, Proofs: execute.Proofs{Beat: beat}}.Do(t.Context(), p)
	if beats != items || len(store.calls) != items {
		t.Errorf("%d beats and %d calls for %d items", beats, len(store.calls), items)
	}
}
