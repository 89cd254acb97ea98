package demo_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/ebb-io/ebb/internal/demo"
	"github.com/ebb-io/ebb/internal/demo/server"
	"github.com/ebb-io/ebb/internal/demo/server/client"
)

func populate(t *testing.T) (dir string, c client.Client, w demo.World) {
	t.Helper()
	dir = t.TempDir()
	s, err := server.Start(t.Context(), dir, server.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	began := time.Now()
	w, err = demo.Populate(t.Context(), s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("filled in %s", time.Since(began))
	return dir, client.Client{Host: s.Addr()}, w
}

func TestPopulate(t *testing.T) {
	dir, c, w := populate(t)
	catalog, err := c.Catalog(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"apps/web", "cvi/debian-12", "cvi/ubuntu-24-04", "vd/prod/db-root", "vd/prod/web-root",
		"vi/dev/build-tools", "vi/dev/old-ci", "vi/golden-snapshot", "vi/test/ubuntu-copy",
	}
	if diff := cmp.Diff(want, catalog); diff != "" {
		t.Errorf("catalog (-want +got):\n%s", diff)
	}
	for _, repo := range catalog {
		allTagsNoted(t, c, w, repo)
	}
	for _, image := range append(slices.Concat(w.Kept, w.Lost), w.Child) {
		if err := c.PullWhole(t.Context(), image.Repository, image.Digest); err != nil {
			t.Error(err)
		}
	}
	data := filepath.Join(dir, "docker/registry/v2/repositories", w.UploadRepository, "_uploads", w.Upload, "data")
	if info, err := os.Stat(data); err != nil || info.Size() != 2<<20 {
		t.Errorf("upload: %v, %v", info, err)
	}
	if size := bytes(t, dir); size < 60<<20 || size > 100<<20 {
		t.Errorf("the world holds %d MiB, want 60 to 100", size>>20)
	}
}

// allTagsNoted proves that no tag was pushed of which the demo tells nothing.
func allTagsNoted(t *testing.T, c client.Client, w demo.World, repo string) {
	t.Helper()
	tags, err := c.Tags(t.Context(), repo)
	if err != nil {
		t.Fatal(err)
	}
	var noted []string
	for _, image := range slices.Concat(w.Kept, w.Lost) {
		if image.Repository == repo && image.Tag != "" {
			noted = append(noted, image.Tag)
		}
	}
	slices.Sort(noted)
	if diff := cmp.Diff(noted, tags); diff != "" {
		t.Errorf("tags of %s (-noted +pushed):\n%s", repo, diff)
	}
}

func TestVerify(t *testing.T) {
	dir, c, w := populate(t)
	if err := w.Verify(t.Context(), c.Host); err == nil || !strings.Contains(err.Error(), "can still be pulled") {
		t.Errorf("error is %v, want that a lost image is there", err)
	}
	repositories := filepath.Join(dir, "docker/registry/v2/repositories")
	for _, image := range w.Lost {
		tag := filepath.Join(repositories, image.Repository, "_manifests/tags", image.Tag)
		if err := os.RemoveAll(tag); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Verify(t.Context(), c.Host); err != nil {
		t.Error(err)
	}
	if err := os.RemoveAll(filepath.Join(repositories, "apps/web/_layers")); err != nil {
		t.Fatal(err)
	}
	if err := w.Verify(t.Context(), c.Host); err == nil || !strings.Contains(err.Error(), "kept image apps/web") {
		t.Errorf("error is %v, want that a kept image is broken", err)
	}
}

func TestOwners(t *testing.T) {
	_, _, w := populate(t)
	gone := []string{"CVI/debian-12", "VI/old-ci", "VI/ubuntu-copy"}
	before, after := names(t, w.Before), names(t, w.After)
	for _, name := range gone {
		if !slices.Contains(before, name) || slices.Contains(after, name) {
			t.Errorf("%s is to be in before and not in after", name)
		}
	}
	if len(after) != len(before)-len(gone) {
		t.Errorf("before has %d objects, after %d", len(before), len(after))
	}
	for _, kind := range []string{"CVI", "VI", "VD", "Pod"} {
		if !slices.ContainsFunc(after, func(name string) bool { return strings.HasPrefix(name, kind+"/") }) {
			t.Errorf("after has no object of kind %s", kind)
		}
	}
}

func TestBackdate(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "a")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	at := time.Date(2025, time.May, 1, 0, 0, 0, 0, time.UTC)
	if err := demo.Backdate(dir, at); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(file); err != nil || !info.ModTime().Equal(at) {
		t.Errorf("time stamp is %v, %v", info, err)
	}
	if err := demo.Backdate(filepath.Join(dir, "absent"), at); err == nil {
		t.Error("a folder that is absent is no error")
	}
}

// names lists the objects as KIND/NAME, kinds shortened.
func names(t *testing.T, owners []byte) []string {
	t.Helper()
	var list struct {
		Kind  string
		Items []struct {
			Kind     string
			Metadata struct{ Name, UID string }
		}
	}
	if err := yaml.Unmarshal(owners, &list); err != nil {
		t.Fatal(err)
	}
	short := strings.NewReplacer("ClusterVirtualImage", "CVI", "VirtualImage", "VI", "VirtualDisk", "VD")
	var names []string
	for _, item := range list.Items {
		if item.Metadata.UID == "" {
			t.Errorf("%s has no uid", item.Metadata.Name)
		}
		names = append(names, short.Replace(item.Kind)+"/"+item.Metadata.Name)
	}
	return names
}

func bytes(t *testing.T, dir string) int64 {
	t.Helper()
	var size int64
	err := filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			size += info.Size()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return size
}
