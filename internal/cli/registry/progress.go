package registry

import (
	"fmt"
	"time"

	"github.com/ebb-io/ebb/internal/cli"
	"github.com/ebb-io/ebb/internal/report"
	"github.com/ebb-io/ebb/internal/store/registry"
)

// progress is how far a store is, as a line for people.
type progress struct{ registry.Progress }

// show shows it until it is stopped.
func (p *progress) show(a *cli.App) *cli.Progress {
	return a.Progress(func() string { return line(p.Look()) })
}

// line tells what is done, how fast, and where that is known how long the rest
// of the stage will take.
func line(look registry.Look) string {
	number := report.Number
	rate := number(cli.Rate(look.Done, look.Elapsed)) + "/s"
	of := number(look.Done) + " of " + number(look.Total)
	switch look.Stage {
	case registry.Tags:
		return fmt.Sprintf("reading tags: %s, %s%s", of, rate, left(look))
	case registry.Manifests:
		return fmt.Sprintf("reading manifests: %s, %s%s%s", of, rate, left(look), fromCache(look.Cached))
	case registry.Links:
		return fmt.Sprintf("verifying links: %s, %s%s", of, rate, left(look))
	case registry.Hashing:
		return fmt.Sprintf("hashing: %s of %s, %s/s%s", report.Size(look.Done), report.Size(look.Total),
			report.Size(cli.Rate(look.Done, look.Elapsed)), left(look))
	case registry.Deleting:
		return fmt.Sprintf("deleting: %s items, %s%s", of, rate, left(look))
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
func left(look registry.Look) string {
	if look.Done == 0 || look.Total <= look.Done || look.Elapsed < time.Second {
		return ""
	}
	rest := time.Duration(float64(look.Elapsed) * float64(look.Total-look.Done) / float64(look.Done))
	return ", " + rest.Round(time.Second).String() + " left"
}
