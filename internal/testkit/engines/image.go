package engines

import (
	"archive/tar"
	"bytes"
	"context"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/containerd/errdefs"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/validate"
	"github.com/moby/moby/client"
)

// Import makes an image with one file of this content and gives it a name.
// Other content is another ID. It returns the ID.
func (e API) Import(t testing.TB, ref, content string) string {
	t.Helper()
	return e.importTar(t, ref, map[string]string{"content": content})
}

func (e API) importTar(t testing.TB, name string, files map[string]string) string {
	t.Helper()
	source := client.ImageImportSource{Source: bytes.NewReader(pack(t, files)), SourceName: "-"}
	reply, err := e.Client.ImageImport(t.Context(), source, name, client.ImageImportOptions{})
	if err != nil {
		t.Fatalf("import %s: %v", name, err)
	}
	defer func() { _ = reply.Close() }()
	said, err := io.ReadAll(reply)
	if err != nil || strings.Contains(string(said), `"error"`) {
		t.Fatalf("import %s: %v: %s", name, err, said)
	}
	return e.ID(t, name)
}

func pack(t testing.TB, files map[string]string) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for name, content := range files {
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(content))}); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, content); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// ID is the ID of the image that has a name.
func (e API) ID(t testing.TB, name string) string {
	t.Helper()
	found, err := e.Client.ImageInspect(t.Context(), name)
	if err != nil {
		t.Fatalf("inspect %s: %v", name, err)
	}
	return found.ID
}

// Tag gives an image another name, as a pull that moves a tag does.
func (e API) Tag(t testing.TB, image, name string) {
	t.Helper()
	if _, err := e.Client.ImageTag(t.Context(), client.ImageTagOptions{Source: image, Target: name}); err != nil {
		t.Fatalf("tag %s as %s: %v", image, name, err)
	}
}

// Exists tells whether the engine knows an image by this name or ID.
func (e API) Exists(t testing.TB, name string) bool {
	t.Helper()
	_, err := e.Client.ImageInspect(t.Context(), name)
	if err != nil && !errdefs.IsNotFound(err) {
		t.Fatalf("inspect %s: %v", name, err)
	}
	return err == nil
}

// Names are all tags of all images, in order; on a containerd store with what
// was pulled by digest alone.
func (e API) Names(t testing.TB) []string {
	t.Helper()
	list, err := e.Client.ImageList(t.Context(), client.ImageListOptions{All: true})
	if err != nil {
		t.Fatalf("list images: %v", err)
	}
	names := []string{}
	for _, i := range list.Items {
		names = append(names, i.RepoTags...)
	}
	slices.Sort(names)
	return names
}

// Load loads an image under several names, as from a file of docker save.
func (e API) Load(t testing.TB, img v1.Image, names ...string) {
	t.Helper()
	images := map[string]v1.Image{}
	for _, n := range names {
		images[n] = img
	}
	e.LoadAll(t, images)
}

// LoadAll loads images by their names, all from one file.
func (e API) LoadAll(t testing.TB, byName map[string]v1.Image) {
	t.Helper()
	images := map[name.Tag]v1.Image{}
	for n, img := range byName {
		tag, err := name.NewTag(n)
		if err != nil {
			t.Fatal(err)
		}
		images[tag] = img
	}
	var file bytes.Buffer
	if err := tarball.MultiWrite(images, &file); err != nil {
		t.Fatalf("write images: %v", err)
	}
	reply, err := e.Client.ImageLoad(t.Context(), &file)
	if err != nil {
		t.Fatalf("load: %v", err)
	}
	defer func() { _ = reply.Close() }()
	if said, err := io.ReadAll(reply); err != nil || strings.Contains(string(said), `"error"`) {
		t.Fatalf("load: %v: %s", err, said)
	}
}

// Pull pulls an image and returns its ID.
func (e API) Pull(t testing.TB, name string) string {
	t.Helper()
	if err := e.TryPull(t.Context(), name); err != nil {
		t.Fatalf("pull %s: %v", name, err)
	}
	return e.ID(t, name)
}

// TryPull pulls an image and returns once that is over.
func (e API) TryPull(ctx context.Context, name string) error {
	reply, err := e.Client.ImagePull(ctx, name, client.ImagePullOptions{})
	if err != nil {
		return err
	}
	return reply.Wait(ctx)
}

// Validate reads an image as docker save does, and checks every digest in it.
func (e API) Validate(t testing.TB, ref string) {
	t.Helper()
	reply, err := e.Client.ImageSave(t.Context(), []string{ref})
	if err != nil {
		t.Fatalf("save %s: %v", ref, err)
	}
	defer func() { _ = reply.Close() }()
	data, err := io.ReadAll(reply)
	if err != nil {
		t.Fatalf("save %s: %v", ref, err)
	}
	img, err := tarball.Image(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }, nil)
	if err == nil {
		err = validate.Image(img)
	}
	if err != nil {
		t.Errorf("image %s is not whole: %v", ref, err)
	}
}
