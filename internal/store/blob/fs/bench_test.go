package fs

import (
	"context"
	"fmt"
	"os"
	"path"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/ebb-io/ebb/internal/store/blob"
)

// blobTree makes a registry's directory of n blobs, each in a directory of its
// own, below 256 directories.
func blobTree(tb testing.TB, n int) string {
	tb.Helper()
	root := tb.TempDir()
	for i := range n {
		hex := fmt.Sprintf("%02x%062x", i%256, i)
		dir := root + "/blobs/sha256/" + hex[:2] + "/" + hex
		if err := os.MkdirAll(dir, 0o755); err != nil {
			tb.Fatal(err)
		}
		if err := os.WriteFile(dir+"/data", []byte("x"), 0o644); err != nil {
			tb.Fatal(err)
		}
	}
	return root
}

func benchmarkFiles() int {
	if os.Getenv("EBB_BENCH_FULL") != "" {
		return 137_000
	}
	return 20_000
}

func BenchmarkWalk(b *testing.B) {
	files := benchmarkFiles()
	root := blobTree(b, files)
	d, err := Open(root)
	if err != nil {
		b.Fatal(err)
	}
	step := func(dir string) blob.Step {
		if strings.Count(dir, "/") == 3 {
			return blob.Only("data")
		}
		return blob.List()
	}
	list := func(string) blob.Step { return blob.List() }
	b.Run("only", func(b *testing.B) { benchmarkWalk(b, d, files, step) })
	b.Run("list", func(b *testing.B) { benchmarkWalk(b, d, files, list) })
	b.Run("bare", func(b *testing.B) { benchmarkBare(b, root, files) })
}

func benchmarkWalk(b *testing.B, d *Driver, files int, enter func(string) blob.Step) {
	b.ReportAllocs()
	for b.Loop() {
		var seen, failed atomic.Int64
		err := d.Walk(context.Background(), "", blob.Visitor{
			Enter:   enter,
			File:    func(blob.Entry) { seen.Add(1) },
			Missing: func(string) { failed.Add(1) },
			Link:    func(string, string) { failed.Add(1) },
			Fail:    func(string, error) { failed.Add(1) },
		})
		if err != nil || failed.Load() > 0 || seen.Load() != int64(files) {
			b.Fatal(err, failed.Load(), seen.Load())
		}
	}
	b.ReportMetric(float64(files)*float64(b.N)/b.Elapsed().Seconds(), "files/s")
}

// benchmarkBare is what one would write without thinking: a goroutine for each
// directory, held to 16 at once, os.ReadDir and Info.
func benchmarkBare(b *testing.B, root string, files int) {
	b.ReportAllocs()
	for b.Loop() {
		var seen atomic.Int64
		var all sync.WaitGroup
		slots := make(chan struct{}, workers)
		var read func(dir string)
		read = func(dir string) {
			slots <- struct{}{}
			entries, err := os.ReadDir(dir)
			<-slots
			if err != nil {
				b.Error(err)
			}
			for _, e := range entries {
				if e.IsDir() {
					all.Go(func() { read(path.Join(dir, e.Name())) })
					continue
				}
				if _, err := e.Info(); err != nil {
					b.Error(err)
				}
				seen.Add(1)
			}
		}
		read(root)
		all.Wait()
		if seen.Load() != int64(files) {
			b.Fatal(seen.Load())
		}
	}
	b.ReportMetric(float64(files)*float64(b.N)/b.Elapsed().Seconds(), "files/s")
}
