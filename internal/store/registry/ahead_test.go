package registry_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ebb-io/ebb/internal/image"
	"github.com/ebb-io/ebb/internal/inventory"
	"github.com/ebb-io/ebb/internal/store/blob"
	"github.com/ebb-io/ebb/internal/store/blob/fault"
	"github.com/ebb-io/ebb/internal/store/blob/mem"
	"github.com/ebb-io/ebb/internal/store/registry"
	"github.com/ebb-io/ebb/internal/testkit/world"
)

// bucket is a driver as one of an object store is.
func bucket(store *mem.Store, faults ...fault.Fault) *fault.Remote {
	return fault.NewRemote(store, 4, faults...)
}

// tagged are tags of one repository, and the items of their links.
func tagged(t *testing.T, store *mem.Store, count int) []inventory.Item {
	t.Helper()
	w := world.New(world.Mem(store))
	img := w.Image("team/r0", world.Layers(w.Layer("a")))
	d, err := image.ParseDigest(img.Digest)
	if err != nil {
		t.Fatal(err)
	}
	var items []inventory.Item
	for i := range count {
		tag := fmt.Sprintf("v%03d", i)
		w.Push("team/r0", img, world.Tag(tag))
		entry, err := store.Stat(t.Context(), world.TagLink("team/r0", tag))
		if err != nil {
			t.Fatal(err)
		}
		items = append(items, inventory.Item{
			Kind: inventory.TagLink, Repository: "team/r0", Tag: tag, Digest: d, ModTime: inventory.TimeOf(entry.ModTime),
		})
	}
	return items
}

// One walk looks at all tags of a batch before they go, and no link is read.
func TestOneWalkLooksAtABatch(t *testing.T) {
	store := mem.New()
	items := tagged(t, store, 50)
	counted := bucket(store)
	for i, err := range registry.NewWritable(counted, counted, nil).Delete(t.Context(), items) {
		if err != nil {
			t.Errorf("%s: %v", items[i].Tag, err)
		}
	}
	if c := counted.Counts(); c.Walks != 1 || c.Reads != 0 {
		t.Errorf("%d walks and %d reads, want one walk", c.Walks, c.Reads)
	}
	for _, path := range store.Paths() {
		if strings.HasSuffix(path, "/current/link") {
			t.Errorf("%s is left", path)
		}
	}
}

// A tag that was written since the plan was made is read, and stays where it
// names another image by now.
func TestMovedTagStaysInABucket(t *testing.T) {
	other := "sha256:" + strings.Repeat("ab", 32)
	for _, test := range []struct {
		reason  string
		content func(inventory.Item) string
		moved   bool
	}{
		{"it names another image", func(inventory.Item) string { return other }, true},
		{"the same image was pushed again", func(i inventory.Item) string { return i.Digest.String() }, false},
		{"it was emptied", func(inventory.Item) string { return "" }, true},
	} {
		store := mem.New()
		items := tagged(t, store, 3)
		link := world.TagLink("team/r0", items[1].Tag)
		store.Put(link, []byte(test.content(items[1])), time.Now())
		driver := bucket(store)
		errs := registry.NewWritable(driver, driver, nil).Delete(t.Context(), items)
		if errs[0] != nil || errs[2] != nil || errors.Is(errs[1], registry.ErrMoved) != test.moved {
			t.Errorf("%s: %v", test.reason, errs)
		}
	}
}

// A walk that fails is told of every tag that it could be about.
func TestTagsStayWhereTheLookFails(t *testing.T) {
	store := mem.New()
	items := tagged(t, store, 2)
	for i := range items {
		items[i].Kind = inventory.TagHistory
	}
	driver := bucket(store, fault.FailReadWhere(func(op fault.Op) bool { return op.Kind == fault.Listing }))
	before := len(store.Paths())
	for i, err := range registry.NewWritable(driver, driver, nil).Delete(t.Context(), items) {
		if !errors.Is(err, fault.ErrInjected) {
			t.Errorf("%s: %v", items[i].Tag, err)
		}
	}
	if after := len(store.Paths()); after != before {
		t.Errorf("%d files are left of %d", after, before)
	}
}

// parts is a bucket with uploads in parts.
type parts struct {
	*fault.Remote
	unfinished []blob.Unfinished
	aborted    []string
	fails      bool
}

func (p *parts) Unfinished(context.Context, string) ([]blob.Unfinished, error) {
	if p.fails {
		return nil, errors.New("not allowed")
	}
	return p.unfinished, nil
}

func (p *parts) Abort(_ context.Context, uploads []blob.Unfinished) []error {
	for _, u := range uploads {
		p.aborted = append(p.aborted, u.Path+" "+u.ID)
	}
	return nil
}

