package descriptorcache_test

import (
	"context"
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

var (
	sha256 = "sha256:" + strings.Repeat("ab", 32)
	sha512 = "sha512:" + strings.Repeat("cd", 64)
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

// own are keys as registries write them.
var own = map[string]string{
	"blobs::" + sha256:                                  "hash",
	"blobs::" + sha512:                                  "hash",
	"repository::web::blobs":                            "set",
	"repository::apps/web-1/x__y.z::blobs":              "set",
	"repository::host.example:5000/a::blobs":            "set",
	"repository::apps/web::blobs::" + sha256:            "hash",
	"repository::host.example:5000/a::blobs::" + sha512: "hash",
}

// foreign are keys of others that look like a registry's, each with the reason
// why it is none.
var foreign = []struct{ key, kind, reason string }{
	{"session:1", "string", "nothing alike"},
	{"blobs", "hash", "no digest"},
	{"blobs::", "hash", "no digest"},
	{"blobs::notadigest", "hash", "no digest"},
	{"blobs::" + sha256[:len(sha256)-1], "hash", "a digest cut short"},
	{"blobs::" + sha256 + "0", "hash", "a digest too long"},
	{"blobs::" + sha256 + "\n", "hash", "something behind a digest"},
	{"blobs::" + strings.ToUpper(sha256), "hash", "a digest in capitals"},
	{"blobs::md5:" + strings.Repeat("ab", 16), "hash", "an unknown hash"},
	{"Blobs::" + sha256, "hash", "other letters"},
	{"app:blobs::" + sha256, "hash", "something before it"},
	{"blobs::sha256:" + strings.Repeat("12", 32), "string", "another type"},
	{"blobs::sha256:" + strings.Repeat("34", 32), "set", "another type"},
	{"repository::x::blobsX", "set", "another end"},
	{"repository::x::blobs", "hash", "another type"},
	{"repository::y::blobs", "zset", "another type"},
	{"repository::::blobs", "set", "no name"},
	{"repository::Web::blobs", "set", "no registry takes capitals"},
	{"repository::a//b::blobs", "set", "no name of a repository"},
	{"repository::a::b::blobs", "set", "no name of a repository"},
	{"repository::web", "set", "no end"},
	{"repository::web::blobs::notadigest", "hash", "no digest"},
	{"repository::web::blobs::" + sha256 + "::x", "hash", "something behind it"},
	{"repository::web::blobs::sha256:" + strings.Repeat("56", 32), "list", "another type"},
	{"repository::web::blobs::blobs::" + sha256, "hash", "no name of a repository"},
	{"repository::" + strings.Repeat("a", 256) + "::blobs", "set", "a name too long"},
	{"myrepository::web::blobs", "set", "something before it"},
	{"uploads::web", "hash", "registries keep no uploads in Redis"},
}

func add(t *testing.T, c goredis.Cmdable, key, kind string) {
	t.Helper()
	var err error
	switch kind {
	case "string":
		err = c.Set(t.Context(), key, "v", 0).Err()
	case "hash":
		err = c.HSet(t.Context(), key, "digest", "v").Err()
	case "set":
		err = c.SAdd(t.Context(), key, "v").Err()
	case "zset":
		err = c.ZAdd(t.Context(), key, goredis.Z{Member: "v"}).Err()
	case "list":
		err = c.LPush(t.Context(), key, "v").Err()
	}
	if err != nil {
		t.Fatal(err)
	}
}

func addOwn(t *testing.T, c goredis.Cmdable) int64 {
	t.Helper()
	for key, kind := range own {
		add(t, c, key, kind)
	}
	return int64(len(own))
}

func addForeign(t *testing.T, c goredis.Cmdable) []string {
	t.Helper()
	var added []string
	for _, f := range foreign {
		add(t, c, f.key, f.kind)
		added = append(added, f.key)
	}
	slices.Sort(added)
	return added
}

func TestNamesAndTypes(t *testing.T) {
	s := redis.Start(t)
	want := addForeign(t, s.Client)
	n := addOwn(t, s.Client)
	for _, count := range []int64{n, 0} { // the second time there is nothing left
		removed, err := descriptorcache.Flush(t.Context(), s.URL())
		if err != nil || removed != count {
			t.Errorf("removed %d, %v; want %d", removed, err, count)
		}
	}
	got := keys(t, s.Client)
	for _, f := range foreign {
		if !slices.Contains(got, f.key) {
			t.Errorf("%q (%s) is gone: %s", f.key, f.kind, f.reason)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
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
	removed, err := descriptorcache.Flush(t.Context(), "redis://"+b.Addr)
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

func TestRefusals(t *testing.T) {
	s := redis.Start(t)
	guarded := redis.Start(t, strings.Fields("--requirepass secret --user reader on >secret ~* +@read +info "+
		"--user registry on >secret ~* +info +scan +type +unlink +select")...)
	host, port, err := net.SplitHostPort(s.Addr)
	if err != nil {
		t.Fatal(err)
	}
	replica := redis.Start(t, "--replicaof", host, port)
	admin := goredis.NewClient(&goredis.Options{Addr: guarded.Addr, Password: "secret"})
	defer func() { _ = admin.Close() }()
	n := addOwn(t, admin)

	cases := []struct{ url, want string }{
		{"redis://" + freeAddr(t), "it can not be reached: dial tcp"},
		{"redis://" + guarded.Addr, "it wants a password"},
		{"redis://:secret-x@" + guarded.Addr, "it refuses the user or the password"},
		{"redis://reader:secret-x@" + guarded.Addr, "it refuses the user or the password"},
		{"redis://reader:secret@" + guarded.Addr, "the user is not allowed to do this: it needs INFO, SCAN, TYPE and UNLINK"},
		{"redis://" + replica.Addr, "it is a replica, which takes no writes"},
		{"redis://" + s.Addr + "/99", "it answers ERR DB index is out of range"},
		{"secret", "want redis://host:port/db"},
		{"", "want redis://host:port/db"},
		{"redis://", "want redis://host:port/db"},
		{"redis:///0", "want redis://host:port/db"},
		{"http://:secret@h", "want redis://host:port/db"},
		{"redis://:secret%@h", "want redis://host:port/db"},
		{"redis://:secret@h/a", "want redis://host:port/db"},
	}
	for _, c := range cases {
		removed, err := descriptorcache.Flush(t.Context(), c.url)
		if err == nil || removed != 0 {
			t.Errorf("%s: removed %d, %v; want %q", c.url, removed, err, c.want)
			continue
		}
		if said := err.Error(); !strings.Contains(said, c.want) || strings.Contains(said, "secret") || strings.Contains(said, "\n") {
			t.Errorf("%s: error %q, want %q in one line and no secret", c.url, said, c.want)
		}
	}
	if got := int64(len(keys(t, admin))); got != n {
		t.Errorf("%d keys are left, want all %d", got, n)
	}
	// The rights that the sentence names are enough.
	if removed, err := descriptorcache.Flush(t.Context(), "redis://registry:secret@"+guarded.Addr+"/0"); err != nil || removed != n {
		t.Errorf("removed %d, %v; want %d", removed, err, n)
	}
}

func TestSentinel(t *testing.T) {
	s := redis.Start(t)
	config := filepath.Join(t.TempDir(), "sentinel.conf")
	host, port, err := net.SplitHostPort(s.Addr)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(config, []byte("sentinel monitor main "+host+" "+port+" 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	sentinel := redis.Sentinel(t, config)
	if _, err := descriptorcache.Flush(t.Context(), sentinel.URL()); err == nil || !strings.Contains(err.Error(), "it is a sentinel, which holds no keys") {
		t.Errorf("error %v, want one that says sentinel", err)
	}
}

// Servers and proxies that speak Redis and are something else.
func TestStrangers(t *testing.T) {
	for _, c := range []struct{ reason, auth, info, want string }{
		{"a server that repeats the password", "-ERR unknown command 'AUTH', with args: 'secret'\r\n", "", "it answers ERR unknown command 'AUTH', with args: '(password)'"},
		{"a proxy that does not say what is behind it", "+OK\r\n", "$13\r\nrole:master\r\n\r\n", "it does not say that it is a single server or a cluster"},
		{"a server that starts", "+OK\r\n", "-LOADING Redis is loading the dataset in memory\r\n", "it is still starting"},
	} {
		_, err := descriptorcache.Flush(t.Context(), "redis://:secret@"+fake(t, c.auth, c.info))
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v, want %q", c.reason, err, c.want)
		}
	}
}

// fake answers auth to AUTH, info to INFO, and knows no HELLO.
func fake(t *testing.T, auth, info string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = conn.Close() }()
				buffer := make([]byte, 4096)
				for {
					n, err := conn.Read(buffer)
					if err != nil {
						return
					}
					answer := "-ERR unknown command 'HELLO'\r\n"
					switch asked := strings.ToLower(string(buffer[:n])); {
					case strings.Contains(asked, "hello"):
					case strings.Contains(asked, "auth"):
						answer = auth
					case strings.Contains(asked, "info"):
						answer = info
					}
					if _, err := conn.Write([]byte(answer)); err != nil {
						return
					}
				}
			}()
		}
	}()
	return listener.Addr().String()
}

func TestSilence(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	_, err = descriptorcache.Flush(ctx, "redis://"+listener.Addr().String())
	if err == nil || !strings.Contains(err.Error(), "it did not answer in time") {
		t.Errorf("a server that says nothing: %v", err)
	}
}

func freeAddr(t *testing.T) string {
	t.Helper()
	return "127.0.0.1:" + freePort(t)
}
