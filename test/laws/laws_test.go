package laws

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	app "github.com/ebb-io/ebb/internal/app/registry"
	"github.com/ebb-io/ebb/internal/image"
	"github.com/ebb-io/ebb/internal/inventory"
	"github.com/ebb-io/ebb/internal/plan"
	"github.com/ebb-io/ebb/internal/reason"
	"github.com/ebb-io/ebb/internal/refs"
	"github.com/ebb-io/ebb/internal/store/blob"
	"github.com/ebb-io/ebb/internal/store/blob/mem"
	"github.com/ebb-io/ebb/internal/store/registry"
)

func check(t *rapid.T, reader blob.Reader, s sample) *plan.Plan {
	p, err := app.Check(context.Background(), registry.New(reader, nil), s.request())
	if errors.Is(err, app.ErrIncomplete) {
		t.Skip("blobs without a repository are refused")
	}
	if err != nil && !errors.Is(err, registry.ErrEmpty) {
		t.Fatal(err)
	}
	return p
}

func run(t *rapid.T, driver app.Driver, s sample) *app.Result {
	result, err := app.Run(context.Background(), driver, nil, s.runRequest())
	if errors.Is(err, app.ErrIncomplete) {
		t.Skip("blobs without a repository are refused")
	}
	if err != nil && !errors.Is(err, registry.ErrEmpty) {
		t.Fatal(err)
	}
	return result
}

// kept are the images that a plan keeps, deleted the others.
func sides(p *plan.Plan) (kept, deleted map[pullable]bool) {
	kept, deleted = map[pullable]bool{}, map[pullable]bool{}
	for _, d := range p.Decisions {
		side := kept
		if d.Delete {
			side = deleted
		}
		side[pullable{d.Repository, d.Digest.String()}] = true
	}
	return kept, deleted
}

// Law 1: every kept image that was whole before a run is whole after it.
func TestKeptStaysWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSample(t, true)
		before := read(s.store).whole()
		result := run(t, s.on(), s)
		after := read(s.store).whole()
		kept, deleted := sides(result.Plan)
		for i := range before {
			if kept[i] && !after[i] {
				t.Fatalf("%v was kept and whole, and is broken", i)
			}
			if !kept[i] && !deleted[i] {
				t.Fatalf("%v has no decision", i)
			}
		}
		for i := range deleted {
			if read(s.store).linked(i.repository, i.digest) {
				t.Fatalf("%v was to be deleted and is there", i)
			}
		}
	})
}

// Every image has reasons, and all of them speak for its side.
func TestReasonsMatchTheDecision(t *testing.T) {
	drop := []reason.Code{reason.OwnerGone, reason.OwnerDone, reason.StaleOwner, reason.Untagged, reason.SubjectGone}
	rapid.Check(t, func(t *rapid.T) {
		s := drawSample(t, true)
		for _, d := range check(t, s.store.ReadOnly(), s).Decisions {
			if len(d.Reasons) == 0 {
				t.Fatalf("%s@%s has no reason", d.Repository, d.Digest)
			}
			for _, r := range d.Reasons {
				if slices.Contains(drop, r.Code) != d.Delete {
					t.Fatalf("%s@%s: delete is %v for %v", d.Repository, d.Digest, d.Delete, d.Reasons)
				}
			}
		}
	})
}

// Law 4: one more owner, reference or pin never deletes more.
func TestMoreNeedNeverDeletesMore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSample(t, true)
		_, deleted := sides(check(t, s.on(), s))
		more := s
		more.owners.Rules = slices.Clone(s.owners.Rules)
		if rapid.Bool().Draw(t, "owner") {
			more.owners.Owners = append(slices.Clone(s.owners.Owners), anotherOwner(t, s.owners.Rules))
		} else {
			more.owners.References = append(slices.Clone(s.owners.References), anotherReference(t, s.store))
		}
		_, fewer := sides(check(t, s.store, more))
		for i := range fewer {
			if !deleted[i] {
				t.Fatalf("%v is deleted only with one more need", i)
			}
		}
	})
}

// anotherOwner is not the first object of its kind: that one may delete more.
func anotherOwner(t *rapid.T, rules []refs.Rule) refs.Owner {
	rule := rapid.IntRange(0, len(rules)-1).Draw(t, "rule of one more")
	return refs.Owner{
		Rule: rule,
		Values: refs.Values{
			Namespace: "ns", Name: rapid.SampledFrom([]string{"a", "b", "ns"}).Draw(t, "name of one more"),
			UID: rapid.SampledFrom([]string{uidA, uidB, ""}).Draw(t, "uid of one more"),
		},
	}
}

func anotherReference(t *rapid.T, store *mem.Store) refs.Reference {
	r := refs.Reference{Code: reason.Pinned, By: "one more"}
	images := slices.Collect(maps.Keys(read(store).whole()))
	if len(images) == 0 {
		r.Repository, r.Whole = "apps/web", true
		return r
	}
	slices.SortFunc(images, func(a, b pullable) int { return strings.Compare(a.repository+a.digest, b.repository+b.digest) })
	d, err := image.ParseDigest(rapid.SampledFrom(images).Draw(t, "pinned").digest)
	if err != nil {
		t.Fatal(err)
	}
	r.Digest = &d
	return r
}

