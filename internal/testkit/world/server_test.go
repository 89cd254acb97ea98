package world_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/opencontainers/go-digest"

	"github.com/ebb-io/ebb/internal/demo/server"
	"github.com/ebb-io/ebb/internal/demo/server/client"
	"github.com/ebb-io/ebb/internal/testkit/world"
)

func serve(t *testing.T, dir string) client.Client {
	t.Helper()
	s, err := server.Start(t.Context(), dir, server.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return client.Client{Host: s.Addr()}
}

// TestServed proves that a distribution server accepts the layout.
func TestServed(t *testing.T) {
	dir := t.TempDir()
	w := world.New(world.Folder(dir))
	shared := w.Layer("shared")
	web := w.Image("apps/web", world.Layers(shared, w.Layer("web")), world.Tag("v1"), world.Tag("latest"))
	amd := w.Image("apps/web", world.Layers(shared, w.Layer("amd64")))
	arm := w.Image("apps/web", world.Layers(shared), world.Platform("linux", "arm64"))
	multi := w.Index("apps/web", []world.Image{amd, arm}, world.Tag("multi"))
	nested := w.Index("apps/web", []world.Image{multi, web}, world.Tag("nested"))
	sparse := w.Index("apps/web", []world.Image{arm}, world.Sparse(world.Digest("absent")), world.Tag("sparse"))
	referrer := w.Referrer("apps/web", web.Digest)
	w.FallbackTag("apps/web", web.Digest, []world.Image{referrer})
	w.CosignTag("apps/web", web.Digest, ".sig")
	windows := w.Image("apps/windows", world.Docker, world.Layers(w.ForeignLayer("base", world.Docker), shared), world.Tag("v1"))
	w.Image("docker/one", world.Docker, world.Layers(shared), world.Tag("v1"))
	child := w.Image("docker/list", world.Docker, world.Layers(shared))
	w.Index("docker/list", []world.Image{child}, world.Docker, world.Tag("v1"))
	w.Image("oci/bare", world.NoMediaType, world.Layers(shared), world.Tag("v1"))
	w.Index("oci/bare", []world.Image{w.Image("oci/bare", world.Layers(shared))}, world.NoMediaType, world.Tag("multi"))
	w.Image("sha512", world.SHA512, world.Layers(w.Layer("long", world.SHA512)), world.Tag("v1"))
	w.Image("alias", world.Layers(w.Layer("aliased", world.SHA512Alias)), world.Tag("v1"))
	w.Upload("apps/web", "0a0a0a0a-0000-4000-8000-000000000000", w.Now().Add(-time.Hour), "half")

	c := serve(t, dir)
	c.Sparse = true
	for repo, refs := range map[string][]string{
		"apps/web": {
			"v1", "latest", "multi", "nested", "sparse", web.Digest, nested.Digest, sparse.Digest, referrer.Digest,
			world.SubjectTag(web.Digest, ""), world.SubjectTag(web.Digest, ".sig"),
		},
		"apps/windows": {"v1", windows.Digest},
		"docker/one":   {"v1"}, "docker/list": {"v1"}, "oci/bare": {"v1", "multi"},
		"sha512": {"v1"}, "alias": {"v1"},
	} {
		for _, ref := range refs {
			if err := c.PullWhole(t.Context(), repo, ref); err != nil {
				t.Error(err)
			}
		}
	}
	catalog, err := c.Catalog(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"alias", "apps/web", "apps/windows", "docker/list", "docker/one", "oci/bare", "sha512"}
	if diff := cmp.Diff(want, catalog); diff != "" {
		t.Errorf("catalog (-want +got):\n%s", diff)
	}
	tags, err := c.Tags(t.Context(), "oci/bare")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"multi", "v1"}, tags); diff != "" {
		t.Errorf("tags (-want +got):\n%s", diff)
	}
}

