package registry

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/ebb-io/ebb/internal/cli"
	"github.com/ebb-io/ebb/internal/report"
	"github.com/ebb-io/ebb/internal/store/registry"
)

// progress is what a store has done so far, and how much it is about to delete.
type progress struct {
	registry.Progress
	toDelete atomic.Int64 // items; zero while nothing is decided
}

// show shows it until it is stopped.
func (p *progress) show(a *cli.App) *cli.Progress { return a.Progress(p.line) }

// line tells the phase by what was counted last.
func (p *progress) line(elapsed time.Duration) string {
	number := report.Number
	blobs, repositories := p.Blobs.Load(), p.Repositories.Load()
	manifests, toRead := p.Manifests.Load(), p.ToRead.Load()
	switch deleted, hashed := p.Deleted.Load(), p.Bytes.Load(); {
	case deleted > 0:
		return fmt.Sprintf("deleting: %s of %s items, %s/s", number(deleted), number(p.toDelete.Load()), number(cli.Rate(deleted, elapsed)))
	case hashed > 0:
		return fmt.Sprintf("hashing: %s, %s/s", report.Size(hashed), report.Size(cli.Rate(hashed, elapsed)))
	case toRead > 0:
		return fmt.Sprintf("reading manifests: %s of %s, %s/s; %s repositories", number(manifests), number(toRead),
			number(cli.Rate(manifests, elapsed)), number(repositories))
	case repositories > 0:
		return fmt.Sprintf("listing repositories: %s (%s blobs)", number(repositories), number(blobs))
	}
	return fmt.Sprintf("listing blobs: %s, %s/s", number(blobs), number(cli.Rate(blobs, elapsed)))
}
