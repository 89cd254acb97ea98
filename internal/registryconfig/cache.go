package registryconfig

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// CacheKind is where a registry remembers which blobs there are.
type CacheKind string

// The kinds of storage.cache.blobdescriptor (layerinfo in older files).
const (
	NoCache     CacheKind = ""
	MemoryCache CacheKind = "inmemory"
	RedisCache  CacheKind = "redis"
)

// Cache is the registry's memory of blobs. After a deletion it still answers
// for what is gone, until it is emptied.
type Cache struct {
	Kind  CacheKind
	Redis Redis // where Kind is RedisCache
}

// Redis is the server that a registry keeps its cache in, without credentials.
type Redis struct {
	Addrs      []string // host:port; several: a cluster's nodes, or sentinels where MasterName is set
	DB         int      // a cluster has none
	MasterName string
	TLS        bool
}

// Cluster tells whether the registry takes the addresses for a cluster's.
func (r Redis) Cluster() bool { return len(r.Addrs) > 1 && r.MasterName == "" }

// Server is the host:port of the one server there is; false for a cluster, and
// behind sentinels, which alone know it.
func (r Redis) Server() (string, bool) {
	if r.MasterName != "" || len(r.Addrs) != 1 {
		return "", false
	}
	return r.Addrs[0], true
}

// URL is the server's address without credentials, or any node of a cluster.
// It is empty behind sentinels, which alone know the server.
func (r Redis) URL() string {
	if r.MasterName != "" || len(r.Addrs) == 0 {
		return ""
	}
	u := url.URL{Scheme: "redis", Host: r.Addrs[0]}
	if r.TLS {
		u.Scheme = "rediss"
	}
	if r.DB != 0 && !r.Cluster() {
		u.Path = fmt.Sprintf("/%d", r.DB)
	}
	return u.String()
}

// Remedy says what makes the registry forget what was deleted; it is empty
// where the registry remembers nothing.
func (c Cache) Remedy() string {
	switch {
	case c.Kind == MemoryCache:
		return "restart the registry: it remembers in its memory which blobs there are"
	case c.Kind != RedisCache:
		return ""
	case c.Redis.MasterName != "":
		return fmt.Sprintf("flush the registry's cache in the Redis server that the sentinels at %s call %s: "+
			"a restart of the registry does not empty it", strings.Join(c.Redis.Addrs, ", "), c.Redis.MasterName)
	}
	return fmt.Sprintf("flush the registry's cache in Redis at %s: a restart of the registry does not empty it", c.Redis.URL())
}

func (f *file) cache() (Cache, error) {
	section := f.Storage["cache"]
	kind, ok := section["blobdescriptor"]
	if !ok {
		kind = section["layerinfo"]
	}
	switch kind {
	case nil, "":
		return Cache{}, nil
	case string(MemoryCache):
		return Cache{Kind: MemoryCache}, nil
	case string(RedisCache):
		redis := f.Redis.read()
		if len(redis.Addrs) == 0 {
			return Cache{}, errors.New("storage.cache.blobdescriptor is redis, and there is no address under redis: " +
				"the registry does not start without redis.addrs (v3) or redis.addr (v2)")
		}
		return Cache{Kind: RedisCache, Redis: redis}, nil
	}
	f.warnings = append(f.warnings, fmt.Sprintf("storage.cache.blobdescriptor %q is neither inmemory nor redis: the registry does without a cache", fmt.Sprint(kind)))
	return Cache{}, nil
}

// read takes v3's addresses and, where there are none, v2's.
func (s redisSection) read() Redis {
	addrs := s.Addrs
	if len(addrs) == 0 && s.Addr != "" {
		addrs = []string{s.Addr}
	}
	return Redis{
		Addrs:      addrs,
		DB:         s.DB,
		MasterName: s.MasterName,
		TLS:        s.TLS.Certificate != "" || s.TLS.Key != "" || len(s.TLS.RootCAs) > 0,
	}
}