// TestDamageIsSeen proves that the client's proof can fail.
func TestDamageIsSeen(t *testing.T) {
	type damage func(w *world.World, layer world.Blob, child, index world.Image)
	for name, test := range map[string]struct {
		damage damage
		want   string
	}{
		"truncated blob":   {func(w *world.World, l world.Blob, _, _ world.Image) { w.TruncateBlob(l.Digest) }, "size is"},
		"corrupt blob":     {func(w *world.World, l world.Blob, _, _ world.Image) { w.CorruptBlob(l.Digest) }, "does not match"},
		"absent blob":      {func(w *world.World, l world.Blob, _, _ world.Image) { w.RemoveBlob(l.Digest) }, "404"},
		"absent config":    {func(w *world.World, _ world.Blob, c, _ world.Image) { w.RemoveBlob(c.Config) }, "config sha256"},
		"no layer link":    {func(w *world.World, l world.Blob, _, _ world.Image) { w.RemoveLayerLink("a", l.Digest) }, "404"},
		"empty layer link": {func(w *world.World, l world.Blob, _, _ world.Image) { w.EmptyLayerLink("a", l.Digest) }, "layer sha256"},
		"no layers":        {func(w *world.World, _ world.Blob, _, _ world.Image) { w.RemoveLayersDir("a") }, "404"},
		"no child":         {func(w *world.World, _ world.Blob, c, _ world.Image) { w.RemoveRevisionLink("a", c.Digest) }, "child sha256"},
		"empty revision":   {func(w *world.World, _ world.Blob, c, _ world.Image) { w.EmptyRevisionLink("a", c.Digest) }, "child sha256"},
		"no revisions":     {func(w *world.World, _ world.Blob, _, _ world.Image) { w.RemoveRevisionsDir("a") }, "404"},
		"corrupt index":    {func(w *world.World, _ world.Blob, _, i world.Image) { w.CorruptBlob(i.Digest) }, "manifest v1"},
		"no tag link":      {func(w *world.World, _ world.Blob, _, _ world.Image) { w.RemoveTagLink("a", "v1") }, "404"},
		"empty tag link":   {func(w *world.World, _ world.Blob, _, _ world.Image) { w.EmptyTagLink("a", "v1") }, "manifest v1"},
		"no tag":           {func(w *world.World, _ world.Blob, _, _ world.Image) { w.RemoveTag("a", "v1") }, "404"},
		"no tags":          {func(w *world.World, _ world.Blob, _, _ world.Image) { w.RemoveTagsDir("a") }, "404"},
		"no index links":   {func(w *world.World, _ world.Blob, _, _ world.Image) { w.RemoveTagIndex("a", "v1") }, ""},
		"no repository":    {func(w *world.World, _ world.Blob, _, _ world.Image) { w.RemoveRepository("a") }, "404"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			w := world.New(world.Folder(dir))
			layer := w.Layer("a layer")
			child := w.Image("a", world.Layers(layer))
			index := w.Index("a", []world.Image{child}, world.Tag("v1"))
			test.damage(w, layer, child, index)
			err := serve(t, dir).PullWhole(t.Context(), "a", "v1")
			if test.want == "" && err != nil || test.want != "" && !strings.Contains(fmt.Sprint(err), test.want) {
				t.Errorf("error is %v, want %q in it", err, test.want)
			}
		})
	}
}

// TestSameFilesAsServer pins the layout: a world holds the files, with the
// same content, that a server writes when the same images are pushed.
func TestSameFilesAsServer(t *testing.T) {
	pushed, written := t.TempDir(), t.TempDir()
	w := world.New(world.Folder(written))
	shared := w.Layer("shared")
	one := w.Image("apps/web", world.Layers(shared, w.Layer("one")), world.Tag("v1"))
	two := w.Image("apps/web", world.Layers(shared), world.Tag("v1"), world.ConfigText(`{"two":2}`))
	docker := w.Image("apps/docker", world.Docker, world.Layers(shared), world.Tag("v1"))
	index := w.Index("apps/web", []world.Image{one, two}, world.Tag("multi"))
	referrer := w.Referrer("apps/web", one.Digest)
	alias := w.Image("alias", world.Layers(w.Layer("aliased", world.SHA512Alias)), world.Tag("v1"))

	c := serve(t, pushed)
	for _, image := range []world.Image{one, two, docker} {
		content := content(t, written, image)
		if _, err := c.PushImage(t.Context(), image.Repository, "v1", content); err != nil {
			t.Fatal(err)
		}
	}
	// These are sent as they are: go-containerregistry would add a fallback
	// tag, and does not know sha512.
	for _, layer := range []string{referrer.Layers[0], referrer.Config} {
		upload(t, c, "apps/web", layer, stored(t, written, layer))
	}
	upload(t, c, "alias", alias.Layers[0], []byte("aliased"))
	upload(t, c, "alias", alias.Config, stored(t, written, alias.Config))
	put(t, c, referrer, referrer.Digest)
	put(t, c, alias, "v1")
	put(t, c, index, "multi")

	if diff := cmp.Diff(tree(t, pushed), tree(t, written)); diff != "" {
		t.Errorf("files (-server +world):\n%s", diff)
	}
}

