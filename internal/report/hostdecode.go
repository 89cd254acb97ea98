package report

import (
	"fmt"
	"time"

	"github.com/ebb-io/ebb/internal/image"
	"github.com/ebb-io/ebb/internal/retention"
)

// StoredHost is a plan for a Docker host that was read back.
type StoredHost struct {
	PlannedAt time.Time
	Options   HostOptions
	Store     HostStore
	Named     retention.Named // all that it deletes
}

// ReadHostPlan reads a plan for a Docker host that was stored as JSON or YAML,
// as strictly as ReadPlan. Check is the command that writes one.
func ReadHostPlan(data []byte, check string) (*StoredHost, error) {
	data, err := asJSON(data, check)
	if err != nil {
		return nil, err
	}
	if err := checkKind(data, check); err != nil {
		return nil, err
	}
	var p HostPlan
	if err := decodeOne(data, &p, true); err != nil {
		return nil, err
	}
	if err := p.complete(check); err != nil {
		return nil, err
	}
	named, err := p.named()
	if err != nil {
		return nil, err
	}
	return &StoredHost{PlannedAt: p.PlannedAt.Time, Options: p.Options, Store: p.Store, Named: named}, nil
}

// complete doubts a document from which a part is missing.
func (p *HostPlan) complete(check string) error {
	for _, part := range []struct {
		name    string
		missing bool
	}{
		{"plannedAt", p.PlannedAt.IsZero()},
		{"options.pin", p.Options.Pin == nil},
		{"options.pinsFrom", p.Options.PinsFrom == nil},
		{"options.compose", p.Options.Compose == nil},
		{"options.keep", p.Options.Keep == nil},
		{"store.engine", p.Store.Engine == ""},
		{"store.imageStore", p.Store.ImageStore == ""},
		{"decisions", p.Decisions == nil},
	} {
		if part.missing {
			return fmt.Errorf("it has no %s: write it anew with %s", part.name, check)
		}
	}
	return nil
}

// named is what the plan deletes. An image that stands in it twice, or that it
// deletes without having named its names, is no plan's.
func (p *HostPlan) named() (retention.Named, error) {
	named, seen := retention.Named{}, map[image.Digest]bool{}
	for _, d := range p.Decisions {
		id, err := image.ParseDigest(d.ID)
		switch {
		case err != nil:
			return nil, fmt.Errorf("decision on %q: %w", d.ID, err)
		case seen[id]:
			return nil, fmt.Errorf("image %s stands in it twice", id)
		case d.Names == nil:
			return nil, fmt.Errorf("image %s has no names: an empty list says that it has none", id)
		}
		seen[id] = true
		switch d.Decision {
		case Delete:
			named[id] = d.Names
		case Keep:
		default:
			return nil, fmt.Errorf("decision %q of %s is neither %s nor %s", d.Decision, id, Keep, Delete)
		}
	}
	return named, nil
}
