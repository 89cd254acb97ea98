package registry

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ebb-io/ebb/internal/store/blob/s3"
)

// A bucket's name leads to the same bucket again.
func TestBucketsAreNamedByURL(t *testing.T) {
	yes := true
	for _, test := range []struct {
		text, name, store string
		want              s3.Options
	}{
		{"s3://bucket", "s3://bucket", "bucket", s3.Options{Bucket: "bucket"}},
		{"s3://bucket/", "s3://bucket", "bucket", s3.Options{Bucket: "bucket"}},
		{"s3://bucket/a/b/", "s3://bucket/a/b", "b", s3.Options{Bucket: "bucket", Prefix: "a/b"}},
		{"s3://my.bucket_1/a%20b", "s3://my.bucket_1/a%20b", "a b", s3.Options{Bucket: "my.bucket_1", Prefix: "a b"}},
		{
			"s3://bucket/p?region=eu-west-1&forcepathstyle=true&endpoint=http%3A%2F%2Flocalhost%3A7070",
			"s3://bucket/p?endpoint=http://localhost:7070&forcepathstyle=true&region=eu-west-1", "p",
			s3.Options{Bucket: "bucket", Prefix: "p", Endpoint: "http://localhost:7070", Region: "eu-west-1", PathStyle: &yes},
		},
		{
			"s3://bucket?endpoint=https://s3.example.org/%26path", "s3://bucket?endpoint=https://s3.example.org/%26path", "bucket",
			s3.Options{Bucket: "bucket", Endpoint: "https://s3.example.org/&path"},
		},
	} {
		first, err := parseStorage(test.text, 0, nil)
		if err != nil {
			t.Fatal(err)
		}
		if first.name != test.name || first.Name != test.store {
			t.Errorf("%s is called %s, for people %s", test.text, first.name, first.Name)
		}
		again, err := parseStorage(first.URL, 0, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range []storage{first, again} {
			if diff := cmp.Diff(test.want, s.place.(bucket).options); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.text, diff)
			}
		}
		if !first.is(again.Store) {
			t.Errorf("%s is not itself", test.text)
		}
	}
}

// Where the URL names no endpoint the variables of AWS do, as for its SDK. The
// name then tells it, so that the storage is found again without them.
func TestEndpointsOfTheEnvironment(t *testing.T) {
	const general, special = "AWS_ENDPOINT_URL=http://general:1", "AWS_ENDPOINT_URL_S3=http://special:1"
	for _, test := range []struct {
		reason, text string
		environ      []string
		endpoint     string
	}{
		{"none", "s3://b/p", nil, ""},
		{"one for all services", "s3://b/p", []string{general}, "http://general:1"},
		{"one for S3 comes first", "s3://b/p", []string{general, special}, "http://special:1"},
		{"an empty one is none", "s3://b/p", []string{general, "AWS_ENDPOINT_URL_S3="}, "http://general:1"},
		{"the URL's own comes before", "s3://b/p?endpoint=http://own:1", []string{general, special}, "http://own:1"},
		{"told to ignore them", "s3://b/p", []string{special, "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS=True"}, ""},
		{"not told so", "s3://b/p", []string{special, "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS=false"}, "http://special:1"},
	} {
		s, err := parseStorage(test.text, 0, test.environ)
		if err != nil {
			t.Fatal(err)
		}
		again, err := parseStorage(s.URL, 0, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range []storage{s, again} {
			if got := one.place.(bucket).options.Endpoint; got != test.endpoint {
				t.Errorf("%s: %s has endpoint %q, want %q", test.reason, one.name, got, test.endpoint)
			}
		}
		aws, err := parseStorage("s3://b/p", 0, nil)
		if err != nil {
			t.Fatal(err)
		}
		if s.is(aws.Store) != (test.endpoint == "") || !s.is(again.Store) {
			t.Errorf("%s: it is AWS %v, itself %v", test.reason, s.is(aws.Store), s.is(again.Store))
		}
	}
	if _, err := parseStorage("s3://b", 0, []string{"AWS_ENDPOINT_URL=http://user:hunter2@host"}); err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("an endpoint with credentials: %v", err)
	}
}

// Two names of one bucket are the same storage, and two buckets are not.
func TestBucketsAreToldApart(t *testing.T) {
	const text = "s3://bucket/p?endpoint=http://localhost:7070&region=a"
	for _, test := range []struct {
		other string
		same  bool
	}{
		{"s3://bucket/p/?endpoint=http://localhost:7070&region=b", true}, // a region is how to get there
		{"s3://bucket/p?endpoint=http://localhost:7070/&region=a", true},
		{"s3://bucket/p?endpoint=http://localhost:7071&region=a", false},
		{"s3://bucket/p", false},
		{"s3://bucket/q?endpoint=http://localhost:7070&region=a", false},
		{"s3://other/p?endpoint=http://localhost:7070&region=a", false},
		{"/bucket/p", false},
	} {
		mine, err := parseStorage(text, 0, nil)
		if err != nil {
			t.Fatal(err)
		}
		theirs, err := parseStorage(test.other, 0, nil)
		if err != nil {
			t.Fatal(err)
		}
		if mine.is(theirs.Store) != test.same {
			t.Errorf("%s and %s: same is %v", text, test.other, !test.same)
		}
	}
}