// Law 5: the same input gives the same plan, whatever the order of listings.
func TestOrderDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSample(t, true)
		first := check(t, s.store, s)
		second := check(t, shuffled{s.store, rapid.Uint64().Draw(t, "seed")}, s)
		if diff := cmp.Diff(first.Decisions, second.Decisions, cmp.Comparer(sameDigest)); diff != "" {
			t.Fatalf("decisions differ:\n%s", diff)
		}
		if diff := cmp.Diff(first.Inventory().Problems, second.Inventory().Problems); diff != "" {
			t.Fatalf("problems differ:\n%s", diff)
		}
		if first.Fingerprint() != second.Fingerprint() {
			t.Fatal("steps differ")
		}
	})
}

func sameDigest(a, b image.Digest) bool { return a == b }

// Law 6: what check says is freed is what run frees, to the byte and the item.
func TestDryRunIsTheRun(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSample(t, true)
		planned := check(t, s.on(), s)
		result := run(t, s.on(), s)
		if planned.Fingerprint() != result.Plan.Fingerprint() {
			t.Fatal("check and run plan differently")
		}
		if planned.Totals.ReclaimableBytes != result.Outcome.FreedBytes || len(result.Outcome.Failed) > 0 {
			t.Fatalf("planned %d bytes, freed %d, failed %v", planned.Totals.ReclaimableBytes, result.Outcome.FreedBytes, result.Outcome.Failed)
		}
	})
}

// Law 7: a second run at the same clock plans nothing.
func TestSecondRunIsEmpty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSample(t, true)
		run(t, s.on(), s)
		if second := run(t, s.on(), s); len(slices.Concat(second.Plan.Steps(nil)...)) > 0 {
			t.Fatalf("a second run deletes %v", slices.Concat(second.Plan.Steps(nil)...))
		}
	})
}

// Law 8: a tag that no rule claims stays, unless its form says that it only
// describes another image.
func TestUnclaimedTagsStay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSample(t, true)
		before := read(s.store).tags()
		run(t, s.on(), s)
		after := read(s.store).tags()
		for name, target := range before {
			_, tag, _ := strings.Cut(name, ":")
			if isClaimed(target.repository) || strings.HasPrefix(tag, "sha256-") {
				continue
			}
			if after[name] != target {
				t.Fatalf("%s is gone", name)
			}
		}
	})
}

// Exclusive bytes are exclusive: added up they are never more than there is.
func TestBytesAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSample(t, false)
		p := check(t, s.on(), s)
		sum := int64(0)
		for _, d := range p.Decisions {
			if d.Bytes.Exclusive < 0 || d.Bytes.Shared < 0 {
				t.Fatalf("%v has negative bytes", d)
			}
			sum += d.Bytes.Exclusive
		}
		if sum > p.Totals.Bytes || p.Totals.Keep+p.Totals.Delete != p.Totals.Images {
			t.Fatalf("%d exclusive bytes in %+v", sum, p.Totals)
		}
	})
}

// A run of a stored plan deletes nothing that the plan does not name, frees
// what it says, and keeps whole what stands.
func TestStoredPlanDeletesOnlyWhatItNames(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSample(t, true)
		full := check(t, s.on(), s)
		named := plan.Named{}
		for _, item := range slices.Concat(full.Steps(nil)...) {
			if rapid.Bool().Draw(t, "named") {
				named.Add(item)
			}
		}
		before := read(s.store)
		request := s.runRequest()
		request.Named = named
		result, err := app.Run(context.Background(), s.on(), nil, request)
		if errors.Is(err, app.ErrStale) || errors.Is(err, registry.ErrEmpty) {
			return // what stands needs something that was named
		}
		if err != nil {
			t.Fatal(err)
		}
		_, deleted := sides(result.Plan)
		after := read(s.store)
		for i := range deleted {
			if after.linked(i.repository, i.digest) {
				t.Fatalf("%v was named and is there", i)
			}
		}
		for path := range before.files {
			if _, left := after.files[path]; !left && !isNamed(named, before, path) {
				t.Fatalf("%s was not named and is gone", path)
			}
		}
		stillWhole(t, before, after)
		if result.Plan.Totals.ReclaimableBytes != result.Outcome.FreedBytes || len(result.Outcome.Failed) > 0 {
			t.Fatalf("planned %d bytes, freed %d, failed %v", result.Plan.Totals.ReclaimableBytes, result.Outcome.FreedBytes, result.Outcome.Failed)
		}
	})
}

// isNamed tells whether a stored plan names what a file belongs to. Tags go with
// their image, or with the whole repository.
func isNamed(named plan.Named, before oracle, path string) bool {
	if isResidue(before, path) {
		return true
	}
	repository, rest, _ := strings.Cut(strings.TrimPrefix(path, root+"repositories/"), "/_")
	for item := range named {
		if item.Kind == inventory.RepositoryFolder && item.Repository == repository {
			return true
		}
		target, _, _ := strings.Cut(strings.TrimPrefix(rest, "manifests/tags/"), "/")
		tagged := before.tags()[repository+":"+target] == pullable{repository, item.Digest.String()}
		if item.Kind == inventory.Revision && item.Repository == repository && tagged {
			return true
		}
		if strings.HasPrefix(path, registry.Path(item)+"/") {
			return true
		}
	}
	return false
}

// isResidue tells of a file that it lies where a link or a blob's data was gone
// already: nobody would miss it, and no plan names it.
func isResidue(before oracle, path string) bool {
	dir, _, signature := strings.Cut(path, "/signatures/")
	if !signature {
		dir = path[:strings.LastIndex(path, "/")]
	}
	_, link := before.files[dir+"/link"]
	_, data := before.files[dir+"/data"]
	return !link && !data && !strings.Contains(path, "/tags/") && !strings.Contains(path, "/_uploads/")
}
