package host

import (
	"context"
	"errors"
	"time"

	"github.com/ebb-io/ebb/internal/engine"
	"github.com/ebb-io/ebb/internal/execute/host"
	"github.com/ebb-io/ebb/internal/journal"
	"github.com/ebb-io/ebb/internal/pin"
	"github.com/ebb-io/ebb/internal/policy"
	"github.com/ebb-io/ebb/internal/retention"
	"github.com/ebb-io/ebb/internal/store/docker"
	"github.com/ebb-io/ebb/internal/store/state"
)

type Request struct {
	Pins      func(context.Context, *engine.Snapshot, journal.Record) (pin.Set, error)
	Policy    policy.Host
	QuietFor  time.Duration
	Clock     func() time.Time
	PlannedAt time.Time
}
type Pass struct {
	Plan     *retention.Plan
	Snapshot *engine.Snapshot
	Record   journal.Record
	Pins     pin.Set
	Warnings []string
}
type RunRequest struct {
	Request
	Approve func(*Pass) (bool, error)
	Named   retention.Named
}
type Result struct {
	*Pass
	Approved              bool
	Outcome               host.Outcome
	MeasuredFreedBytes    int64
	Measured              bool
	StartedAt, FinishedAt time.Time
}

var ErrBusy, ErrStale, ErrLimit, ErrNoPins, ErrIncomplete = errors.New("busy"), errors.New("stale"), errors.New("limit"), errors.New("no pins"), errors.New("incomplete")

func Check(ctx context.Context, e *docker.Engine, s *state.Dir, r Request) (*Pass, error) { return nil, nil }
func Run(ctx context.Context, e *docker.Engine, s *state.Dir, r RunRequest) (*Result, error) {
	return nil, nil
}

type WatchRequest struct {
	Every, RetryEvery time.Duration
	Retries           int
	Pass              func(context.Context) error
}

func Watch(ctx context.Context, r WatchRequest) error { return nil }
