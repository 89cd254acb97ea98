package s3

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/ebb-io/ebb/internal/store/blob"
)

// benchKeys is how many files BenchmarkWalk finds; they are made as they are
// asked for, so that the memory is the driver's.
const benchKeys = 200_000

func benchKey(i uint64) string {
	digest := fmt.Sprintf("%016x%048x", i*(^uint64(0)/benchKeys), i)
	return "v2/blobs/sha256/" + digest[:2] + "/" + digest + "/data"
}

func benchPage(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	after := query.Get("start-after")
	if token := query.Get("continuation-token"); token != "" {
		after = token
	}
	if query.Get("delimiter") != "" {
		answer(w, http.StatusOK, says(all, ""))
		return
	}
	var first uint64
	if at := strings.LastIndex(after, "sha256/"); at >= 0 {
		name := strings.TrimSuffix(after[at+len("sha256/"):], highest)
		if _, deeper, ok := strings.Cut(name, "/"); ok {
			name = deeper
		}
		value, _ := strconv.ParseUint((strings.SplitN(name, "/", 2)[0] + strings.Repeat("0", 16))[:16], 16, 64)
		first = value / (^uint64(0) / benchKeys)
		for first < benchKeys && benchKey(first) <= after {
			first++
		}
	}
	limit, _ := strconv.ParseUint(query.Get("max-keys"), 10, 64)
	last := min(first+limit, benchKeys)
	var b strings.Builder
	fmt.Fprintf(&b, "<ListBucketResult><IsTruncated>%t</IsTruncated><KeyCount>%d</KeyCount>", last < benchKeys, last-min(first, last))
	for i := first; i < last; i++ {
		fmt.Fprintf(&b, "<Contents><Key>%s</Key><LastModified>2024-02-29T23:59:58.000Z</LastModified><ETag>&quot;d41d8cd98f00b204e9800998ecf8427e&quot;</ETag><Size>1234567</Size><StorageClass>STANDARD</StorageClass></Contents>", benchKey(i))
	}
	if last < benchKeys {
		fmt.Fprintf(&b, "<NextContinuationToken>%s</NextContinuationToken>", benchKey(last-1))
	}
	answer(w, http.StatusOK, b.String()+"</ListBucketResult>")
}

func BenchmarkWalk(b *testing.B) {
	server := httptest.NewServer(http.HandlerFunc(benchPage))
	defer server.Close()
	d, err := Open(context.Background(), options(server.URL))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	var peak uint64
	for range b.N {
		var files atomic.Int64
		err := d.Walk(context.Background(), "", blob.Visitor{
			Enter: func(string) blob.Step { return blob.List() },
			File: func(blob.Entry) {
				if files.Add(1)%20_000 == 0 {
					var m runtime.MemStats
					runtime.ReadMemStats(&m)
					peak = max(peak, m.HeapInuse)
				}
			},
			Fail: func(path string, err error) { b.Errorf("%s: %v", path, err) },
		})
		if err != nil || files.Load() != benchKeys {
			b.Fatal(err, files.Load())
		}
	}
	b.ReportMetric(float64(d.Requests())/float64(b.N), "requests/op")
	b.ReportMetric(float64(peak)/(1<<20), "MiB-heap")
}
