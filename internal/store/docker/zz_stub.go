package docker

import (
	"context"

	"github.com/ebb-io/ebb/internal/engine"
)

type Options struct{ Host, Context string }
type Engine struct{}

func Open(ctx context.Context, o Options) (*Engine, error)                   { return &Engine{}, nil }
func (e *Engine) Close() error                                               { return nil }
func (e *Engine) Snapshot(ctx context.Context) (*engine.Snapshot, error)     { return &engine.Snapshot{}, nil }
