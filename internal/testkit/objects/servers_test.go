package objects_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	gocmp "github.com/google/go-cmp/cmp"

	"github.com/ebb-io/ebb/internal/testkit/objects"
)

// The fake is held to what a real server does: each test of this file runs on
// both.
func onBoth(t *testing.T, test func(t *testing.T, b objects.Bucket)) {
	t.Helper()
	t.Run("fake", func(t *testing.T) { test(t, objects.NewFake(t).Bucket) })
	t.Run("versity", func(t *testing.T) { test(t, objects.Versity(t).Bucket) })
}

func put(t *testing.T, b objects.Bucket, keys ...string) {
	t.Helper()
	for _, key := range keys {
		if _, err := b.Client().PutObject(t.Context(), &s3.PutObjectInput{
			Bucket: &b.Name, Key: aws.String(key), Body: strings.NewReader("content of " + key),
		}); err != nil {
			t.Fatal(err)
		}
	}
}

func status(err error) int {
	if answer, ok := errors.AsType[*awshttp.ResponseError](err); ok {
		return cmp.Or(answer.HTTPStatusCode(), -1)
	}
	if err != nil {
		return -1
	}
	return http.StatusOK
}

func TestReadAndDelete(t *testing.T) {
	onBoth(t, func(t *testing.T, b objects.Bucket) {
		ctx, client := t.Context(), b.Client()
		put(t, b, "a/one", "a/two", "b")
		got, err := client.GetObject(ctx, &s3.GetObjectInput{Bucket: &b.Name, Key: aws.String("a/one")})
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(got.Body)
		if err != nil || string(content) != "content of a/one" {
			t.Errorf("content %q, %v", content, err)
		}
		head, err := client.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &b.Name, Key: aws.String("b")})
		if err != nil || *head.ContentLength != int64(len("content of b")) || head.LastModified == nil || *head.ETag == "" {
			t.Errorf("head %+v, %v", head, err)
		}
		if _, err := client.GetObject(ctx, &s3.GetObjectInput{Bucket: &b.Name, Key: aws.String("a")}); status(err) != 404 {
			t.Errorf("get of a folder: %v, want 404", err)
		}
		if _, err := client.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &b.Name, Key: aws.String("c")}); status(err) != 404 {
			t.Errorf("head of nothing: %v, want 404", err)
		}
		gone, err := client.DeleteObjects(ctx, &s3.DeleteObjectsInput{Bucket: &b.Name, Delete: &types.Delete{
			Objects: []types.ObjectIdentifier{{Key: aws.String("a/one")}, {Key: aws.String("never")}}, Quiet: aws.Bool(true),
		}})
		if err != nil || len(gone.Errors) > 0 {
			t.Errorf("delete: %+v, %v", gone, err)
		}
		if got := pages(t, b, nil); !slices.Equal(got, []string{"a/two", "b"}) {
			t.Errorf("left are %q", got)
		}
	})
}

func TestPutOnCondition(t *testing.T) {
	onBoth(t, func(t *testing.T, b objects.Bucket) {
		try := func(none, match string) (*s3.PutObjectOutput, int) {
			input := &s3.PutObjectInput{Bucket: &b.Name, Key: aws.String("lock"), Body: strings.NewReader(none + match)}
			if none != "" {
				input.IfNoneMatch = &none
			}
			if match != "" {
				input.IfMatch = &match
			}
			output, err := b.Client().PutObject(t.Context(), input)
			return output, status(err)
		}
		// AWS answers 404 where If-Match finds nothing; both servers here say 412 or 404.
		if _, code := try("", `"0123"`); code != 412 && code != 404 {
			t.Errorf("If-Match of nothing: %d, want 412 or 404", code)
		}
		first, code := try("*", "")
		if code != 200 {
			t.Fatalf("first: %d", code)
		}
		if _, code = try("*", ""); code != 412 {
			t.Errorf("second: %d, want 412", code)
		}
		if _, code = try("", *first.ETag); code != 200 {
			t.Errorf("If-Match of what is there: %d, want 200", code)
		}
		if _, code = try("", *first.ETag); code != 412 {
			t.Errorf("If-Match of what was there: %d, want 412", code)
		}
	})
}

// pages are the keys and folders of all pages of a listing, one after the other.
func pages(t *testing.T, b objects.Bucket, change func(*s3.ListObjectsV2Input)) []string {
	t.Helper()
	input := &s3.ListObjectsV2Input{Bucket: &b.Name}
	if change != nil {
		change(input)
	}
	var names []string
	for range 100 {
		page, err := b.Client().ListObjectsV2(t.Context(), input)
		if err != nil {
			t.Fatal(err)
		}
		var here []string
		for _, o := range page.Contents {
			here = append(here, *o.Key)
		}
		for _, p := range page.CommonPrefixes {
			here = append(here, *p.Prefix)
		}
		slices.Sort(here)
		names = append(names, here...)
		if int(*page.KeyCount) != len(here) {
			t.Errorf("KeyCount %d of %d", *page.KeyCount, len(here))
		}
		if !*page.IsTruncated {
			return names
		}
		input.ContinuationToken, names = page.NextContinuationToken, append(names, "|")
	}
	t.Fatal("a listing without an end")
	return nil
}

