package manifests

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFolder(t *testing.T) {
	root := t.TempDir()
	write(t, filepath.Join(root, "b", "c", "disk.yml"), diskYAML)
	write(t, filepath.Join(root, "pod.JSON"), `{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "team"}, "spec": {"containers": [{"image": "r.x/web:1"}]}}`)
	write(t, filepath.Join(root, "map.yaml"), "apiVersion: v1\nkind: ConfigMap\n---\napiVersion: v1\nkind: Service\n")
	write(t, filepath.Join(root, ".hidden.yaml"), "not: [ yaml")
	write(t, filepath.Join(root, ".git", "x.yaml"), "not: [ yaml")
	write(t, filepath.Join(root, "README.md"), "not: [ yaml")
	c, err := load(root)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{disk, pod}, seen(c.Set())); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	want := []string{
		"owners " + filepath.Join(root, "b", "c", "disk.yml") + ": a stream of documents can not show that it was cut off: use one list, as kubectl get writes",
		"owners " + root + ": files that are not named *.yaml, *.yml or *.json are not read (README.md)",
		"owners " + root + ": no owner rule names the kinds ConfigMap, Service, and they hold no image reference that counts: they protect nothing",
	}
	if diff := cmp.Diff(want, c.Warnings()); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

func TestFilesThatAreSkippedAreNamed(t *testing.T) {
	root := t.TempDir()
	write(t, filepath.Join(root, "disk.json"), diskJSON)
	for _, name := range []string{"a.yaml.gz", "b/list", "c.txt", "d.yaml~", ".e.txt"} {
		write(t, filepath.Join(root, name), "")
	}
	c, err := load(root)
	want := "owners " + root + ": files that are not named *.yaml, *.yml or *.json are not read (a.yaml.gz, b/list, c.txt, …)"
	if err != nil || !slices.Contains(c.Warnings(), want) {
		t.Errorf("%v, warnings %q, want %q", err, c.Warnings(), want)
	}
}

// TestSymbolicLinks: a ConfigMap volume is made of links into a hidden folder.
func TestSymbolicLinks(t *testing.T) {
	root := t.TempDir()
	write(t, filepath.Join(root, "..2026", "disk.yaml"), diskYAML)
	write(t, filepath.Join(root, "folder", "pod.yaml"), podYAML)
	for to, from := range map[string]string{
		"..data": "..2026", "disk.yaml": "..data/disk.yaml", "again": "folder", "folder/circle": "..", "gone.txt": "nowhere",
	} {
		if err := os.Symlink(from, filepath.Join(root, to)); err != nil {
			t.Fatal(err)
		}
	}
	c, err := load(root)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{disk, pod}, seen(c.Set())); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if err := os.Symlink("nowhere", filepath.Join(root, "lost.yaml")); err != nil {
		t.Fatal(err)
	}
	if _, err := load(root); !errors.Is(err, ErrIncomplete) || !strings.Contains(err.Error(), "lost.yaml") {
		t.Errorf("%v, want the link to nowhere named", err)
	}
}

func TestPaths(t *testing.T) {
	empty, root := t.TempDir(), t.TempDir()
	fifo := filepath.Join(root, "x.yaml")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct{ path, want, reason string }{
		{filepath.Join(empty, "absent"), "no such file", "a path that is not there"},
		{empty, "without any *.yaml", "an empty folder"},
		{"/dev/null", "neither a file nor a folder", "a device"},
		{root, "neither a file nor a folder", "a pipe in a folder, which would never end"},
	}
	for _, test := range tests {
		_, err := load(test.path)
		if !errors.Is(err, ErrIncomplete) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", test.reason, err, test.want)
		}
	}
}

// TestPipe: kubectl's output can be given without a file, as <(kubectl get …).
func TestPipe(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	go func() {
		_, _ = w.WriteString(diskYAML)
		_ = w.Close()
	}()
	c, err := load(fmt.Sprintf("/dev/fd/%d", r.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{disk}, seen(c.Set())); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
