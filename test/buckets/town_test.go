package buckets

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	app "github.com/ebb-io/ebb/internal/app/registry"
	"github.com/ebb-io/ebb/internal/policy"
	"github.com/ebb-io/ebb/internal/refs"
	"github.com/ebb-io/ebb/internal/testkit/objects"
	"github.com/ebb-io/ebb/internal/testkit/trial"
	"github.com/ebb-io/ebb/internal/testkit/world"
)

const day = 24 * time.Hour

// town is a small world in a bucket, with what must stay and what must go.
type town struct {
	*world.World
	fake  *objects.Fake
	keep  []trial.Ref
	lose  []trial.Ref
	gone  []string // paths that must be gone as well
	asked app.Request
	first *trial.Known // before anything was done
}

// root is the folder of the bucket that a town lies in.
const root = "reg"

// newTown has something for each phase of a run.
func newTown(t *testing.T) *town {
	t.Helper()
	f := objects.NewFake(t)
	w := &town{World: world.New(f.Store(root)), fake: f}
	base := w.Layer("base of the town")
	own := func(name string) world.Option { return world.Layers(base, w.Layer(name)) }
	amd, arm := w.Image("apps/web", own("amd")), w.Image("apps/web", own("arm"))
	multi := w.Index("apps/web", []world.Image{amd, arm}, world.Tag("v1"))
	w.keeps(amd)
	w.keeps(arm)
	w.keeps(multi, "v1")
	w.keeps(w.Referrer("apps/web", multi.Digest))
	w.keeps(w.Image("apps/long", world.Layers(base, w.Layer("long", world.SHA512Alias)), world.Tag("v1")), "v1")
	w.keeps(w.Image("vi/prod/web", own("web"), world.Tag(uidWeb)), uidWeb)
	w.loses(w.Image("vi/prod/old", own("old"), world.Tag(uidOld)), uidOld)
	child := w.loses(w.Image("vi/prod/old", own("old child")))
	w.loses(w.Index("vi/prod/old", []world.Image{child}, world.Tag("latest")), "latest")
	w.loses(w.Image("apps/web", own("untagged")))
	w.gone = append(w.gone, world.BlobPath(w.OrphanBlob("orphan").Digest), world.UploadPath("apps/web", "0aa8ed90")+"/data")
	w.Upload("apps/web", "0aa8ed90", w.Now().Add(-30*day), "half a layer")
	set := trial.Owners(t, owners)
	w.asked = app.Request{Owners: func(context.Context) (refs.Set, error) { return set, nil }, Policy: unlimited(), Now: w.Now()}
	w.first = trial.Remember(w.view())
	return w
}

func unlimited() policy.Policy {
	p := policy.Default()
	p.MaxDeleteShare, p.DeleteUntagged = policy.Share(100), true
	return p
}

func (w *town) keeps(image world.Image, tags ...string) {
	w.keep = append(w.keep, refsOf(image, tags)...)
}

func (w *town) loses(image world.Image, tags ...string) world.Image {
	w.lose = append(w.lose, refsOf(image, tags)...)
	return image
}

func refsOf(image world.Image, tags []string) []trial.Ref {
	found := []trial.Ref{{Repository: image.Repository, Name: image.Digest}}
	for _, tag := range tags {
		found = append(found, trial.Ref{Repository: image.Repository, Name: tag})
	}
	return found
}

// view is what the bucket holds, without a request.
func (w *town) view() trial.View {
	v := trial.View{}
	for _, o := range w.fake.Objects() {
		path, ok := strings.CutPrefix(o.Key, root+"/")
		if !ok {
			panic("an object outside of the town: " + o.Key)
		}
		v[path], _ = w.fake.Content(o.Key)
	}
	return v
}

// lost is what must never be: a part of a kept image that is not there any
// more, or is another.
func (w *town) lost() []string {
	after := w.view()
	var lost []string
	for _, ref := range w.keep {
		if !w.first.Whole(ref) {
			lost = append(lost, ref.String()+" was never whole")
		}
		if after.Target(ref) != w.first.Target(ref) {
			lost = append(lost, ref.String()+" names another image")
		}
		for _, part := range trial.Lost(w.first, after, ref) {
			lost = append(lost, ref.String()+" lacks "+part)
		}
	}
	return lost
}

// left is what a whole run would have removed, and its lock.
func (w *town) left() []string {
	after := w.view()
	var left []string
	for _, ref := range after.Refs() {
		if slices.Contains(w.lose, ref) {
			left = append(left, ref.String())
		}
	}
	for _, path := range append(w.gone, world.Root+"/.ebb-lock") {
		if _, there := after[path]; there {
			left = append(left, path)
		}
	}
	return left
}

func (w *town) run(t *testing.T) (*app.Result, error) {
	t.Helper()
	d := open(t, w.fake.Bucket)
	d.Hurry()
	if err := d.Probe(t.Context()); err != nil {
		return nil, err
	}
	return app.Run(t.Context(), d, nil, app.RunRequest{Request: w.asked, Clock: time.Now})
}

// verdict is what a run came to: empty where it did all and found nothing wrong.
func verdict(result *app.Result, err error) string {
	switch {
	case err != nil:
		return err.Error()
	case len(result.Outcome.Failed) > 0:
		return fmt.Sprint("failed: ", result.Outcome.Failed)
	case len(result.Plan.Inventory().Problems) > 0:
		return fmt.Sprint("problems: ", result.Plan.Inventory().Problems)
	case result.Unreleased != nil:
		return fmt.Sprint("unreleased: ", result.Unreleased)
	}
	return ""
}

// finishes proves that a run without faults does what was left to do, when a
// lock that was left behind has been silent for long enough.
func (w *town) finishes(t *testing.T, when string) {
	t.Helper()
	w.fake.Heal()
	w.fake.SetClock(func() time.Time { return time.Now().Add(11 * time.Minute) })
	if said := verdict(w.run(t)); said != "" {
		t.Errorf("%s, then a run without faults: %s", when, said)
	}
	if lost, left := w.lost(), w.left(); len(lost)+len(left) > 0 {
		t.Errorf("%s, then a run without faults: lost %q, left %q", when, lost, left)
	}
}
