package descriptorcache_test

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/v1/random"
	goredis "github.com/redis/go-redis/v9"

	"github.com/ebb-io/ebb/internal/demo/server"
	"github.com/ebb-io/ebb/internal/demo/server/client"
	"github.com/ebb-io/ebb/internal/descriptorcache"
	"github.com/ebb-io/ebb/internal/testkit/redis"
)

// A registry that remembers blobs in Redis answers for one that is gone, even
// when it is started anew, until its cache is flushed.
func TestStaleRegistry(t *testing.T) {
	cache, dir := redis.Start(t), t.TempDir()
	first := serve(t, dir, cache.Addr)
	image, err := random.Image(512, 2)
	if err != nil {
		t.Fatal(err)
	}
	host := client.Client{Host: first.Addr()}
	if _, err := host.PushImage(t.Context(), "apps/web", "v1", image); err != nil {
		t.Fatal(err)
	}
	layers, err := image.Layers()
	if err != nil {
		t.Fatal(err)
	}
	layer, err := layers[0].Digest()
	if err != nil {
		t.Fatal(err)
	}
	blob := "/v2/apps/web/blobs/" + layer.String()
	if got := head(t, first.URL()+blob); got != http.StatusOK {
		t.Fatalf("the registry does not have what was pushed: status %d", got)
	}
	written := keys(t, cache.Client)
	foreign := addForeign(t, cache.Client)

	for _, place := range []string{"blobs/sha256/" + layer.Hex[:2] + "/" + layer.Hex, "repositories/apps/web/_layers/sha256/" + layer.Hex} {
		if err := os.RemoveAll(filepath.Join(dir, "docker/registry/v2", place)); err != nil {
			t.Fatal(err)
		}
	}
	second := serve(t, dir, cache.Addr)
	if got := head(t, second.URL()+blob); got != http.StatusOK {
		t.Fatalf("a registry with a stale cache: status %d, want 200, or there is nothing to flush", got)
	}

	removed, err := descriptorcache.Flush(t.Context(), cache.URL())
	if err != nil {
		t.Fatal(err)
	}
	if removed != int64(len(written)) {
		t.Errorf("removed %d keys, want the registry's %d: %q", removed, len(written), written)
	}
	if got := head(t, second.URL()+blob); got != http.StatusNotFound {
		t.Errorf("after the flush: status %d, want 404", got)
	}
	if diff := cmp.Diff(foreign, keys(t, cache.Client)); diff != "" {
		t.Errorf("keys of others: -before +after\n%s", diff)
	}
}

func serve(t *testing.T, dir, cache string) *server.Server {
	t.Helper()
	s, err := server.Start(t.Context(), dir, server.Options{Redis: cache})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func head(t *testing.T, url string) int {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodHead, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	return response.StatusCode
}

func keys(t *testing.T, c goredis.Cmdable) []string {
	t.Helper()
	all, err := c.Keys(t.Context(), "*").Result()
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(all)
	return all
}

func TestOneDatabase(t *testing.T) {
	s := redis.Start(t)
	other := goredis.NewClient(&goredis.Options{Addr: s.Addr, DB: 3})
	defer func() { _ = other.Close() }()
	addOwn(t, s.Client)
	n := addOwn(t, other)
	removed, err := descriptorcache.Flush(t.Context(), "redis://"+s.Addr+"/3")
	if err != nil || removed != n {
		t.Errorf("removed %d, %v; want %d", removed, err, n)
	}
	if got := len(keys(t, s.Client)); got != len(own) {
		t.Errorf("database 0 has %d keys, want all %d", got, len(own))
	}
}

// More keys than a server shows in one step.
func TestMany(t *testing.T) {
	s := redis.Start(t)
	pipe := s.Client.Pipeline()
	const n = 12345
	for i := range n {
		pipe.HSet(t.Context(), fmt.Sprintf("blobs::sha256:%064x", i), "size", i)
		pipe.Set(t.Context(), fmt.Sprintf("blobs::%d", i), i, 0)
	}
	if _, err := pipe.Exec(t.Context()); err != nil {
		t.Fatal(err)
	}
	removed, err := descriptorcache.Flush(t.Context(), s.URL())
	if err != nil || removed != n {
		t.Errorf("removed %d, %v; want %d", removed, err, n)
	}
	if left := s.Client.DBSize(t.Context()).Val(); left != n {
		t.Errorf("%d keys are left, want the %d of others", left, n)
	}
}

func TestCluster(t *testing.T) {
	a, b := redis.Start(t, "--cluster-enabled", "yes", "--cluster-port", freePort(t)), redis.Start(t, "--cluster-enabled", "yes", "--cluster-port", freePort(t))
	join(t, a, b)
	cluster := goredis.NewClusterClient(&goredis.ClusterOptions{Addrs: []string{a.Addr}})
	defer func() { _ = cluster.Close() }()
	want := addForeign(t, cluster)
	n := addOwn(t, cluster)
	for i := range 100 {
		add(t, cluster, fmt.Sprintf("blobs::sha256:%064x", i), "hash")
	}
	if len(keys(t, a.Client)) == 0 || len(keys(t, b.Client)) == 0 {
		t.Fatal("one of the nodes holds no key")
	}
	// The rights that a refusal names are enough.
	for _, node := range []redis.Server{a, b} {
		if err := node.Client.Do(t.Context(), "ACL", "SETUSER", "registry", "on", ">secret", "~*", "+info", "+scan", "+type", "+unlink", "+cluster").Err(); err != nil {
			t.Fatal(err)
		}
	}
	removed, err := descriptorcache.Flush(t.Context(), "redis://registry:secret@"+b.Addr)
	if err != nil || removed != n+100 {
		t.Errorf("removed %d, %v; want %d", removed, err, n+100)
	}
	got := append(keys(t, a.Client), keys(t, b.Client)...)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// join makes two nodes a cluster and waits until both say so.
func join(t *testing.T, a, b redis.Server) {
	t.Helper()
	ctx := t.Context()
	_, port, err := net.SplitHostPort(b.Addr)
	if err != nil {
		t.Fatal(err)
	}
	bus := b.Client.ConfigGet(ctx, "cluster-port").Val()["cluster-port"]
	for _, err := range []error{
		a.Client.ClusterAddSlotsRange(ctx, 0, 8191).Err(),
		b.Client.ClusterAddSlotsRange(ctx, 8192, 16383).Err(),
		a.Client.Do(ctx, "CLUSTER", "MEET", "127.0.0.1", port, bus).Err(),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for range 1000 {
		ready := 0
		for _, node := range []redis.Server{a, b} {
			if info := node.Client.ClusterInfo(ctx).Val(); strings.Contains(info, "cluster_state:ok") && strings.Contains(info, "cluster_slots_ok:16384") {
				ready++
			}
		}
		if ready == 2 {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatal("the nodes do not become a cluster")
}

func freePort(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}
