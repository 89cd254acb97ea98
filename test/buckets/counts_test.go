package buckets

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	app "github.com/ebb-io/ebb/internal/app/registry"
	"github.com/ebb-io/ebb/internal/inventory"
	"github.com/ebb-io/ebb/internal/plan"
	"github.com/ebb-io/ebb/internal/policy"
	"github.com/ebb-io/ebb/internal/refs"
	"github.com/ebb-io/ebb/internal/store/blob/s3"
	"github.com/ebb-io/ebb/internal/store/registry"
	"github.com/ebb-io/ebb/internal/store/registry/manifestcache"
	"github.com/ebb-io/ebb/internal/testkit/objects"
	"github.com/ebb-io/ebb/internal/testkit/trial"
	"github.com/ebb-io/ebb/internal/testkit/world"
	"github.com/ebb-io/ebb/test/bench/fixture"
)

// open is a driver for what lies below root in a bucket.
func open(t *testing.T, b objects.Bucket) *s3.Writable {
	t.Helper()
	d, err := s3.OpenWritable(t.Context(), s3.Options{
		Bucket: b.Name, Prefix: root, Endpoint: b.Endpoint, Region: b.Region, AccessKey: b.AccessKey, SecretKey: b.SecretKey,
	})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// filled is a fake that holds a fixture below reg/ and was asked nothing yet.
func filled(t *testing.T, shape fixture.Shape, now time.Time) *objects.Fake {
	t.Helper()
	f := objects.NewFake(t)
	if err := fixture.Fill(t.Context(), f.Store(root), shape, now); err != nil {
		t.Fatal(err)
	}
	return f
}

func untagged(now time.Time) app.Request {
	p := policy.Default()
	p.DeleteUntagged = true
	return app.Request{Owners: func(context.Context) (refs.Set, error) { return refs.Set{}, nil }, Policy: p, Now: now}
}

func pages(keys int) int { return max(1, (keys+999)/1000) }

func sum(counts map[string]int) (n int) {
	for _, c := range counts {
		n += c
	}
	return n
}

// within holds a number of requests to its bound.
func within(t *testing.T, what string, f *objects.Fake, bound float64) int {
	t.Helper()
	got := sum(f.Counts())
	if float64(got) > bound {
		t.Errorf("%s: %d requests, want at most %.1f: %v", what, got, bound, f.Counts())
	}
	t.Logf("%s: %d requests, at most %.1f: %v", what, got, bound, f.Counts())
	return got
}

// TestRequests holds what a check and a run ask of a bucket: one request for
// each page, each tag and each manifest, and a few for what they must be sure
// of; with a cache none for a manifest that was read before.
func TestRequests(t *testing.T) {
	cases := []struct {
		shape         fixture.Shape
		first, second int // times fewer requests than the stock collector
	}{
		{fixture.Shape{Repositories: 10, Images: 40, Layers: 4, Untagged: 4}, 30, 60},
		{fixture.Shape{Repositories: 1, Images: 400, Layers: 4, Untagged: 4}, 180, 400},
	}
	for _, c := range cases {
		t.Run(fmt.Sprintf("%dx%d", c.shape.Repositories, c.shape.Images), func(t *testing.T) {
			now := time.Now()
			f := filled(t, c.shape, now)
			tags, manifests := c.shape.Summary().Images-c.shape.Summary().Untagged, c.shape.Summary().Images
			listed := pages(len(f.Objects()))
			driver, store := open(t, f.Bucket), cached(t)

			f.SetLatency(250 * time.Millisecond)
			p := check(t, driver, store, untagged(now))
			first := within(t, "check", f, 1.1*float64(listed+tags+manifests))
			if p.Totals.Delete != c.shape.Summary().Untagged {
				t.Fatalf("the plan is %+v", p.Totals)
			}
			if f.InFlight() < 64 {
				t.Errorf("%d requests in flight, want 64", f.InFlight())
			}
			f.SetLatency(0)
			f.Reset()
			check(t, driver, store, untagged(now))
			second := within(t, "check again", f, 1.1*float64(listed+tags))
			stock := c.shape.StockRequests()
			if stock < c.first*first || stock < c.second*second {
				t.Errorf("the stock collector takes %d: %.1f times the first and %.1f times the second, want %d and %d",
					stock, float64(stock)/float64(first), float64(stock)/float64(second), c.first, c.second)
			}
			f.Reset()
			result := run(t, driver, store, untagged(now))
			within(t, "run", f, float64(second+beyondCheck(result.Plan)))
			if n := result.Outcome.Deleted.Manifests; n != c.shape.Summary().Untagged || len(result.Outcome.Failed) > 0 {
				t.Errorf("%d deleted, failed %v", n, result.Outcome.Failed)
			}
		})
	}
}

// beyondCheck is what a run may ask besides what a check does.
func beyondCheck(p *plan.Plan) int {
	n := 3 // is it a registry's storage? the first page, what is behind the registry, and that nothing follows
	n += 3 // the lock: it is taken, and the server is tried with two writes that it must refuse
	n += 2 // and given back: one write to prove that it is still held, one deletion
	for _, phase := range p.Steps(nil) {
		n += phaseRequests(phase)
	}
	return n
}

func check(t *testing.T, driver *s3.Writable, cache registry.ManifestCache, request app.Request) *plan.Plan {
	t.Helper()
	p, err := app.Check(t.Context(), registry.New(driver, nil).WithCache(cache), request)
	if err != nil {
		t.Fatal(err)
	}
	if problems := p.Inventory().Problems; len(problems) > 0 {
		t.Errorf("problems: %v", problems)
	}
	return p
}

func run(t *testing.T, driver *s3.Writable, cache registry.ManifestCache, request app.Request) *app.Result {
	t.Helper()
	result, err := app.Run(t.Context(), driver, nil, app.RunRequest{Request: request, Clock: time.Now, Cache: cache})
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func cached(t *testing.T) *manifestcache.Cache {
	t.Helper()
	cache, err := manifestcache.Open(t.TempDir(), manifestcache.DefaultLimit)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cache.Close(); err != nil {
			t.Error(err)
		}
	})
	return cache
}

