package main

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/distribution/distribution/v3/registry/storage"

	"github.com/ebb-io/ebb/internal/testkit/objects"
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
		if _, err := b.stop(); err != nil {
			t.Error(err)
		}
	}
}

func TestServedBucketCounts(t *testing.T) {
	shape := onObjects(2, 8)
	opts := storage.GCOpts{DryRun: true, RemoveUntagged: true}
	here := bucket(t, shape)
	stockOnObjects(t, here.Bucket, opts)
	there, err := serveBucket(t.Context(), order{Shape: shape, Now: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	stockOnObjects(t, there.Bucket, opts)
	said, err := there.stop()
	if err != nil {
		t.Fatal(err)
	}
	if said.requests() != len(here.Calls()) || said.Counts[objects.Get] == 0 || said.InFlight == 0 {
		t.Errorf("%+v, want %d requests", said, len(here.Calls()))
	}
}