func TestList(t *testing.T) {
	cases := []struct {
		reason string
		change func(*s3.ListObjectsV2Input)
		want   string
	}{
		{"all", func(*s3.ListObjectsV2Input) {}, "a-b a/1 a/2 a/b/3 a0 b/4 c"},
		{"a prefix is no folder", func(i *s3.ListObjectsV2Input) { i.Prefix = aws.String("a") }, "a-b a/1 a/2 a/b/3 a0"},
		{"a prefix with a slash", func(i *s3.ListObjectsV2Input) { i.Prefix = aws.String("a/") }, "a/1 a/2 a/b/3"},
		{"pages end between keys", func(i *s3.ListObjectsV2Input) { i.MaxKeys = aws.Int32(3) }, "a-b a/1 a/2 | a/b/3 a0 b/4 | c"},
		{"the last page may be full", func(i *s3.ListObjectsV2Input) {
			i.MaxKeys, i.Prefix = aws.Int32(3), aws.String("a/")
		}, "a/1 a/2 a/b/3"},
		{"start after a key", func(i *s3.ListObjectsV2Input) { i.StartAfter = aws.String("a/2") }, "a/b/3 a0 b/4 c"},
		{"start after no key", func(i *s3.ListObjectsV2Input) { i.StartAfter = aws.String("a/15") }, "a/2 a/b/3 a0 b/4 c"},
		{"start after counts once", func(i *s3.ListObjectsV2Input) {
			i.StartAfter, i.MaxKeys = aws.String("a/2"), aws.Int32(2)
		}, "a/b/3 a0 | b/4 c"},
		{"folders", func(i *s3.ListObjectsV2Input) { i.Delimiter = aws.String("/") }, "a-b a/ a0 b/ c"},
		{"folders below", func(i *s3.ListObjectsV2Input) {
			i.Delimiter, i.Prefix = aws.String("/"), aws.String("a/")
		}, "a/1 a/2 a/b/"},
		{"a folder counts as one", func(i *s3.ListObjectsV2Input) {
			i.Delimiter, i.MaxKeys = aws.String("/"), aws.Int32(2)
		}, "a-b a/ | a0 b/ | c"},
		{"nothing there", func(i *s3.ListObjectsV2Input) { i.Prefix = aws.String("x/") }, ""},
	}
	onBoth(t, func(t *testing.T, b objects.Bucket) {
		put(t, b, "a-b", "a/1", "a/2", "a/b/3", "a0", "b/4", "c")
		for _, c := range cases {
			t.Run(c.reason, func(t *testing.T) {
				if got := strings.Join(pages(t, b, c.change), " "); got != c.want {
					t.Errorf("got  %s\nwant %s", got, c.want)
				}
			})
		}
	})
}

// Versity takes encoding-type=url and does not heed it, which its answer shows:
// a reader must look there before it decodes.
func TestListEncoded(t *testing.T) {
	odd := []string{"a b", "a%2Fb", "a+b", "x&y<z>", "ä/ö"}
	encoded := map[bool]int{}
	onBoth(t, func(t *testing.T, b objects.Bucket) {
		put(t, b, odd...)
		page, err := b.Client().ListObjectsV2(t.Context(), &s3.ListObjectsV2Input{Bucket: &b.Name, EncodingType: types.EncodingTypeUrl})
		if err != nil {
			t.Fatal(err)
		}
		encoded[page.EncodingType == types.EncodingTypeUrl]++
		var got []string
		for _, o := range page.Contents {
			name := *o.Key
			if page.EncodingType == types.EncodingTypeUrl {
				if name, err = url.QueryUnescape(name); err != nil {
					t.Fatal(err)
				}
			}
			got = append(got, name)
		}
		if diff := gocmp.Diff(odd, got); diff != "" {
			t.Errorf("keys (-want +got):\n%s", diff)
		}
	})
	if encoded[true] == 0 {
		t.Error("the fake does not encode")
	}
}

