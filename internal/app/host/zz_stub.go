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
	Pins      func(ctx context.Context, seen *engine.Snapshot, remembered *journal.Record) (pin.Set, error)
	Policy    policy.Host
	PlannedAt time.Time
	Clock     func() time.Time
}
type Pass struct {
	Plan     *retention.Plan
	Snapshot *engine.Snapshot
	Pins     pin.Set
	Record   journal.Record
	Forgot   error
}
type RunRequest struct {
	Request
	Approve  func(*Pass) (bool, error)
	Named    retention.Named
	QuietFor time.Duration
}
type Result struct {
	*Pass
	Approved              bool
	Outcome               host.Outcome
	MeasuredFreedBytes    int64
	Measured              bool
	StartedAt, FinishedAt time.Time
}

var (
	ErrNoPins      = errors.New("nothing is pinned")
	ErrStale       = errors.New("stale plan")
	ErrLimit       = errors.New("over a safety limit")
	ErrBusy        = errors.New("busy")
	ErrImplausible = errors.New("implausible")
)

func Check(ctx context.Context, e *docker.Engine, s *state.Dir, r Request) (*Pass, error) { return nil, ErrBusy }
func Run(ctx context.Context, e *docker.Engine, s *state.Dir, r RunRequest) (*Result, error) {
	return nil, ErrBusy
}
