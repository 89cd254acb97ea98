package buckets

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/ebb-io/ebb/internal/demo/server"
	"github.com/ebb-io/ebb/internal/demo/server/client"
	"github.com/ebb-io/ebb/internal/testkit/objects"
	"github.com/ebb-io/ebb/internal/testkit/trial"
	"github.com/ebb-io/ebb/internal/testkit/world"
)

const keepsVersions = "ebb: warning: the bucket keeps old versions: what is deleted takes room until they expire"

// TestVersionedBucket: a person is told that deleting frees nothing yet.
func TestVersionedBucket(t *testing.T) {
	w := newTown(t)
	sh := newShell(t, w.fake.Bucket, root)
	sh.now = w.Now
	for status, want := range map[string]string{"Enabled": "yes", "Suspended": "yes", "": "no"} {
		w.fake.SetVersioning(status)
		got := sh.must(t, "check", "-o", "json")
		if said := strings.Contains(got.err, keepsVersions); said != (want == "yes") || document[outcome](t, got.out).Store.Versioned != want {
			t.Errorf("versioning is %q: said %t, want %s: %s", status, said, want, got.err)
		}
	}
	w.fake.SetVersioning("Enabled")
	for _, command := range []string{"usage", "verify", "repair"} {
		if got := sh.must(t, command); strings.Count(got.err, keepsVersions) != 1 {
			t.Errorf("%s says %s", command, got.err)
		}
	}
	if got := w.runAll(t, sh); got.code != 0 || !strings.Contains(got.err, keepsVersions) {
		t.Errorf("run: exit code %d: %s", got.code, got.err)
	}
}

// TestRealVersionedBucket: what a run deletes there is still to be had.
func TestRealVersionedBucket(t *testing.T) {
	gateway := objects.VersityVersioned(t)
	tr := &trip{bucket: gateway.Bucket}
	tr.push(t)
	before := versions(t, gateway.Bucket)
	sh := newShell(t, gateway.Bucket, "")
	if got := sh.must(t, "check"); !strings.Contains(got.err, keepsVersions) {
		t.Errorf("check says %s", got.err)
	}
	tr.reclaim(t, sh)
	tr.proven(t)
	after := versions(t, gateway.Bucket)
	for _, version := range before {
		if !slices.Contains(after, version) {
			t.Errorf("%s is gone for good", version)
		}
	}
}

// versions are all versions of all files but the lock.
func versions(t *testing.T, b objects.Bucket) []string {
	t.Helper()
	var found []string
	pages := sdk.NewListObjectVersionsPaginator(b.Client(), &sdk.ListObjectVersionsInput{Bucket: &b.Name})
	for pages.HasMorePages() {
		page := must(pages.NextPage(t.Context()))(t)
		for _, v := range page.Versions {
			if !strings.HasSuffix(*v.Key, "/.ebb-lock") {
				found = append(found, *v.Key+" "+*v.VersionId)
			}
		}
	}
	return found
}

// begin begins an upload in parts and leaves it.
func begin(t *testing.T, b objects.Bucket, key string, size int) {
	t.Helper()
	made := must(b.Client().CreateMultipartUpload(t.Context(), &sdk.CreateMultipartUploadInput{Bucket: &b.Name, Key: &key}))(t)
	must(b.Client().UploadPart(t.Context(), &sdk.UploadPartInput{
		Bucket: &b.Name, Key: &key, UploadId: made.UploadId, PartNumber: aws.Int32(1), Body: bytes.NewReader(make([]byte, size)),
	}))(t)
}

func begun(t *testing.T, b objects.Bucket) []types.MultipartUpload {
	t.Helper()
	return must(b.Client().ListMultipartUploads(t.Context(), &sdk.ListMultipartUploadsInput{Bucket: &b.Name}))(t).Uploads
}

// unfinished is what a plan says of uploads in parts.
type unfinished struct {
	Sweep struct {
		Unfinished []struct {
			Path  string
			Bytes int64
		} `json:"unfinished"`
	} `json:"sweep"`
	Deleted struct{ Uploads int } `json:"deleted"`
}

// TestUploadsInParts: old ones go with their bytes, young ones stay, and so do
// those outside of the registry's folder.
func TestUploadsInParts(t *testing.T) {
	f := objects.NewFake(t)
	now := time.Now()
	w := world.New(f.Store(root), world.At(now))
	w.Image("apps/web", world.Tag("v1"))
	old, young := root+"/"+world.UploadPath("apps/web", "old")+"/data", root+"/"+world.UploadPath("apps/web", "young")+"/data"
	f.SetClock(func() time.Time { return now.Add(-8 * day) })
	begin(t, f.Bucket, old, 6<<20)
	begin(t, f.Bucket, "elsewhere/docker/registry/v2/data", 1000)
	f.SetClock(time.Now)
	begin(t, f.Bucket, young, 1000)
	sh := newShell(t, f.Bucket, root)
	planned := document[unfinished](t, sh.must(t, "check", "-o", "json").out).Sweep.Unfinished
	if len(planned) != 1 || root+"/"+planned[0].Path != old || planned[0].Bytes != 6<<20 {
		t.Errorf("planned %+v", planned)
	}
	done := document[unfinished](t, sh.must(t, "run", "--offline", "--yes", "-o", "json").out)
	if done.Deleted.Uploads != 1 {
		t.Errorf("done %+v", done)
	}
	var left []string
	for _, u := range begun(t, f.Bucket) {
		left = append(left, *u.Key)
	}
	slices.Sort(left)
	if want := []string{"elsewhere/docker/registry/v2/data", young}; !slices.Equal(left, want) {
		t.Errorf("left %q, want %q", left, want)
	}
	if got := sh.must(t, "check", "--exit-code"); got.code != 0 {
		t.Errorf("the second check says %s", got.out)
	}
}

