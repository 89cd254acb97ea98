package buckets

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/opencontainers/go-digest"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/ebb-io/ebb/internal/demo/server"
	"github.com/ebb-io/ebb/internal/demo/server/client"
	"github.com/ebb-io/ebb/internal/testkit/objects"
	"github.com/ebb-io/ebb/internal/testkit/trial"
)

// The objects that own what a trip pushes: vi/prod/old has none.
const (
	uidWeb = "11111111-1111-4111-8111-111111111111"
	uidOld = "22222222-2222-4222-8222-222222222222"
	owners = `
apiVersion: virtualization.deckhouse.io/v1alpha2
kind: VirtualImage
metadata: {name: web, namespace: prod, uid: ` + uidWeb + `}
spec: {dataSource: {type: HTTP}}
status: {phase: Pending}
`
)

func ownersFile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "owners.yaml")
	if err := os.WriteFile(path, []byte(owners), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// trip is a registry in a bucket from the first push to the last pull.
type trip struct {
	bucket objects.Bucket
	root   string
	keep   []trial.Ref
	lose   []trial.Ref
}

// serve starts a real registry on the bucket.
func (tr *trip) serve(t *testing.T, options server.Options) *server.Server {
	t.Helper()
	options.Driver, options.Parameters = "s3", tr.bucket.Parameters(tr.root)
	s, err := server.Start(t.Context(), tr.bucket.URL(tr.root), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func (tr *trip) keeps(repository string, names ...string) {
	for _, name := range names {
		tr.keep = append(tr.keep, trial.Ref{Repository: repository, Name: name})
	}
}

func (tr *trip) loses(repository string, names ...string) {
	for _, name := range names {
		tr.lose = append(tr.lose, trial.Ref{Repository: repository, Name: name})
	}
}

// must is for what a push answers.
func must[T any](value T, err error) func(t *testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

// image is one of several that have a layer in common.
func image(t *testing.T, shared v1.Layer) v1.Image {
	t.Helper()
	own := must(random.Layer(3000, types.OCILayer))(t)
	return must(mutate.AppendLayers(mutate.MediaType(empty.Image, types.OCIManifestSchema1), shared, own))(t)
}

// push fills the registry, moves and deletes tags, and closes it.
func (tr *trip) push(t *testing.T) {
	t.Helper()
	s := tr.serve(t, server.Options{Delete: true})
	ctx, c := t.Context(), client.Client{Host: s.Addr()}
	shared := must(random.Layer(20_000, types.OCILayer))(t)
	put := func(repository, tag string) string {
		return must(c.PushImage(ctx, repository, tag, image(t, shared)))(t)
	}

	tr.loses("apps/web", put("apps/web", "v1")) // until the tag moves
	web := put("apps/web", "v1")
	tr.keeps("apps/web", web, "v1", "multi")
	must(c.PushIndex(ctx, "apps/web", "multi", must(random.Index(1000, 2, 2))(t)))(t)
	tr.keeps("apps/web", must(c.PushReferrer(ctx, "apps/web", web, "signed"))(t))

	kept := put("apps/api", "v2")
	tr.keeps("apps/api", kept, "v2", "latest")
	if err := c.Tag(ctx, "apps/api", "v2", "latest"); err != nil {
		t.Fatal(err)
	}
	tr.loses("apps/api", put("apps/api", "v1"), "v1")
	deleteTag(t, s, "apps/api", "v1")

	tr.keeps("vi/prod/web", put("vi/prod/web", uidWeb), uidWeb)
	tr.loses("vi/prod/old", put("vi/prod/old", uidOld), uidOld)
	tr.keeps("apps/long", pushLong(t, s, "apps/long", "v1"), "v1")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// ask sends a registry one request.
func ask(t *testing.T, method, address, contentType string, body []byte, want int) http.Header {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(string(body)))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", contentType)
	request.Header.Set("Accept", "*/*")
	request.Close = true
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != want {
		t.Fatalf("%s %s: status %d, want %d: %s %v", method, address, response.StatusCode, want, text, err)
	}
	return response.Header
}

func deleteTag(t *testing.T, s *server.Server, repository, tag string) {
	t.Helper()
	ask(t, http.MethodDelete, s.URL()+"/v2/"+repository+"/manifests/"+tag, "", nil, http.StatusAccepted)
}

// pushLong pushes an image whose content is named by sha512 digests: the
// registry keeps it under sha256, with a link of the long name beside it.
func pushLong(t *testing.T, s *server.Server, repository, tag string) string {
	t.Helper()
	blob := func(mediaType, content string) v1.Descriptor {
		d := digest.SHA512.FromString(content)
		began := ask(t, http.MethodPost, s.URL()+"/v2/"+repository+"/blobs/uploads/", "", nil, http.StatusAccepted)
		where := began.Get("Location") + "&digest=" + url.QueryEscape(d.String())
		ask(t, http.MethodPut, where, "application/octet-stream", []byte(content), http.StatusCreated)
		return v1.Descriptor{
			MediaType: types.MediaType(mediaType), Size: int64(len(content)),
			Digest: v1.Hash{Algorithm: "sha512", Hex: d.Encoded()},
		}
	}
	raw, err := json.Marshal(v1.Manifest{
		SchemaVersion: 2, MediaType: types.OCIManifestSchema1,
		Config: blob(string(types.OCIConfigJSON), `{"os":"linux"}`),
		Layers: []v1.Descriptor{blob(string(types.OCILayer), strings.Repeat("a long name ", 100))},
	})
	if err != nil {
		t.Fatal(err)
	}
	header := ask(t, http.MethodPut, s.URL()+"/v2/"+repository+"/manifests/"+tag, string(types.OCIManifestSchema1), raw, http.StatusCreated)
	return header.Get("Docker-Content-Digest")
}

// proven pulls all that must be there from a registry that knows nothing yet,
// and asks for all that must not.
func (tr *trip) proven(t *testing.T) {
	t.Helper()
	s := tr.serve(t, server.Options{ReadOnly: true})
	defer func() { _ = s.Close() }()
	c := client.Client{Host: s.Addr()}
	for _, ref := range tr.keep {
		if err := c.PullWhole(t.Context(), ref.Repository, ref.Name); err != nil {
			t.Error(err)
		}
	}
	for _, ref := range tr.lose {
		ask(t, http.MethodGet, s.URL()+"/v2/"+ref.Repository+"/manifests/"+ref.Name, "", nil, http.StatusNotFound)
	}
}

// outcome is what the tests ask of a result or a plan.
type outcome struct {
	Totals struct {
		Images, Keep, Delete int
	} `json:"totals"`
	Store struct {
		Versioned string `json:"versioned"`
	} `json:"store"`
	Deleted struct {
		Tags, Manifests, Blobs, Uploads int
	} `json:"deleted"`
	FreedBytes int64 `json:"freedBytes"`
	Failed     []any `json:"failed"`
	Problems   []any `json:"problems"`
}

// reclaim is check, run under a read-only registry, verify and a second check.
func (tr *trip) reclaim(t *testing.T, sh *shell) {
	t.Helper()
	choices := []string{"--owners", ownersFile(t), "--min-age", "0s", "--untagged-age", "0s", "--delete-untagged", "--max-delete-share", "100"}
	readOnly := tr.serve(t, server.Options{ReadOnly: true})
	defer func() { _ = readOnly.Close() }()
	planned := document[outcome](t, sh.must(t, "check", append(choices, "-o", "json")...).out)
	if planned.Totals.Delete != 3 || len(planned.Problems) > 0 {
		t.Errorf("planned %+v, want 3 images to go and no problem", planned)
	}
	done := document[outcome](t, sh.must(t, "run", append(choices, "--registry", readOnly.URL(), "--yes", "-o", "json")...).out)
	if done.Deleted.Manifests != 3 || done.Deleted.Tags != 1 || len(done.Failed) > 0 {
		t.Errorf("done %+v, want 3 manifests and a tag gone", done)
	}
	sh.must(t, "verify", "--deep")
	again := document[outcome](t, sh.must(t, "check", append(choices, "--exit-code", "-o", "json")...).out)
	if again.Totals.Delete != 0 {
		t.Errorf("the second check plans %+v", again)
	}
}

// TestRoundTrip has two registries in one bucket of a real server: one in a
// folder, one at the bucket's root. Neither may touch the other.
func TestRoundTrip(t *testing.T) {
	gateway := objects.Versity(t)
	below := &trip{bucket: gateway.Bucket, root: "deep/down"}
	top := &trip{bucket: gateway.Bucket}
	below.push(t)
	top.push(t)
	below.reclaim(t, newShell(t, gateway.Bucket, below.root))
	below.proven(t)
	(&trip{bucket: gateway.Bucket, keep: slices.Concat(top.keep, garbage(top.lose))}).proven(t) // as ever
	top.reclaim(t, newShell(t, gateway.Bucket, top.root))
	top.proven(t)
	below.proven(t)
}

// garbage are the images that a run finds to delete: those of which a tag was
// deleted are there still.
func garbage(refs []trial.Ref) []trial.Ref {
	return slices.DeleteFunc(slices.Clone(refs), func(ref trial.Ref) bool { return ref.Name == "v1" })
}

// TestOwnConfiguration finds the bucket by the configuration of the registry
// that runs on it, keys and all.
func TestOwnConfiguration(t *testing.T) {
	gateway := objects.Versity(t)
	tr := &trip{bucket: gateway.Bucket, root: "/registry"}
	tr.push(t)
	raw, err := json.Marshal(map[string]any{"version": "0.1", "storage": map[string]any{"s3": gateway.Parameters("/registry")}}) // which is YAML too
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "config.yml")
	if err := os.WriteFile(file, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	lonely(t)
	tr.reclaim(t, &shell{storage: "config:" + file, now: time.Now, cache: t.TempDir()})
	tr.proven(t)
}