// phaseRequests is what one phase of a plan may ask, in a storage where every
// tag has named one image: the lock's beat, a deletion for each thousand files,
// and where tags go a look at them before, for each repository one page for its
// tags and one more request to know that nothing follows. A
// repository that is gone is looked for in the same way.
func phaseRequests(phase []inventory.Item) int {
	if len(phase) == 0 {
		return 0
	}
	files, repositories, looked := 0, 0, map[string]bool{}
	for _, item := range phase {
		switch item.Kind {
		case inventory.TagHistory, inventory.TagLink:
			looked[item.Repository] = true
			files++
		case inventory.TagFolder:
		case inventory.RepositoryFolder:
			repositories++
		default:
			files++
		}
	}
	return 1 + (files+999)/1000 + 2*(len(looked)+repositories)
}

// TestRequestsForTags has repositories whose owners are gone: their tags are
// looked at before they go.
func TestRequestsForTags(t *testing.T) {
	f := objects.NewFake(t)
	w := world.New(f.Store(root))
	w.Image("vi/prod/web", world.Tag(uidWeb))
	for n := range 3 {
		for i := range 300 {
			w.Image(fmt.Sprintf("vi/prod/gone-%d", n), world.Tag(fmt.Sprintf("tag-%d", i)), world.ConfigText(fmt.Sprint(n, i)))
		}
	}
	q := trial.Ask(trial.Owners(t, owners), w.Now())
	q.Policy.MaxDeleteShare = policy.Share(100)
	request := app.Request{Owners: func(context.Context) (refs.Set, error) { return q.Owners, nil }, Policy: q.Policy, Now: q.Now}
	driver, store := open(t, f.Bucket), cached(t)
	check(t, driver, store, request)
	f.Reset()
	check(t, driver, store, request)
	second := sum(f.Counts())
	f.Reset()
	result := run(t, driver, store, request)
	within(t, "run", f, float64(second+beyondCheck(result.Plan)))
	if d := result.Outcome.Deleted; d.Tags != 900 || d.Manifests != 900 || d.Repositories != 3 {
		t.Errorf("deleted %+v", d)
	}
	if left, kept := len(f.Objects()), 6; left != kept {
		t.Errorf("%d objects are left, want the %d of the image that stays", left, kept)
	}
}

