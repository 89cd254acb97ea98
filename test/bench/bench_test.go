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
	cases := []string{"check", "single", "run", "objects", "latency"}
	text := "# Before\n"
	for _, name := range append(cases, "unasked") {
		text += begin(name) + "old " + name + "\n" + end + "after " + name + "\n"
	}
	if err := os.WriteFile(doc, []byte(text), 0o600); err != nil {
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
	if !strings.HasPrefix(got, "# Before\n"+begin("check")) || !strings.HasSuffix(got, begin("unasked")+"old unasked\n"+end+"after unasked\n") {
		t.Errorf("what stands around the tables changed:\n%s", got)
	}
	// The bare contender knows no buckets.
	want := map[string][2]int{"check": {1, 1}, "single": {1, 1}, "run": {1, 1}, "objects": {5, 0}, "latency": {2, 0}}
	for _, name := range cases {
		_, rest, _ := strings.Cut(got, begin(name))
		table, _, _ := strings.Cut(rest, end+"after "+name+"\n")
		rows := [2]int{strings.Count(table, "| ebb |"), strings.Count(table, "| bare |")}
		if rows != want[name] || strings.Contains(table, "old") {
			t.Errorf("%s has %d rows of ebb and bare, want %d:\n%s", name, rows, want[name], table)
		}
	}
	if strings.Contains(got, os.TempDir()) {
		t.Errorf("a table holds a folder of this machine:\n%s", got)
	}
}

func TestInsertNeedsMarkers(t *testing.T) {
	doc := filepath.Join(t.TempDir(), "performance.md")
	for _, text := range []string{"none", begin("check"), end + begin("check"), begin("run") + end} {
		if err := os.WriteFile(doc, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := insert(doc, []table{{"check", "table\n"}}); err == nil {
			t.Errorf("inserted into %q", text)
		}
	}
}

// A measurement takes long: that its document has no place for it should be known before.
func TestTheDocumentHasAPlaceForEachCase(t *testing.T) {
	data, err := os.ReadFile("../../docs/performance.md")
	if err != nil {
		t.Fatal(err)
	}
	doc := filepath.Join(t.TempDir(), "performance.md")
	if err := os.WriteFile(doc, data, 0o600); err != nil {
		t.Fatal(err)
	}
	var tables []table
	for _, r := range rounds(options{}) {
		tables = append(tables, table{r.name, "table of " + r.name + "\n"})
	}
	for _, c := range bucketCases(options{}) {
		tables = append(tables, table{c.name, "table of " + c.name + "\n"})
	}
	if err := insert(doc, tables); err != nil {
		t.Fatal(err)
	}
	if data, err = os.ReadFile(doc); err != nil {
		t.Fatal(err)
	}
	for _, one := range tables {
		if strings.Count(string(data), begin(one.name)+one.text+end) != 1 {
			t.Errorf("the table of %s is not where it should be:\n%s", one.name, data)
		}
	}
}
