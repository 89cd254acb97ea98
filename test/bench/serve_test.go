package main

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/distribution/distribution/v3/registry/storage"
	"github.com/google/go-cmp/cmp"
)

func TestServedBucketsAreOneAndTheSame(t *testing.T) {
	shape, now := onObjects(3, 12), time.Now()
	for _, made := range []bool{false, true} {
		b, err := serveBucket(t.Context(), order{Made: made, Shape: shape, Now: now})
		if err != nil {
			t.Fatal(err)
		}
		page, err := b.Client().ListObjectsV2(t.Context(), &s3.ListObjectsV2Input{Bucket: &b.Name})
		if err != nil || len(page.Contents) != shape.Summary().Files {
			t.Errorf("made %t: %d objects, %v; want %d", made, len(page.Contents), err, shape.Summary().Files)
		}
		if err := b.stop(); err != nil {
			t.Error(err)
		}
	}
}

func TestServedBucketCounts(t *testing.T) {
	shape := onObjects(2, 8)
	opts := storage.GCOpts{DryRun: true, RemoveUntagged: true}
	here := bucket(t, shape)
	stockOnObjects(t, here.Bucket, opts)
	for _, made := range []bool{false, true} {
		there, err := serveBucket(t.Context(), order{Made: made, Shape: shape, Now: time.Now()})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 { // what was told once is not told again
			stockOnObjects(t, there.Bucket, opts)
			said, err := there.asked()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(here.Counts(), said.Counts); diff != "" || said.InFlight == 0 {
				t.Errorf("made %t, %d in flight (-counted here +told):\n%s", made, said.InFlight, diff)
			}
		}
		if err := there.stop(); err != nil {
			t.Error(err)
		}
	}
}
