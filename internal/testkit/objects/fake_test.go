package objects_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	gocmp "github.com/google/go-cmp/cmp"

	"github.com/ebb-io/ebb/internal/testkit/objects"
	"github.com/ebb-io/ebb/internal/testkit/world"
)

func get(t *testing.T, b objects.Bucket, key string) (string, error) {
	t.Helper()
	got, err := b.Client().GetObject(t.Context(), &s3.GetObjectInput{Bucket: &b.Name, Key: &key})
	if err != nil {
		return "", err
	}
	content, err := io.ReadAll(got.Body)
	return string(content), err
}

func TestCounts(t *testing.T) {
	f := objects.NewFake(t)
	put(t, f.Bucket, "a", "b")
	_, _ = get(t, f.Bucket, "a")
	_, _ = get(t, f.Bucket, "absent")
	pages(t, f.Bucket, func(i *s3.ListObjectsV2Input) { i.MaxKeys, i.Prefix = aws.Int32(1), aws.String("") })
	_, err := f.Client().DeleteObjects(t.Context(), &s3.DeleteObjectsInput{Bucket: &f.Name, Delete: &types.Delete{
		Objects: []types.ObjectIdentifier{{Key: aws.String("a")}, {Key: aws.String("b")}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]int{objects.Put: 2, objects.Get: 2, objects.List: 2, objects.DeleteMany: 1}
	if diff := gocmp.Diff(want, f.Counts()); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
	calls := f.Calls()
	if last := calls[len(calls)-1]; last.N != 7 || !slices.Equal(last.Keys, []string{"a", "b"}) {
		t.Errorf("the last call is %d %q, want 7 with both keys", last.N, last.Keys)
	}
	if f.InFlight() != 1 {
		t.Errorf("%d in flight, want 1", f.InFlight())
	}
	if f.Reset(); len(f.Calls()) != 0 {
		t.Error("calls are left after Reset")
	}
}

func TestShortPages(t *testing.T) {
	f := objects.NewFake(t)
	put(t, f.Bucket, "a", "b", "c")
	f.SetPageSize(2)
	if got := pages(t, f.Bucket, nil); !slices.Equal(got, []string{"a", "b", "|", "c"}) {
		t.Errorf("pages %q", got)
	}
	if got := pages(t, f.Bucket, func(i *s3.ListObjectsV2Input) { i.MaxKeys = aws.Int32(1) }); len(got) != 5 {
		t.Errorf("pages of one %q", got)
	}
}

func TestInFlight(t *testing.T) {
	f := objects.NewFake(t)
	f.SetLatency(20 * time.Millisecond)
	var group sync.WaitGroup
	for range 5 {
		group.Go(func() { _, _ = get(t, f.Bucket, "a") })
	}
	group.Wait()
	if got := f.InFlight(); got < 2 || got > 5 {
		t.Errorf("%d in flight, want about 5", got)
	}
}

func TestFaults(t *testing.T) {
	const key, whole = "k", "content of k"
	cases := []struct {
		reason string
		fault  func(f *objects.Fake) objects.Fault
		code   int // 200: all is well; -1: no answer or half of one
		want   string
	}{
		{"refused", func(*objects.Fake) objects.Fault { return objects.Answer(503, "SlowDown") }, 503, ""},
		{"cut before the answer", func(*objects.Fake) objects.Fault { return objects.Cut() }, -1, ""},
		{"cut in its middle", func(*objects.Fake) objects.Fault { return objects.CutBody() }, -1, "conten"},
		{"answer lost", func(*objects.Fake) objects.Fault { return objects.Lose() }, -1, ""},
		{"rotten", func(*objects.Fake) objects.Fault { return objects.Replace([]byte("rot")) }, 200, "rot"},
		{"late", func(f *objects.Fake) objects.Fault { return f.Delay(time.Millisecond) }, 200, whole},
		{"slow", func(f *objects.Fake) objects.Fault { return f.Drip(5, time.Millisecond) }, 200, whole},
	}
	for _, c := range cases {
		t.Run(c.reason, func(t *testing.T) {
			f := objects.NewFake(t)
			put(t, f.Bucket, key)
			f.Inject(objects.NthOf(2, objects.Operation(objects.Get)), c.fault(f))
			for n, code := range []int{200, c.code, 200} {
				want := whole
				if n == 1 {
					want = c.want
				}
				if got, err := get(t, f.Bucket, key); status(err) != code || got != want {
					t.Errorf("request %d: %q, %v", n+1, got, err)
				}
			}
		})
	}
}

func TestHangEndsWithTheClient(t *testing.T) {
	f := objects.NewFake(t)
	f.Inject(objects.Always(), f.Hang())
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := f.Client().HeadBucket(ctx, &s3.HeadBucketInput{Bucket: &f.Name})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v, want the deadline's", err)
	}
}

func TestLostAnswerHadItsEffect(t *testing.T) {
	f := objects.NewFake(t)
	put(t, f.Bucket, "a", "b")
	remove := func(key string) error {
		_, err := f.Client().DeleteObjects(t.Context(), &s3.DeleteObjectsInput{Bucket: &f.Name, Delete: &types.Delete{
			Objects: []types.ObjectIdentifier{{Key: &key}},
		}})
		return err
	}
	f.Inject(objects.NthOf(1, objects.Operation(objects.DeleteMany)), objects.Lose())
	f.Inject(objects.NthOf(1, objects.Operation(objects.DeleteMany)), objects.Cut())
	if err := remove("a"); err == nil {
		t.Error("no error although the answer is lost")
	}
	if err := remove("b"); err == nil {
		t.Error("no error although nothing was answered")
	}
	if got := pages(t, f.Bucket, nil); !slices.Equal(got, []string{"b"}) {
		t.Errorf("left are %q, want b alone", got)
	}
}

func TestStormPasses(t *testing.T) {
	f := objects.NewFake(t)
	put(t, f.Bucket, "k")
	f.Inject(objects.Span(2, 4, objects.Operation(objects.Get)), objects.Answer(503, "SlowDown"))
	var codes []int
	for range 6 {
		_, err := get(t, f.Bucket, "k")
		codes = append(codes, status(err))
	}
	if diff := gocmp.Diff([]int{200, 503, 503, 503, 200, 200}, codes); diff != "" {
		t.Error(diff)
	}
}

func TestDeniedBelowAPrefix(t *testing.T) {
	f := objects.NewFake(t)
	put(t, f.Bucket, "a/k", "b/k")
	f.Inject(objects.Both(objects.Operation(objects.Get, objects.List), objects.Below("a/")), objects.Answer(403, "AccessDenied"))
	if _, err := get(t, f.Bucket, "a/k"); status(err) != 403 {
		t.Errorf("get: %v, want 403", err)
	}
	if _, err := f.Client().ListObjectsV2(t.Context(), &s3.ListObjectsV2Input{Bucket: &f.Name, Prefix: aws.String("a/x")}); status(err) != 403 {
		t.Errorf("list: %v, want 403", err)
	}
	if got, err := get(t, f.Bucket, "b/k"); err != nil || got != "content of b/k" {
		t.Errorf("elsewhere: %q, %v", got, err)
	}
	f.Heal()
	if _, err := get(t, f.Bucket, "a/k"); err != nil {
		t.Errorf("healed: %v", err)
	}
}

func TestErrorsOfKeys(t *testing.T) {
	f := objects.NewFake(t)
	put(t, f.Bucket, "a", "b", "c")
	f.Inject(objects.Operation(objects.DeleteMany), objects.KeyErrors("AccessDenied", func(key string) bool { return key == "b" }))
	got, err := f.Client().DeleteObjects(t.Context(), &s3.DeleteObjectsInput{Bucket: &f.Name, Delete: &types.Delete{
		Objects: []types.ObjectIdentifier{{Key: aws.String("a")}, {Key: aws.String("b")}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Errors) != 1 || *got.Errors[0].Key != "b" || *got.Errors[0].Code != "AccessDenied" {
		t.Errorf("errors %+v, want one for b", got.Errors)
	}
	if len(got.Deleted) != 1 || *got.Deleted[0].Key != "a" {
		t.Errorf("deleted %+v, want a", got.Deleted)
	}
	if left := pages(t, f.Bucket, nil); !slices.Equal(left, []string{"b", "c"}) {
		t.Errorf("left are %q", left)
	}
}

func TestLies(t *testing.T) {
	f := objects.NewFake(t)
	keys := []string{"a", "b", "c", "d", "e"}
	put(t, f.Bucket, keys...)
	first, second := "", ""
	cases := []struct {
		reason string
		lie    func(*objects.Page)
		check  func(p *s3.ListObjectsV2Output) bool // of the second page of two keys
	}{
		{"the truth", func(*objects.Page) {}, func(p *s3.ListObjectsV2Output) bool {
			second = *p.NextContinuationToken
			return *p.IsTruncated && *p.Contents[0].Key == "c"
		}},
		{"ends early", objects.EndEarly, func(p *s3.ListObjectsV2Output) bool {
			return !*p.IsTruncated && p.NextContinuationToken == nil
		}},
		{"does not say", objects.DropTruncated, func(p *s3.ListObjectsV2Output) bool {
			return p.IsTruncated == nil && p.NextContinuationToken == nil
		}},
		{"leads nowhere", objects.DropToken, func(p *s3.ListObjectsV2Output) bool {
			return *p.IsTruncated && p.NextContinuationToken == nil
		}},
		{"leads to itself", objects.RepeatToken, func(p *s3.ListObjectsV2Output) bool {
			return *p.IsTruncated && *p.NextContinuationToken == first
		}},
		{"leads back", objects.Restart, func(p *s3.ListObjectsV2Output) bool {
			return *p.NextContinuationToken != first && *p.NextContinuationToken != second
		}},
		{"backwards", objects.Backwards, func(p *s3.ListObjectsV2Output) bool {
			return *p.Contents[0].Key == "d" && *p.Contents[1].Key == "c"
		}},
		{"one less", objects.DropLast, func(p *s3.ListObjectsV2Output) bool {
			return len(p.Contents) == 1 && *p.KeyCount == 2
		}},
		{"undated", objects.Undated, func(p *s3.ListObjectsV2Output) bool { return p.Contents[0].LastModified == nil }},
	}
	for _, c := range cases {
		t.Run(c.reason, func(t *testing.T) {
			defer f.Heal()
			input := &s3.ListObjectsV2Input{Bucket: &f.Name, MaxKeys: aws.Int32(2)}
			page, err := f.Client().ListObjectsV2(t.Context(), input)
			if err != nil {
				t.Fatal(err)
			}
			first = *page.NextContinuationToken
			f.Inject(objects.Operation(objects.List), objects.Lie(c.lie))
			input.ContinuationToken = page.NextContinuationToken
			if page, err = f.Client().ListObjectsV2(t.Context(), input); err != nil {
				t.Fatal(err)
			}
			if !c.check(page) {
				t.Errorf("page is %+v", page)
			}
		})
	}
}

func TestClock(t *testing.T) {
	f := objects.NewFake(t)
	then := time.Date(2020, time.May, 1, 12, 0, 0, 0, time.UTC)
	f.SetClock(func() time.Time { return then })
	put(t, f.Bucket, "k")
	response, err := http.Get(f.Endpoint + "/" + f.Name + "/k")
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	for _, name := range []string{"Date", "Last-Modified"} {
		if got := response.Header.Get(name); got != "Fri, 01 May 2020 12:00:00 GMT" {
			t.Errorf("%s is %s", name, got)
		}
	}
	page, err := f.Client().ListObjectsV2(t.Context(), &s3.ListObjectsV2Input{Bucket: &f.Name})
	if err != nil || !page.Contents[0].LastModified.Equal(then) {
		t.Errorf("listed as %+v, %v", page.Contents, err)
	}
}

func TestWorldsInABucket(t *testing.T) {
	f := objects.NewFake(t)
	now := time.Date(2026, time.March, 1, 0, 0, 0, 0, time.UTC)
	w := world.New(f.Store("root"), world.At(now), world.Age(time.Hour))
	image := w.Image("a/b", world.Layers(w.Layer("layer")), world.Tag("v1"), world.UnknownAge)
	blob := "root/" + world.BlobPath(image.Layers[0])
	found := false
	for _, o := range f.Objects() {
		if o.Key != blob {
			found = found || o.Modified.IsZero()
			continue
		}
		if !o.Modified.Equal(now.Add(-time.Hour)) {
			t.Errorf("%s is of %s", o.Key, o.Modified)
		}
	}
	if !found {
		t.Error("no object without a time stamp")
	}
	if content, err := get(t, f.Bucket, blob); err != nil || content != "layer" {
		t.Errorf("content %q, %v", content, err)
	}
	head, err := f.Client().HeadObject(t.Context(), &s3.HeadObjectInput{
		Bucket: &f.Name, Key: aws.String("root/" + world.TagLink("a/b", "v1")),
	})
	if err != nil || head.LastModified != nil {
		t.Errorf("tag's time is %v, %v; want none", head.LastModified, err)
	}
	w.RemoveDir(world.RepositoryPath("a/b"))
	for _, o := range f.Objects() {
		if strings.Contains(o.Key, "/repositories/") {
			t.Errorf("%s is left", o.Key)
		}
	}
}

func TestWorldsOnVersity(t *testing.T) {
	g := objects.Versity(t)
	now := time.Date(2026, time.March, 1, 0, 0, 0, 0, time.UTC)
	w := world.New(world.Folder(g.Folder), world.At(now), world.Age(time.Hour))
	image := w.Image("a/b", world.Layers(w.Layer("layer")), world.Tag("v1"))
	page, err := g.Client().ListObjectsV2(t.Context(), &s3.ListObjectsV2Input{Bucket: &g.Name})
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for _, o := range page.Contents {
		keys = append(keys, *o.Key)
		if !o.LastModified.Equal(now.Add(-time.Hour)) {
			t.Errorf("%s is of %s", *o.Key, o.LastModified)
		}
	}
	if diff := gocmp.Diff(w.Files(), keys); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
	if content, err := get(t, g.Bucket, world.BlobPath(image.Config)); err != nil || !strings.Contains(content, "rootfs") {
		t.Errorf("content %q, %v", content, err)
	}
}

func TestStoreRemovesAndPutsAgain(t *testing.T) {
	f := objects.NewFake(t)
	store := f.Store("/folder/")
	write := func(paths ...string) {
		for _, path := range paths {
			if err := store.Put(path, []byte(path), time.Time{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	write("a/1", "a/2", "a0", "b", "folder/")
	if got := pages(t, f.Bucket, nil); len(got) != 4 {
		t.Fatalf("keys %q, want 4", got)
	}
	for _, path := range []string{"a/", "b", "absent", "absent/"} {
		if err := store.Remove(path); err != nil {
			t.Error(err)
		}
	}
	if got := pages(t, f.Bucket, nil); !slices.Equal(got, []string{"folder/a0"}) {
		t.Errorf("left are %q, want a0", got)
	}
	write("b", "b")
	if got := pages(t, f.Bucket, nil); !slices.Equal(got, []string{"folder/a0", "folder/b"}) {
		t.Errorf("then there are %q, want b once", got)
	}
}
