package registry

import (
	"fmt"
	"time"

	"github.com/ebb-io/ebb/internal/cli"
	"github.com/ebb-io/ebb/internal/report"
	"github.com/ebb-io/ebb/internal/store/registry"
)

// progress is how far a store is, as a line for people.
type progress struct {
	registry.Progress
	stage registry.Stage
	since time.Duration // when the stage was seen first
}

// show shows it until it is stopped.
func (p *progress) show(a *cli.App) *cli.Progress { return a.Progress(p.line) }

// line tells what is done, how fast, and where that is known how long the rest
// will take. It is called by one goroutine.
func (p *progress) line(elapsed time.Duration) string {
	look := p.Look()
	if look.Stage != p.stage || elapsed < p.since {
		p.stage, p.since = look.Stage, elapsed
	}
	inStage := elapsed - p.since
	number := report.Number
	rate := number(cli.Rate(look.Done, inStage)) + "/s"
	of := number(look.Done) + " of " + number(look.Total)
	switch look.Stage {
	case registry.Tags:
		return fmt.Sprintf("reading tags: %s, %s%s", of, rate, left(look, inStage))
	case registry.Manifests:
		return fmt.Sprintf("reading manifests: %s, %s%s%s", of, rate, left(look, inStage), fromCache(look.Cached))
	case registry.Links:
		return fmt.Sprintf("verifying links: %s, %s%s", of, rate, left(look, inStage))
	case registry.Hashing:
		return fmt.Sprintf("hashing: %s of %s, %s/s%s", report.Size(look.Done), report.Size(look.Total),
			report.Size(cli.Rate(look.Done, inStage)), left(look, inStage))
	case registry.Deleting:
		return fmt.Sprintf("deleting: %s items, %s%s", of, rate, left(look, inStage))
	}
	return fmt.Sprintf("listing: %s objects, %s; %s of blobs, %s repositories", number(look.Done), rate,
		report.Size(look.Bytes), number(look.Repositories))
}

func fromCache(n int64) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(" (%s from the cache)", report.Number(n))
}

// left is how long the rest of the stage takes at its pace; nothing while that
// says nothing yet.
func left(look registry.Look, elapsed time.Duration) string {
	if look.Done == 0 || look.Total <= look.Done || elapsed < time.Second {
		return ""
	}
	rest := time.Duration(float64(elapsed) * float64(look.Total-look.Done) / float64(look.Done))
	return ", " + rest.Round(time.Second).String() + " left"
}
