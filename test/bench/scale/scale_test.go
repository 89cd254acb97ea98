package scale_test

import (
	"fmt"
	"io"
	"net/http/httptest"
	"runtime"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/google/go-cmp/cmp"

	"github.com/ebb-io/ebb/internal/testkit/objects"
	"github.com/ebb-io/ebb/test/bench/fixture"
	"github.com/ebb-io/ebb/test/bench/scale"
)

var now = time.Date(2026, time.March, 1, 0, 0, 0, 0, time.UTC)

// listed is what a bucket shows, page by page.
func listed(t *testing.T, b objects.Bucket, delimiter, prefix string) (all []string) {
	t.Helper()
	pages := s3.NewListObjectsV2Paginator(b.Client(), &s3.ListObjectsV2Input{
		Bucket: &b.Name, Delimiter: &delimiter, Prefix: &prefix, MaxKeys: aws.Int32(97),
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range page.Contents {
			all = append(all, fmt.Sprintf("%s %d %s", *o.Key, *o.Size, o.LastModified))
		}
		for _, p := range page.CommonPrefixes {
			all = append(all, *p.Prefix)
		}
	}
	return all
}

func serve(t *testing.T, r *scale.Registry) objects.Bucket {
	t.Helper()
	server := httptest.NewServer(r)
	t.Cleanup(server.Close)
	return objects.Bucket{Endpoint: server.URL, Name: scale.Bucket, Region: "eu-test-1", AccessKey: "a", SecretKey: "s"}
}

// The names of 60 repositories and of 12 tags are not in the order of their numbers.
func TestItIsTheFixture(t *testing.T) {
	shape := fixture.Shape{Repositories: 60, Images: 12, Layers: 2}
	fake := objects.NewFake(t)
	if err := fixture.Fill(t.Context(), fake.Store(""), shape, now); err != nil {
		t.Fatal(err)
	}
	r, err := scale.New(shape, now)
	if err != nil {
		t.Fatal(err)
	}
	b := serve(t, r)
	for _, c := range []struct{ delimiter, prefix string }{
		{"", ""},
		{"", "docker/registry/v2/repositories/team-01"},
		{"/", "docker/registry/v2/blobs/sha256/"},
		{"/", "docker/registry/v2/repositories/team-00/"},
		{"/", "docker/registry/v2/repositories/team-00/app-0003/_manifests/tags/"},
		{"", "absent"},
	} {
		want := listed(t, fake.Bucket, c.delimiter, c.prefix)
		if diff := cmp.Diff(want, listed(t, b, c.delimiter, c.prefix)); diff != "" {
			t.Errorf("below %q by %q (-fixture +scale):\n%.2000s", c.prefix, c.delimiter, diff)
		}
	}
	for _, o := range fake.Objects() {
		want, _ := fake.Content(o.Key)
		if got, ok := r.Content(o.Key); !ok || string(got) != string(want) {
			t.Fatalf("%s is %q, want %q", o.Key, got, want)
		}
	}
	got, err := b.Client().GetObject(t.Context(), &s3.GetObjectInput{Bucket: &b.Name, Key: &fake.Objects()[7].Key})
	if err != nil {
		t.Fatal(err)
	}
	want, _ := fake.Content(fake.Objects()[7].Key)
	if data, err := io.ReadAll(got.Body); err != nil || string(data) != string(want) {
		t.Errorf("served %q, %v", data, err)
	}
	if _, err := b.Client().HeadObject(t.Context(), &s3.HeadObjectInput{Bucket: &b.Name, Key: aws.String("docker")}); err == nil {
		t.Error("a folder is shown as an object")
	}
}

func BenchmarkNew(b *testing.B) {
	for b.Loop() {
		r, err := scale.New(fixture.Shape{Repositories: 100, Images: 100, Layers: 8}, now)
		if err != nil {
			b.Fatal(err)
		}
		runtime.KeepAlive(r)
	}
}
