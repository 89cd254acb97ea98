package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ebb-io/ebb/internal/testkit/objects"
	"github.com/ebb-io/ebb/test/bench/fixture"
)

// What a check of a million blobs in 100,000 images may take, and of a tenth of that.
const (
	mostLarge = 300 << 20 // bytes of the whole process
	mostTenth = 128 << 20
	mostTimes = 11
	mostOver  = 1.1 // requests, of those that nobody can save
)

var (
	million = fixture.Shape{Repositories: 10_000, Images: 10, Layers: 8} // 1,000,001 blobs
	tenth   = fixture.Shape{Repositories: 1000, Images: 10, Layers: 8}   // 100,001 blobs
)

func TestMemoryOfALargeRegistry(t *testing.T) {
	w := newWeigher(t)
	small, large := w.first(t, tenth), w.first(t, million)
	if small > mostTenth {
		t.Errorf("%d blobs take %d MiB, want at most %d", tenth.Summary().Blobs, small>>20, mostTenth>>20)
	}
	if large > mostLarge || large > mostTimes*small {
		t.Errorf("%d blobs take %d MiB, want at most %d, and at most %d times the %d MiB of a tenth",
			million.Summary().Blobs, large>>20, mostLarge>>20, mostTimes, small>>20)
	}
	shape := tenth
	if os.Getenv("EBB_LONG") != "" {
		shape = million // which takes more than a minute
	}
	if again := w.second(t, shape); again > mostLarge {
		t.Errorf("a second check of %d blobs takes %d MiB, want at most %d", shape.Summary().Blobs, again>>20, mostLarge>>20)
	}
}

// weigher runs Ebb, as it is released, on buckets of any size, and both Ebb and the bucket apart from this process: a
// child's peak memory counts that of its parent, and what races are looked for in takes many times as much.
type weigher struct {
	bench string // this program
	ebb   bucketCommands
}

func newWeigher(t *testing.T) weigher {
	t.Helper()
	dir := t.TempDir()
	bench, ebb := filepath.Join(dir, "bench"), filepath.Join(dir, "ebb")
	for program, pkg := range map[string]string{bench: "./test/bench", ebb: "./cmd/ebb"} {
		if err := goBuild(t.Context(), ".", program, pkg); err != nil {
			t.Fatal(err)
		}
	}
	return weigher{bench, ebbOnBuckets(ebb, filepath.Join(dir, "cache"))}
}

func (w weigher) child(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, w.bench, append([]string{childCommand}, args...)...)
	cmd.Stderr = os.Stderr
	return cmd
}

// first is the peak memory of a check without a cache.
func (w weigher) first(t *testing.T, shape fixture.Shape) int64 {
	t.Helper()
	server := w.serve(t, shape)
	most := w.weigh(t, server, w.ebb.check)
	sum := shape.Summary()
	w.checkRequests(t, server, shape, sum.Images+sum.Images-sum.Untagged)
	return most
}

// second is that of a check with a cache that knows every manifest.
func (w weigher) second(t *testing.T, shape fixture.Shape) int64 {
	t.Helper()
	server := w.serve(t, shape)
	w.weigh(t, server, w.ebb.again)
	if _, err := server.asked(); err != nil {
		t.Fatal(err)
	}
	most := w.weigh(t, server, w.ebb.again)
	sum := shape.Summary()
	w.checkRequests(t, server, shape, sum.Images-sum.Untagged)
	return most
}

func (w weigher) serve(t *testing.T, shape fixture.Shape) *bucketProcess {
	t.Helper()
	argument, err := order{Made: true, Shape: shape, Now: time.Now()}.argument()
	if err != nil {
		t.Fatal(err)
	}
	cmd := w.child(t.Context(), "serve", argument)
	server, err := startServer(cmd)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.stop() }) // the test's context may have ended it
	return server
}

func (w weigher) weigh(t *testing.T, server *bucketProcess, of bucketCommand) int64 {
	t.Helper()
	ebb, err := of(t.Context(), server.Bucket)
	if err != nil {
		t.Fatal(err)
	}
	cmd := w.child(t.Context(), append([]string{"weigh"}, ebb.Args...)...)
	cmd.Env = append(ebb.Env, "GOGC=", "GOMEMLIMIT=") // with either Ebb leaves its memory to whom it is set by
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	most, err := strconv.ParseInt(strings.TrimSpace(string(out)), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s: %d MiB", strings.Join(ebb.Args[1:], " "), most>>20)
	return most
}

// checkRequests asks for little more than a request for each page of the listing and for each file that must be read.
func (w weigher) checkRequests(t *testing.T, server *bucketProcess, shape fixture.Shape, files int) {
	t.Helper()
	asked, err := server.asked()
	if err != nil {
		t.Fatal(err)
	}
	const page = 1000
	pages := (shape.Summary().Files + page - 1) / page
	within := func(what string, got, want int) {
		if float64(got) > mostOver*float64(want) || got < want {
			t.Errorf("%d requests %s, want %d or little more: %v", got, what, want, asked.Counts)
		}
	}
	within("to list", asked.Counts[objects.List], pages)
	within("in all", asked.total(), pages+files)
}
