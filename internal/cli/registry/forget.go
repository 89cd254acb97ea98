package registry

import (
	"context"
	"fmt"

	app "github.com/ebb-io/ebb/internal/app/registry"
	"github.com/ebb-io/ebb/internal/descriptorcache"
	"github.com/ebb-io/ebb/internal/registryconfig"
	"github.com/ebb-io/ebb/internal/report"
)

// forget lets the registry's cache in Redis forget what is gone, where one is
// named, and says what else still remembers it. It is done for a run that was
// stopped too: what it deleted is gone.
func (r *run) forget(ctx context.Context, result *app.Result) (report.Memory, error) {
	remedy := r.remedy(result)
	if r.flags.redis == "" || !result.Approved {
		return report.Memory{Remedy: remedy}, nil
	}
	n, err := descriptorcache.Flush(context.WithoutCancel(ctx), r.flags.redis)
	if err != nil {
		return report.Memory{Flushed: n, Remedy: remedy}, fmt.Errorf("%w: %w", errFailed, err)
	}
	return report.Memory{Flushed: n}, nil
}

// remedy is what must be done before the registry takes writes again; empty
// where nothing is known to remember anything.
func (r *run) remedy(result *app.Result) string {
	const memory = "restart the registry or flush its cache before it takes writes again: it may still answer for blobs that are gone"
	switch own := r.storage.own; {
	case own == nil && result.Guarded:
		return memory
	case own == nil, own.Cache.Kind == registryconfig.MemoryCache && !result.Guarded:
		return "" // a registry that starts remembers nothing
	default:
		return own.Cache.Remedy()
	}
}
