package manifestcache

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/ebb-io/ebb/internal/image"
)

const many = 100_000

// BenchmarkFill keeps a hundred thousand manifests, as a first check does.
func BenchmarkFill(b *testing.B) {
	entries := manifests(1, many)
	raw := 0
	for _, e := range entries {
		raw += len(e.content)
	}
	for b.Loop() {
		dir := b.TempDir()
		c := open(b, dir, DefaultLimit)
		inParallel(len(entries), func(i int) { c.Put(entries[i].digest, entries[i].content) })
		shut(b, c)
		b.ReportMetric(float64(weight(b, dir))/many, "disk-B/manifest")
	}
	b.ReportMetric(float64(raw)/many, "B/manifest")
}

// BenchmarkSecondCheck opens such a cache and gets all of them. Of the memory,
// the heap is what the cache holds after the last.
func BenchmarkSecondCheck(b *testing.B) {
	dir := b.TempDir()
	digests, sizes := fill(b, dir)
	b.Run("open", func(b *testing.B) {
		for b.Loop() {
			shut(b, open(b, dir, DefaultLimit))
		}
	})
	b.Run("get", func(b *testing.B) {
		for b.Loop() {
			before := heap()
			c := open(b, dir, DefaultLimit)
			var missed atomic.Int64
			inParallel(many, func(i int) {
				if _, ok := c.Get(digests[i], sizes[i], make([]byte, 0, 4<<10)); !ok {
					missed.Add(1)
				}
			})
			if missed.Load() > 0 {
				b.Fatalf("%d are missed", missed.Load())
			}
			b.ReportMetric(float64(len(c.packs)), "packs")
			b.ReportMetric(float64(heap()-before)/(1<<20), "heap-MiB")
			shut(b, c)
		}
	})
}

func fill(b *testing.B, dir string) (digests []image.Digest, sizes []int64) {
	c := open(b, dir, DefaultLimit)
	for _, e := range manifests(1, many) {
		c.Put(e.digest, e.content)
		digests, sizes = append(digests, e.digest), append(sizes, int64(len(e.content)))
	}
	shut(b, c)
	return digests, sizes
}

// inParallel calls f for 0 to n-1 from as many goroutines as a snapshot has.
func inParallel(n int, f func(int)) {
	var next atomic.Int64
	var group sync.WaitGroup
	for range 32 {
		group.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				f(i)
			}
		})
	}
	group.Wait()
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