// TestSameUploadAsServer pins the layout of an upload that is abandoned.
func TestSameUploadAsServer(t *testing.T) {
	pushed, written := t.TempDir(), t.TempDir()
	id, err := serve(t, pushed).StartUpload(t.Context(), "a/b", []byte("half a layer"))
	if err != nil {
		t.Fatal(err)
	}
	startedAt, err := os.ReadFile(filepath.Join(pushed, world.UploadPath("a/b", id), "startedat"))
	if err != nil {
		t.Fatal(err)
	}
	at, err := time.Parse(time.RFC3339, string(startedAt))
	if err != nil {
		t.Fatal(err)
	}
	w := world.New(world.Folder(written))
	w.Upload("a/b", id, at, "half a layer")
	if diff := cmp.Diff(tree(t, pushed), tree(t, written)); diff != "" {
		t.Errorf("files (-server +world):\n%s", diff)
	}
}

// content is a world's image as go-containerregistry sees it, with the very
// manifest that the world wrote.
func content(t *testing.T, dir string, image world.Image) v1.Image {
	t.Helper()
	parsed, err := v1.ParseManifest(bytes.NewReader(image.Raw))
	if err != nil {
		t.Fatal(err)
	}
	made := mutate.MediaType(empty.Image, types.MediaType(image.MediaType))
	for _, layer := range parsed.Layers {
		made, err = mutate.AppendLayers(made, static.NewLayer(stored(t, dir, layer.Digest.String()), layer.MediaType))
		if err != nil {
			t.Fatal(err)
		}
	}
	return exact{Image: made, image: image, config: stored(t, dir, image.Config)}
}

type exact struct {
	v1.Image
	image  world.Image
	config []byte
}

func (e exact) RawManifest() ([]byte, error)   { return e.image.Raw, nil }
func (e exact) RawConfigFile() ([]byte, error) { return e.config, nil }
func (e exact) ConfigName() (v1.Hash, error)   { return v1.NewHash(e.image.Config) }
func (e exact) Digest() (v1.Hash, error)       { return v1.NewHash(e.image.Digest) }
func (e exact) Size() (int64, error)           { return int64(len(e.image.Raw)), nil }
func (e exact) Manifest() (*v1.Manifest, error) {
	return v1.ParseManifest(bytes.NewReader(e.image.Raw))
}

func (e exact) ConfigFile() (*v1.ConfigFile, error) {
	var file v1.ConfigFile
	return &file, json.Unmarshal(e.config, &file)
}

func stored(t *testing.T, dir, digest string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, world.BlobPath(digest)))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func upload(t *testing.T, c client.Client, repo, digest string, data []byte) {
	t.Helper()
	response := send(t, http.MethodPost, "http://"+c.Host+"/v2/"+repo+"/blobs/uploads/", "", nil)
	send(t, http.MethodPut, response.Header.Get("Location")+"&digest="+digest, "application/octet-stream", data)
}

func put(t *testing.T, c client.Client, image world.Image, ref string) {
	t.Helper()
	send(t, http.MethodPut, "http://"+c.Host+"/v2/"+image.Repository+"/manifests/"+ref, image.MediaType, image.Raw)
}

func send(t *testing.T, method, url, contentType string, body []byte) *http.Response {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", contentType)
	request.Close = true // a connection to an earlier registry on this port is of no use
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	if response.StatusCode/100 != 2 {
		t.Fatalf("%s %s: %s", method, url, response.Status)
	}
	return response
}

// tree is every file below dir by the digest of its content; empty folders of
// finished uploads are none.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(filepath.Join(dir, path))
		files[path] = digest.FromBytes(data).String()
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
