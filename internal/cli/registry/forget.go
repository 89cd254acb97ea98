package registry

import (
	"context"
	"fmt"

	"github.com/ebb-io/ebb/internal/cli"
	"github.com/ebb-io/ebb/internal/descriptorcache"
	"github.com/ebb-io/ebb/internal/registryconfig"
	"github.com/ebb-io/ebb/internal/report"
)

func checkRedis(address string) error {
	if address == "" {
		return nil
	}
	if err := descriptorcache.Check(address); err != nil {
		return cli.Usagef("--flush-redis: %w", err)
	}
	return nil
}

// forget lets the registry's cache in Redis forget what is gone, where one is
// named, and says what else still remembers it. It is done for work that was
// stopped too: what it deleted is gone.
func (j *job) forget(ctx context.Context, f *writeFlags, up bool) (report.Memory, error) {
	remedy := j.remedy(up)
	if f.redis == "" {
		return report.Memory{Remedy: remedy}, nil
	}
	n, err := descriptorcache.Flush(context.WithoutCancel(ctx), f.redis)
	if err != nil {
		return report.Memory{Flushed: n, Remedy: remedy}, fmt.Errorf("%w: %w", errRemembered, err)
	}
	return report.Memory{Flushed: n}, nil
}

// remedy is what must be done before the registry takes writes again; empty
// where nothing is known to remember anything. A registry that was up remembers
// in its memory what it likes.
func (j *job) remedy(up bool) string {
	const memory = "restart the registry or flush its cache before it takes writes again: it may still answer for blobs that are gone"
	switch own := j.storage.own; {
	case own == nil && up:
		return memory
	case own == nil, own.Cache.Kind == registryconfig.MemoryCache && !up:
		return "" // a registry that starts remembers nothing
	default:
		return own.Cache.Remedy()
	}
}