// TestRequestsOfATinyBucket counts each one, through the command line: what a
// large bucket needs, such as splitting its listing, costs a small one nothing.
func TestRequestsOfATinyBucket(t *testing.T) {
	f := objects.NewFake(t)
	w := world.New(f.Store(root), world.At(time.Now()))
	w.Image("apps/web", world.Tag("v1"))
	w.Image("apps/web", world.Tag("v2"), world.ConfigText("v2"))
	sh := newShell(t, f.Bucket, root)

	got := sh.must(t, "check", "-v", "--cache", "off")
	want := map[string]int{
		objects.List:        1 + 2 + 2, // the first look; blobs and repositories, each with the proof of its end
		objects.Versioning:  1,
		objects.ListUploads: 1,
		objects.Get:         2 + 2, // tags and manifests
	}
	if diff := cmp.Diff(want, f.Counts()); diff != "" {
		t.Errorf("check (-want +got):\n%s", diff)
	}
	if note := fmt.Sprintf("ebb: the storage was sent %d requests\n", sum(want)); !strings.Contains(got.err, note) {
		t.Errorf("it says %q, want %q", got.err, note)
	}
	f.Reset()
	sh.must(t, "run", "-v", "--cache", "off", "--offline", "--yes")
	want[objects.List] += 2                          // is it a registry's storage? and the proof of the end
	want[objects.Put], want[objects.Delete] = 3+1, 1 // the lock, twice tried, and given back
	if diff := cmp.Diff(want, f.Counts()); diff != "" {
		t.Errorf("run (-want +got):\n%s", diff)
	}
	f.Reset()
	readOnly := objects.Registry(t, f.Bucket, root, true)
	got = sh.must(t, "run", "-v", "--cache", "off", "--registry", readOnly.URL(), "--yes")
	// A pull-through cache's file is looked for, and an image by which the registry is recognized: one page, one manifest.
	if note := fmt.Sprintf("ebb: the storage was sent %d requests\n", sum(want)+1+2); !strings.Contains(got.err, note) {
		t.Errorf("it says %q, want %q", got.err, note)
	}
}

// TestRequestsForWhatLiesBeside has images that an old registry signed: the
// signatures go after their links, for one more request, and nothing is left to
// do for the next run.
func TestRequestsForWhatLiesBeside(t *testing.T) {
	f := objects.NewFake(t)
	w := world.New(f.Store(root))
	w.Image("vi/prod/web", world.Tag(uidWeb))
	for i := range 20 {
		img := w.Image("vi/prod/gone", world.Tag(fmt.Sprintf("tag-%d", i)), world.ConfigText(fmt.Sprint(i)))
		link := world.RevisionLink("vi/prod/gone", img.Digest)
		w.File(strings.TrimSuffix(link, "link")+"signatures/sha256/"+strings.Repeat("5", 64)+"/link", "a signature")
	}
	q := trial.Ask(trial.Owners(t, owners), w.Now())
	q.Policy.MaxDeleteShare = policy.Share(100)
	request := app.Request{Owners: func(context.Context) (refs.Set, error) { return q.Owners, nil }, Policy: q.Policy, Now: q.Now}
	driver, store := open(t, f.Bucket), cached(t)
	check(t, driver, store, request)
	f.Reset()
	check(t, driver, store, request)
	second := sum(f.Counts())
	f.Reset()
	result := run(t, driver, store, request)
	within(t, "run", f, float64(second+beyondCheck(result.Plan)+1))
	if d := result.Outcome.Deleted; d.Manifests != 20 || d.Repositories != 1 || len(result.Outcome.Failed) > 0 {
		t.Errorf("deleted %+v, failed %v", d, result.Outcome.Failed)
	}
	if left, kept := len(f.Objects()), 6; left != kept {
		t.Errorf("%d objects are left, want the %d of the image that stays", left, kept)
	}
	if again := check(t, driver, store, request); !again.Nothing() {
		t.Error("there is something left to do")
	}
}
