package main

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/distribution/distribution/v3/registry/storage"
	"github.com/distribution/distribution/v3/registry/storage/driver/filesystem"
	"github.com/google/go-cmp/cmp"

	"github.com/ebb-io/ebb/test/bench/fixture"
)

// TestMain lets the test binary stand in for the program where that starts itself as a child.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == childCommand {
		if err := run(context.Background(), os.Args[1:]); err != nil {
			_, _ = os.Stderr.WriteString(err.Error() + "\n")
			os.Exit(1)
		}
		return
	}
	m.Run()
}

// small has two untagged images in each repository.
var small = fixture.Shape{Repositories: 6, Images: 10, Layers: layers}

// unlinked is what a clean-up of one untagged image removes:
// its manifest, config and layers with their links; the shared layer stays.
const unlinked = 2 * (2 + layers)

func TestContendersLeaveTheSameFiles(t *testing.T) {
	now := time.Now()
	want := reclaimed(t, now, stockInProcess)
	if missing := small.Summary().Files - len(want); missing != small.Summary().Untagged*unlinked {
		t.Fatalf("the stock collector removed %d files, want %d", missing, small.Summary().Untagged*unlinked)
	}
	for _, name := range []string{"ebb", "bare"} {
		t.Run(name, func(t *testing.T) {
			got := reclaimed(t, now, contenderRun(t, name))
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("files left (-stock +%s):\n%s", name, diff)
			}
		})
	}
}

// reclaimed lists the files that are left of the small fixture after a clean-up.
func reclaimed(t *testing.T, now time.Time, reclaim func(t *testing.T, root string)) []string {
	t.Helper()
	root := filepath.Join(t.TempDir(), "registry")
	if err := fixture.Write(t.Context(), root, small, now); err != nil {
		t.Fatal(err)
	}
	reclaim(t, root)
	return files(t, root)
}

func files(t *testing.T, root string) []string {
	t.Helper()
	var all []string
	err := fs.WalkDir(os.DirFS(root), ".", func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			all = append(all, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(all)
	return all
}

// stockInProcess runs what `registry garbage-collect --delete-untagged` runs.
func stockInProcess(t *testing.T, root string) {
	t.Helper()
	driver := filesystem.New(filesystem.DriverParameters{RootDirectory: root, MaxThreads: 25})
	registry, err := storage.NewRegistry(t.Context(), driver)
	if err != nil {
		t.Fatal(err)
	}
	opts := storage.GCOpts{RemoveUntagged: true, Quiet: true}
	if err := storage.MarkAndSweep(t.Context(), driver, registry, opts); err != nil {
		t.Fatal(err)
	}
}

func contenderRun(t *testing.T, name string) func(t *testing.T, root string) {
	t.Helper()
	all, err := contenders(t.Context(), name, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return func(t *testing.T, root string) {
		t.Helper()
		if err := take(t.Context(), name, all[0].run, root, map[string]series{}, false); err != nil {
			t.Fatal(err)
		}
	}
}

func TestMeasureWritesARowForEachCaseAndContender(t *testing.T) {
	doc := filepath.Join(t.TempDir(), "performance.md")
	if err := os.WriteFile(doc, []byte("# Before\n"+beginMarker+"old"+endMarker+"\nafter\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{
		"-repositories", "2", "-images", "5", "-single", "5", "-reps", "1",
		"-dir", t.TempDir(), "-contenders", "ebb,bare", "-doc", doc,
	}
	if err := run(t.Context(), args); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(doc)
	if err != nil {
		t.Fatal(err)
	}
	got := string(data)
	if !strings.HasPrefix(got, "# Before\n"+beginMarker) || !strings.HasSuffix(got, endMarker+"\nafter\n") {
		t.Errorf("what stands around the markers changed:\n%s", got)
	}
	for _, name := range []string{"ebb", "bare"} {
		if rows := strings.Count(got, "| "+name+" |"); rows != 3 {
			t.Errorf("%d rows for %s, want one for each of 3 cases:\n%s", rows, name, got)
		}
	}
	if strings.Contains(got, "old") || strings.Contains(got, os.TempDir()) {
		t.Errorf("the table holds an old text or a folder of this machine:\n%s", got)
	}
}

func TestInsertNeedsMarkers(t *testing.T) {
	doc := filepath.Join(t.TempDir(), "performance.md")
	for _, text := range []string{"none", beginMarker, endMarker + beginMarker} {
		if err := os.WriteFile(doc, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := insert(doc, "table"); err == nil {
			t.Errorf("inserted into %q", text)
		}
	}
}
