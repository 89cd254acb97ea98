package docs

import (
	"encoding/json"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/ebb-io/ebb/internal/demo"
	"github.com/ebb-io/ebb/internal/testkit/objects"
)

// bucketInDocuments is the storage that the examples name; a region may follow.
const bucketInDocuments = "s3://example-bucket/images"

// newBucketStage is one with its storage in S3.
func newBucketStage(t *testing.T) stage {
	t.Helper()
	s, _ := bucketStage(t)
	return s
}

// bucketStage also returns the server, which has counted nothing yet.
func bucketStage(t *testing.T) (stage, *objects.Fake) {
	t.Helper()
	f := objects.NewFake(t)
	t.Setenv("AWS_ACCESS_KEY_ID", f.AccessKey)
	t.Setenv("AWS_SECRET_ACCESS_KEY", f.SecretKey)
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	past := time.Now().Add(-60 * 24 * time.Hour)
	f.SetClock(func() time.Time { return past })
	fill := objects.Registry(t, f.Bucket, "images", false)
	world, err := demo.Populate(t.Context(), fill.Addr())
	if err != nil {
		t.Fatal(err)
	}
	if err := fill.Close(); err != nil {
		t.Fatal(err)
	}
	f.SetClock(time.Now)
	s := stage{dir: t.TempDir(), storage: f.URL("images"), server: objects.Registry(t, f.Bucket, "images", true)}
	s.furnish(t, world, "s3", f.Parameters("images"))
	f.Reset()
	return s, f
}

// statement is a part of a policy of AWS.
type statement struct {
	Sid       string
	Effect    string
	Action    []string
	Resource  string
	Condition map[string]map[string]string
}

// policy is the one that docs/registry.md gives.
func policy(t *testing.T) []statement {
	t.Helper()
	var p struct {
		Version   string
		Statement []statement
	}
	if err := json.Unmarshal([]byte(fence(t, "docs/registry.md", "json")), &p); err != nil {
		t.Fatal(err)
	}
	return p.Statement
}

// actions are what AWS calls the permissions for the operations of a server.
var actions = map[string]string{
	objects.List: "s3:ListBucket", objects.HeadBucket: "s3:ListBucket",
	objects.Get: "s3:GetObject", objects.Head: "s3:GetObject",
	objects.Versioning:  "s3:GetBucketVersioning",
	objects.ListUploads: "s3:ListBucketMultipartUploads", objects.ListParts: "s3:ListMultipartUploadParts",
	objects.Put: "s3:PutObject", objects.Delete: "s3:DeleteObject", objects.DeleteMany: "s3:DeleteObject",
	objects.AbortUpload: "s3:AbortMultipartUpload",
}

// allows tells whether a statement allows one request about one key.
func (s statement) allows(call objects.Call, key string) bool {
	if s.Effect != "Allow" || !slices.Contains(s.Action, actions[call.Operation]) {
		return false
	}
	switch call.Operation {
	case objects.List:
		return s.Resource == "arn:aws:s3:::example-bucket" && like(s.Condition["StringLike"]["s3:prefix"], key)
	case objects.HeadBucket, objects.Versioning, objects.ListUploads:
		return s.Resource == "arn:aws:s3:::example-bucket" && s.Condition == nil
	}
	return like(s.Resource, "arn:aws:s3:::example-bucket/"+key)
}

// like is StringLike: a star stands for anything, slashes included.
func like(pattern, text string) bool {
	quoted := strings.ReplaceAll(regexp.QuoteMeta(pattern), `\*`, ".*")
	return regexp.MustCompile("^" + quoted + "$").MatchString(text)
}

// What the policy in the document allows is what the commands ask for: nothing
// that a command does is missing, and nothing is allowed that none does.
func TestPolicyIsLeast(t *testing.T) {
	s, f := bucketStage(t)
	begun(t, f, "images/docker/registry/v2/repositories/vd/prod/web-root/_uploads/x/data")
	run := "run --registry https://registry.example.org --owners owners.yaml --upload-age 0s"
	used := map[string]bool{}
	for _, test := range []struct{ command, parts string }{
		{"check --owners owners.yaml", "Read"},
		{"usage", "Read"},
		{"explain apps/web:v3", "Read"},
		{"verify --deep", "Read"},
		{"repair", "Read"},
		{run, "Read Run"},
		{"repair --offline --yes", "Read Run Repair"},
		{"unlock", "Read Run"},
	} {
		if strings.HasSuffix(test.command, "--yes") {
			empty(t, f)
		}
		f.Reset()
		if code := s.run(t, "ebb registry "+test.command+" --storage /var/lib/registry"); code != 0 {
			t.Errorf("%s: exit code %d", test.command, code)
		}
		for _, call := range f.Calls() {
			sid, ok := allowed(policy(t), strings.Fields(test.parts), call)
			if used[sid+" "+actions[call.Operation]] = true; !ok {
				t.Errorf("%s: the policy does not allow %s of %q %q", test.command, call.Operation, call.Key, call.Keys)
			}
		}
	}
	for _, part := range policy(t) {
		for _, action := range part.Action {
			if !used[part.Sid+" "+action] {
				t.Errorf("nothing uses %s in %s of the policy: %v", action, part.Sid, slices.Sorted(maps.Keys(used)))
			}
		}
	}
}

// allowed finds the statement, among those whose name begins with one of the
// parts, that allows all of a request.
func allowed(all []statement, parts []string, call objects.Call) (string, bool) {
	for _, s := range all {
		named := slices.ContainsFunc(parts, func(part string) bool { return strings.HasPrefix(s.Sid, part) })
		keys := call.Keys
		if len(keys) == 0 {
			keys = []string{call.Key}
		}
		if named && !slices.ContainsFunc(keys, func(key string) bool { return !s.allows(call, key) }) {
			return s.Sid, true
		}
	}
	return "", false
}

// begun leaves an upload in parts.
func begun(t *testing.T, f *objects.Fake, key string) {
	t.Helper()
	out, err := f.Client().CreateMultipartUpload(t.Context(), &sdk.CreateMultipartUploadInput{Bucket: &f.Name, Key: &key})
	if err != nil {
		t.Fatal(err)
	}
	one := int32(1)
	if _, err := f.Client().UploadPart(t.Context(), &sdk.UploadPartInput{
		Bucket: &f.Name, Key: &key, UploadId: out.UploadId, PartNumber: &one, Body: strings.NewReader("part"),
	}); err != nil {
		t.Fatal(err)
	}
}

// empty damages a link in a way that a repair mends.
func empty(t *testing.T, f *objects.Fake) {
	t.Helper()
	for _, o := range f.Objects() {
		if strings.Contains(o.Key, "/_manifests/revisions/") && path.Base(o.Key) == "link" {
			if err := f.Store("").Put(o.Key, nil, o.Modified); err != nil {
				t.Fatal(err)
			}
			return
		}
	}
	t.Fatal("there is no link to damage")
}