func TestUploadsInParts(t *testing.T) {
	onBoth(t, func(t *testing.T, b objects.Bucket) {
		ctx, client := t.Context(), b.Client()
		if none := uploads(ctx, t, b, ""); len(none) > 0 {
			t.Errorf("a new bucket has the uploads %+v", none)
		}
		for _, key := range []string{"docker/up/2", "docker/up/1", "other"} {
			made, err := client.CreateMultipartUpload(ctx, &s3.CreateMultipartUploadInput{Bucket: &b.Name, Key: aws.String(key)})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := client.UploadPart(ctx, &s3.UploadPartInput{
				Bucket: &b.Name, Key: aws.String(key), UploadId: made.UploadId, PartNumber: aws.Int32(1),
				Body: bytes.NewReader(make([]byte, 5<<20)),
			}); err != nil {
				t.Fatal(err)
			}
		}
		began := uploads(ctx, t, b, "docker/")
		if len(began) != 2 || *began[0].Key != "docker/up/1" || *began[1].Key != "docker/up/2" || began[0].Initiated == nil {
			t.Fatalf("uploads %+v", began)
		}
		parts, err := client.ListParts(ctx, &s3.ListPartsInput{Bucket: &b.Name, Key: began[0].Key, UploadId: began[0].UploadId})
		if err != nil || len(parts.Parts) != 1 || *parts.Parts[0].Size != 5<<20 {
			t.Errorf("parts %+v, %v", parts, err)
		}
		if got := pages(t, b, nil); len(got) > 0 {
			t.Errorf("what is unfinished is listed: %q", got)
		}
		if _, err := client.AbortMultipartUpload(ctx, &s3.AbortMultipartUploadInput{
			Bucket: &b.Name, Key: began[0].Key, UploadId: began[0].UploadId,
		}); err != nil {
			t.Error(err)
		}
		if _, err := client.AbortMultipartUpload(ctx, &s3.AbortMultipartUploadInput{
			Bucket: &b.Name, Key: began[0].Key, UploadId: began[0].UploadId,
		}); status(err) != 404 {
			t.Errorf("abort again: %v, want 404", err)
		}
		if left := uploads(ctx, t, b, "docker/"); len(left) != 1 {
			t.Errorf("uploads left %+v", left)
		}
	})
}

func uploads(ctx context.Context, t *testing.T, b objects.Bucket, prefix string) []types.MultipartUpload {
	t.Helper()
	all, err := b.Client().ListMultipartUploads(ctx, &s3.ListMultipartUploadsInput{Bucket: &b.Name, Prefix: &prefix})
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(all.Uploads, func(a, b types.MultipartUpload) int { return cmp.Compare(*a.Key, *b.Key) })
	return all.Uploads
}

// S3 takes 1,000 keys at most; Versity takes more.
func TestTooManyKeysAtOnce(t *testing.T) {
	b := objects.NewFake(t).Bucket
	put(t, b, "k")
	del := &types.Delete{Objects: []types.ObjectIdentifier{{Key: aws.String("k")}}}
	for n := range 1000 {
		del.Objects = append(del.Objects, types.ObjectIdentifier{Key: aws.String(fmt.Sprint(n))})
	}
	_, err := b.Client().DeleteObjects(t.Context(), &s3.DeleteObjectsInput{Bucket: &b.Name, Delete: del})
	if status(err) != 400 {
		t.Errorf("1001 keys: %v, want 400", err)
	}
	if got := pages(t, b, nil); !slices.Equal(got, []string{"k"}) {
		t.Errorf("left are %q", got)
	}
}

func TestVersioning(t *testing.T) {
	state := func(t *testing.T, b objects.Bucket) types.BucketVersioningStatus {
		t.Helper()
		got, err := b.Client().GetBucketVersioning(t.Context(), &s3.GetBucketVersioningInput{Bucket: &b.Name})
		if err != nil {
			t.Fatal(err)
		}
		return got.Status
	}
	fake := objects.NewFake(t)
	if got := state(t, fake.Bucket); got != "" {
		t.Errorf("fake: %q, want nothing", got)
	}
	fake.SetVersioning("Enabled")
	if got := state(t, fake.Bucket); got != "Enabled" {
		t.Errorf("fake: %q, want Enabled", got)
	}
	real := objects.VersityVersioned(t)
	if got := state(t, real.Bucket); got != "Enabled" {
		t.Errorf("versity: %q, want Enabled", got)
	}
	put(t, real.Bucket, "k")
	if _, err := real.Client().DeleteObject(t.Context(), &s3.DeleteObjectInput{Bucket: &real.Name, Key: aws.String("k")}); err != nil {
		t.Fatal(err)
	}
	versions, err := real.Client().ListObjectVersions(t.Context(), &s3.ListObjectVersionsInput{Bucket: &real.Name})
	if err != nil || len(versions.Versions) != 1 || len(versions.DeleteMarkers) != 1 {
		t.Errorf("versions %+v, %v: want one and a marker", versions, err)
	}
}
