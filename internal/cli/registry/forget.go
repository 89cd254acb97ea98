package registry

import (
	"context"
	"fmt"
	"net"
	"strings"

	"github.com/ebb-io/ebb/internal/cli"
	"github.com/ebb-io/ebb/internal/descriptorcache"
	"github.com/ebb-io/ebb/internal/registryconfig"
	"github.com/ebb-io/ebb/internal/report"
)

// checkRedis wants an address of Redis that the registry's configuration, where
// it is known, does not contradict. Every error is a UsageError.
func (j *job) checkRedis(address string) error {
	if address == "" {
		return nil
	}
	server, db, err := descriptorcache.Target(address)
	if err != nil {
		return cli.Usagef("--flush-redis: %w", err)
	}
	own := j.storage.own
	if own == nil {
		return nil
	}
	if own.Cache.Kind != registryconfig.RedisCache {
		return cli.Usagef("--flush-redis: by its configuration the registry keeps no cache in Redis: leave it out, or set the registry's variables here too")
	}
	theirs, ok := own.Cache.Redis.Server()
	if ok && (!sameServer(server, theirs) || db != own.Cache.Redis.DB) {
		return cli.Usagef("--flush-redis: database %d of %s is not the registry's cache, which by its configuration is in database %d of %s",
			db, server, own.Cache.Redis.DB, theirs)
	}
	return nil
}

// sameServer compares host:port with what a registry's configuration says.
func sameServer(a, b string) bool {
	if _, _, err := net.SplitHostPort(b); err != nil {
		b = net.JoinHostPort(strings.Trim(b, "[]"), "6379")
	}
	return strings.EqualFold(a, b)
}

// forget lets the registry's cache in Redis forget what is gone, where one is
// named, and says what else still remembers it. It is done for work that was
// stopped too: what it deleted is gone.
func (j *job) forget(ctx context.Context, f *writeFlags, up bool) (report.Memory, error) {
	memory := report.Memory{Remedy: j.remedy(up)}
	if f.redis == "" {
		return memory, nil
	}
	j.Note("flushing the registry's cache in Redis")
	var err error
	if memory.Flushed, err = descriptorcache.Flush(context.WithoutCancel(ctx), f.redis); err != nil {
		return memory, fmt.Errorf("%w: %w", errRemembered, err)
	}
	if memory.Flushed > 0 || j.isCache() {
		memory.Remedy = ""
	}
	return memory, nil
}

// isCache tells whether what checkRedis let through is known to be the
// registry's cache, so that nothing to remove in it says that it was empty.
func (j *job) isCache() bool {
	if j.storage.own == nil {
		return false
	}
	_, ok := j.storage.own.Cache.Redis.Server()
	return ok
}

// remedy is what must be done before the registry takes writes again; empty
// where nothing is known to remember anything.
func (j *job) remedy(up bool) string {
	switch own := j.storage.own; {
	case own != nil:
		return own.Cache.Remedy()
	case up:
		return "restart the registry or flush its cache before it takes writes again: it may still answer for blobs that are gone"
	}
	return "before a registry takes writes here again, restart it if it is up, and if it keeps its cache in Redis, flush that (--flush-redis URL)"
}
