package registry

import (
	"strings"
	"testing"

	"github.com/ebb-io/ebb/internal/cli"
	"github.com/ebb-io/ebb/internal/registryconfig"
	"github.com/ebb-io/ebb/internal/testkit/redis"
)

// jobOf is a job on a storage whose registry has this cache; nil: not known.
func jobOf(cache *registryconfig.Cache) *job {
	j := &job{App: &cli.App{}}
	j.Common.Quiet = true
	if cache != nil {
		j.storage.own = &registryconfig.Config{Cache: *cache}
	}
	return j
}

func inRedis(r registryconfig.Redis) *registryconfig.Cache {
	return &registryconfig.Cache{Kind: registryconfig.RedisCache, Redis: r}
}

// A flush of what is not the registry's cache would look like one that helped.
func TestFlushOfAnotherCache(t *testing.T) {
	one := inRedis(registryconfig.Redis{Addrs: []string{"prod:6379"}, DB: 1})
	for _, test := range []struct {
		reason  string
		cache   *registryconfig.Cache
		address string
		refused string // a part of the error; empty: none
	}{
		{"nothing is known", nil, "redis://127.0.0.1:16499", ""},
		{"no flush is asked for", &registryconfig.Cache{}, "", ""},
		{"there is no cache", &registryconfig.Cache{}, "redis://prod:6379", "keeps no cache in Redis"},
		{"the cache is in memory", &registryconfig.Cache{Kind: registryconfig.MemoryCache}, "redis://prod:6379", "keeps no cache in Redis"},
		{"the very same", one, "redis://user:hunter2@prod:6379/1", ""},
		{"with the default port", one, "rediss://prod/1", ""},
		{"whose case is another", one, "redis://PROD/1", ""},
		{"another host", one, "redis://user:hunter2@127.0.0.1:16499/1", "database 1 of 127.0.0.1:16499 is not the registry's cache"},
		{"another port", one, "redis://prod:6380/1", "database 1 of prod:6380 is not"},
		{"another database", one, "redis://prod", "database 0 of prod:6379 is not"},
		{"the file leaves the port out", inRedis(registryconfig.Redis{Addrs: []string{"prod"}}), "redis://prod:6379", ""},
		{"any node of a cluster", inRedis(registryconfig.Redis{Addrs: []string{"a:1", "b:1"}}), "redis://c:1", ""},
		{"what sentinels watch over", inRedis(registryconfig.Redis{Addrs: []string{"a:1"}, MasterName: "m"}), "redis://c:1", ""},
	} {
		err := jobOf(test.cache).checkRedis(test.address)
		if (err != nil) != (test.refused != "") || err != nil && (!strings.Contains(err.Error(), test.refused) || strings.Contains(err.Error(), "hunter2")) {
			t.Errorf("%s: %v, want %q", test.reason, err, test.refused)
		}
	}
}

// A flush answers for a cache in Redis, and only where it was the registry's.
func TestFlushAnswersRemedy(t *testing.T) {
	s := redis.Start(t)
	for _, test := range []struct {
		reason string
		cache  *registryconfig.Cache
		up     bool
		keys   int64
		remedy string
	}{
		{"the registry's cache", inRedis(registryconfig.Redis{Addrs: []string{s.Addr}}), true, 1, ""},
		{"the registry's cache, which was empty", inRedis(registryconfig.Redis{Addrs: []string{s.Addr}}), true, 0, ""},
		{"nothing is known, and it was a registry's", nil, true, 1, ""},
		{"nothing is known, and it was nobody's", nil, true, 0, "restart the registry or flush its cache"},
		{"behind sentinels it was nobody's", inRedis(registryconfig.Redis{Addrs: []string{"a:1"}, MasterName: "m"}), false, 0, "flush the registry's cache"},
	} {
		if test.keys > 0 {
			if err := s.Client.SAdd(t.Context(), "repository::a::blobs", "sha256:"+strings.Repeat("0", 64)).Err(); err != nil {
				t.Fatal(err)
			}
		}
		memory, err := jobOf(test.cache).forget(t.Context(), &writeFlags{redis: s.URL()}, test.up)
		if err != nil || memory.Flushed != test.keys || (test.remedy == "") != (memory.Remedy == "") || !strings.Contains(memory.Remedy, test.remedy) {
			t.Errorf("%s: %+v, %v; want %d keys and %q", test.reason, memory, err, test.keys, test.remedy)
		}
	}
}