// Uploads in parts are found with the repository they are in, and given up by
// path and ID. Where they can not be listed, that is said and nothing else is
// in doubt.
func TestUploadsInParts(t *testing.T) {
	store := mem.New()
	plain(world.New(world.Mem(store)))
	begun := time.Date(2024, 1, 2, 3, 4, 5, 0, time.UTC)
	p := &parts{Remote: bucket(store), unfinished: []blob.Unfinished{
		{Path: world.UploadPath("team/r0", "u") + "/data", ID: "2", Size: 7, Touched: begun},
		{Path: world.BlobPath("sha256:" + strings.Repeat("cd", 32)), ID: "1", Size: 5, Touched: begun},
	}}
	inv, err := registry.New(p, nil).Snapshot(t.Context())
	if err != nil || len(inv.Unfinished) != 2 || inv.Unfinished[0].Repository != "" || inv.Unfinished[1].Repository != "team/r0" {
		t.Fatalf("%+v, %v", inv.Unfinished, err)
	}
	u := inv.Unfinished[1]
	item := inventory.Item{Kind: inventory.UnfinishedUpload, Repository: u.Repository, Path: u.Path, Upload: u.ID, Size: u.Size, ModTime: u.Touched}
	if errs := registry.NewWritable(p, p, nil).Delete(t.Context(), []inventory.Item{item}); errs[0] != nil || len(p.aborted) != 1 || p.aborted[0] != u.Path+" 2" {
		t.Errorf("aborted %q, %v", p.aborted, errs)
	}
	p.fails = true
	if inv, err = registry.New(p, nil).Snapshot(t.Context()); err != nil || inv.Unlisted || inventory.Damaged(inv.Problems) || len(inv.Problems) != 1 {
		t.Errorf("where they can not be listed: %+v, %v", inv.Problems, err)
	}
}

// An upload in parts that somebody went on with, or that another took the place
// of, stays, and so do those that can not be looked at. One that is gone is gone.
func TestUploadInPartsThatMovedStays(t *testing.T) {
	begun := time.Date(2024, 1, 2, 3, 4, 5, 0, time.UTC)
	path := world.UploadPath("team/r0", "u") + "/data"
	for _, c := range []struct {
		reason     string
		unfinished []blob.Unfinished
		fails      bool
		aborted    int
		moved      bool
	}{
		{"it is as it was", []blob.Unfinished{{Path: path, ID: "1", Size: 7, Touched: begun}}, false, 1, false},
		{"it has grown", []blob.Unfinished{{Path: path, ID: "1", Size: 8, Touched: begun}}, false, 0, true},
		{"it was begun again", []blob.Unfinished{{Path: path, ID: "1", Size: 7, Touched: begun.Add(time.Hour)}}, false, 0, true},
		{"another is there", []blob.Unfinished{{Path: path, ID: "2", Size: 9, Touched: begun}}, false, 1, false},
		{"it is gone", nil, false, 1, false},
		{"it can not be listed", nil, true, 0, false},
	} {
		p := &parts{Remote: bucket(mem.New()), unfinished: c.unfinished, fails: c.fails}
		item := inventory.Item{
			Kind: inventory.UnfinishedUpload, Repository: "team/r0", Path: path, Upload: "1", Size: 7, ModTime: inventory.TimeOf(begun),
		}
		errs := registry.NewWritable(p, p, nil).Delete(t.Context(), []inventory.Item{item})
		if len(p.aborted) != c.aborted || errors.Is(errs[0], registry.ErrMoved) != c.moved || (errs[0] == nil) != (c.aborted == 1) {
			t.Errorf("%s: aborted %v, %v", c.reason, p.aborted, errs)
		}
	}
}

// listing shows uploads in parts and can not give them up.
type listing struct {
	*mem.Store
}

func (listing) Unfinished(context.Context, string) ([]blob.Unfinished, error) { return nil, nil }

// Where uploads in parts can not be given up, each of them has failed.
func TestUploadsInPartsWithoutAborter(t *testing.T) {
	store := mem.New()
	items := []inventory.Item{{Kind: inventory.UnfinishedUpload, Path: "a/b"}, {Kind: inventory.UnfinishedUpload, Path: "a/c"}}
	for name, reader := range map[string]blob.Reader{"they are listed": listing{store}, "they are not": store} {
		for i, err := range registry.NewWritable(reader, store, nil).Delete(t.Context(), items) {
			if err == nil || !strings.Contains(err.Error(), items[i].Path) {
				t.Errorf("%s: %s: %v", name, items[i].Path, err)
			}
		}
	}
}

// vague fails every listing, and can not say where. It waits until all have come
// so far.
type vague struct {
	*fault.Remote
	all *sync.WaitGroup
}

func (v vague) Walk(ctx context.Context, dir string, visitor blob.Visitor) error {
	err := v.Remote.Walk(ctx, dir, visitor)
	v.all.Done()
	v.all.Wait()
	visitor.Fail(world.Root, fault.ErrInjected)
	return err
}

// Many repositories are looked at at once, and a failure may concern all of them:
// with the race detector this says that what is seen has one lock.
func TestLooksAheadAtOnce(t *testing.T) {
	store := mem.New()
	w := world.New(world.Mem(store))
	var items []inventory.Item
	for n := range 4 { // as many as are in flight
		repository := fmt.Sprintf("team/r%d", n)
		w.Upload(repository, "upload", w.Now(), "data")
		items = append(items, inventory.Item{Kind: inventory.UploadFolder, Repository: repository, Upload: "upload", Size: 1})
	}
	driver := vague{bucket(store), &sync.WaitGroup{}}
	driver.all.Add(len(items))
	for i, err := range registry.NewWritable(driver, driver, nil).Delete(t.Context(), items) {
		if !errors.Is(err, fault.ErrInjected) {
			t.Errorf("%s: %v", items[i].Repository, err)
		}
	}
}