// TestRealUploadInParts is one that a real registry left in a real bucket: it
// stays while it is young, and goes when it has been left for a week.
func TestRealUploadInParts(t *testing.T) {
	gateway := objects.Versity(t)
	tr := &trip{bucket: gateway.Bucket}
	tr.push(t)
	s := tr.serve(t, server.Options{})
	must(client.Client{Host: s.Addr()}.StartUpload(t.Context(), "apps/web", make([]byte, 11<<20)))(t)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	sh := newShell(t, gateway.Bucket, "")
	for age, want := range map[time.Duration]int{0: 0, 8 * day: 1} {
		sh.now = func() time.Time { return time.Now().Add(age) }
		planned := document[unfinished](t, sh.must(t, "check", "-o", "json").out).Sweep.Unfinished
		if len(planned) != want || want == 1 && planned[0].Bytes < 5<<20 {
			t.Errorf("after %s planned %+v", age, planned)
		}
	}
	sh.now = time.Now
	sh.must(t, "run", "--offline", "--yes")
	if n := len(begun(t, gateway.Bucket)); n != 1 {
		t.Errorf("%d uploads are left, want the young one", n)
	}
	sh.now = func() time.Time { return time.Now().Add(8 * day) }
	sh.must(t, "run", "--offline", "--yes")
	if n := len(begun(t, gateway.Bucket)); n != 0 {
		t.Errorf("%d uploads are left, want none", n)
	}
	for _, ref := range []string{"v1", "multi"} {
		if err := (client.Client{Host: objects.Registry(t, gateway.Bucket, "", true).Addr()}).PullWhole(t.Context(), "apps/web", ref); err != nil {
			t.Error(err)
		}
	}
}

// TestAges: what a bucket says of when things were written is what ages are
// counted from, and what it does not say is young.
func TestAges(t *testing.T) {
	f := objects.NewFake(t)
	w := world.New(f.Store(root))
	w.Image("apps/web", world.Tag("v1"))
	cases := map[string]struct {
		age   world.Option
		stays bool
	}{
		"31 days":                        {world.Age(31 * day), false},
		"29 days":                        {world.Age(29 * day), true},
		"pushed again within the hour":   {world.LinkAge(30 * time.Minute), true},
		"nobody knows":                   {world.UnknownAge, true},
		"it comes from a clock too fast": {world.Age(-day), true},
	}
	images := map[string]world.Image{}
	for name, c := range cases {
		images[name] = w.Image("apps/web", c.age, world.ConfigText(name))
	}
	sh := newShell(t, f.Bucket, root)
	sh.now = w.Now
	sh.must(t, "run", "--delete-untagged", "--offline", "--yes")
	v := trial.View{}
	for _, o := range f.Objects() {
		v[strings.TrimPrefix(o.Key, root+"/")], _ = f.Content(o.Key)
	}
	for name, c := range cases {
		_, missing := v.Parts(trial.Ref{Repository: "apps/web", Name: images[name].Digest})
		if stays := len(missing) == 0; stays != c.stays {
			t.Errorf("%s: stays %t, want %t", name, stays, c.stays)
		}
	}
}

// TestDeniedFromThereOn takes all permissions away at each request of a run. An
// exit code says so, nothing that is kept is lost, and a later run finishes.
func TestDeniedFromThereOn(t *testing.T) {
	codes := map[int]int{}
	for n := range requestsOfARun(t) + 1 { // the command line asks for versions too
		w := newTown(t)
		sh := newShell(t, w.fake.Bucket, root)
		w.fake.Inject(objects.Span(n+1, 1<<30, objects.Always()), objects.Answer(http.StatusForbidden, "AccessDenied"))
		got := w.runAll(t, sh, "--cache", "off")
		codes[got.code]++
		if !slices.Contains([]int{1, 3, 10, 11}, got.code) || !strings.Contains(got.err, "permission denied") {
			t.Errorf("denied from request %d on: exit code %d: %s", n+1, got.code, got.err)
		}
		if lost := w.lost(); len(lost) > 0 {
			t.Errorf("denied from request %d on: lost %q", n+1, lost)
		}
		w.finishes(t, fmt.Sprintf("denied from request %d on", n+1))
	}
	t.Logf("exit codes: %v", codes)
}
