package main

import (
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/distribution/distribution/v3/registry/storage"
	"github.com/distribution/distribution/v3/registry/storage/driver/factory"
	"github.com/sirupsen/logrus"

	"github.com/ebb-io/ebb/internal/testkit/objects"
	"github.com/ebb-io/ebb/test/bench/fixture"
)

// bucket is a fake that holds a fixture and was asked nothing yet.
func bucket(t *testing.T, shape fixture.Shape) *objects.Fake {
	t.Helper()
	f := objects.NewFake(t)
	if err := fixture.Fill(t.Context(), f.Store(""), shape, time.Now()); err != nil {
		t.Fatal(err)
	}
	return f
}

// stockOnObjects runs what `registry garbage-collect` runs.
func stockOnObjects(t *testing.T, b objects.Bucket, opts storage.GCOpts) {
	t.Helper()
	driver, err := factory.Create(t.Context(), "s3", b.Parameters(""))
	if err != nil {
		t.Fatal(err)
	}
	registry, err := storage.NewRegistry(t.Context(), driver)
	if err != nil {
		t.Fatal(err)
	}
	logger := logrus.StandardLogger() // it logs each deletion there
	stderr := logger.Out
	logger.SetOutput(io.Discard)
	defer logger.SetOutput(stderr)
	opts.Quiet = true
	if err := storage.MarkAndSweep(t.Context(), driver, registry, opts); err != nil {
		t.Fatal(err)
	}
}

// TestStockRequests holds what the stock collector asks of a bucket: what Ebb is compared with. The numbers are those
// that were counted with distribution v3.1.1 and gofakes3's own store, so they also say that this fake is as true.
func TestStockRequests(t *testing.T) {
	untagged := storage.GCOpts{DryRun: true, RemoveUntagged: true}
	cases := []struct {
		repositories, images int
		opts                 storage.GCOpts
		want                 int
	}{
		{10, 20, untagged, onObjects(10, 20).StockRequests()},
		{10, 20, storage.GCOpts{RemoveUntagged: true}, 10_805},
		{10, 40, untagged, onObjects(10, 40).StockRequests()},
		{1, 400, untagged, onObjects(1, 400).StockRequests()},
	}
	for _, c := range cases {
		t.Run(fmt.Sprintf("%dx%d dry %t", c.repositories, c.images, c.opts.DryRun), func(t *testing.T) {
			f := bucket(t, onObjects(c.repositories, c.images))
			before := len(f.Objects())
			stockOnObjects(t, f.Bucket, c.opts)
			if got := len(f.Calls()); got != c.want {
				t.Errorf("%d requests, want %d: %v", got, c.want, f.Counts())
			}
			gone := c.repositories * c.images / 4 * unlinked
			if c.opts.DryRun {
				gone = 0
			}
			if got := before - len(f.Objects()); got != gone {
				t.Errorf("%d objects are gone, want %d", got, gone)
			}
		})
	}
}

// TestEbbRequests holds how many requests fewer Ebb needs than the stock collector, whose numbers TestStockRequests holds.
func TestEbbRequests(t *testing.T) {
	check, again, run := errands()
	cases := []struct {
		errand
		repositories, images int
		stock, times         int // times fewer, at least
	}{
		{check, 10, 40, 22_158, 30},
		{again, 10, 40, 22_158, 60},
		{run, 10, 20, 10_805, 25},
		{check, 1, 400, 130_115, 180},
		{again, 1, 400, 130_115, 400},
	}
	dir := t.TempDir()
	all, err := contenders(t.Context(), "ebb", dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		t.Run(fmt.Sprintf("%s %dx%d", c.title, c.repositories, c.images), func(t *testing.T) {
			asked := tally{visit: visit{shape: onObjects(c.repositories, c.images), errand: c.errand}}
			b := bench{now: time.Now()}
			if err := b.visit(t.Context(), &asked, c.of(all[0].bucket)); err != nil {
				t.Fatal(err)
			}
			if got := asked.asked.total(); got*c.times > c.stock || got == 0 {
				t.Errorf("%d requests, want at most %d: %v", got, c.stock/c.times, asked.asked.Counts)
			}
		})
	}
}
