package descriptorcache_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	goredis "github.com/redis/go-redis/v9"

	"github.com/ebb-io/ebb/internal/descriptorcache"
	"github.com/ebb-io/ebb/internal/testkit/redis"
)

var (
	sha256 = "sha256:" + strings.Repeat("ab", 32)
	sha512 = "sha512:" + strings.Repeat("cd", 64)
)

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
