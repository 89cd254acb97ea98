package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/ebb-io/ebb/internal/image"
	"github.com/ebb-io/ebb/internal/inventory"
	"github.com/ebb-io/ebb/internal/plan"
)

// Stored is a plan that was read back.
type Stored struct {
	PlannedAt time.Time
	Options   Options
	Store     Store
	Named     plan.Named // all that it deletes
}

// checkCommand writes a plan of a registry.
const checkCommand = "ebb registry check -o json"

// ReadPlan reads a plan that was stored as JSON or YAML. It is strict: a field
// that is unknown, or of another kind of document, is an error, and so is a
// document without its lists.
func ReadPlan(data []byte) (*Stored, error) {
	data, err := asJSON(data, checkCommand)
	if err != nil {
		return nil, err
	}
	if err := checkKind(data, checkCommand); err != nil {
		return nil, err
	}
	var p Plan
	if err := decodeOne(data, &p, true); err != nil {
		return nil, err
	}
	if err := p.complete(); err != nil {
		return nil, err
	}
	named, err := p.named()
	if err != nil {
		return nil, err
	}
	return &Stored{PlannedAt: p.PlannedAt.Time, Options: p.Options, Store: p.Store, Named: named}, nil
}

// asJSON leaves JSON alone, which is YAML too and much faster to read as it is.
func asJSON(data []byte, check string) ([]byte, error) {
	data = bytes.TrimSpace(data)
	if len(data) == 0 {
		return nil, errors.New("it is empty: was the check cut short?")
	}
	if data[0] == '{' {
		return data, nil
	}
	converted, err := yaml.YAMLToJSONStrict(data)
	if err != nil {
		return nil, errors.New("it is neither JSON nor YAML: write it with " + check)
	}
	return converted, nil
}

func checkKind(data []byte, check string) error {
	var k Kind
	if err := decodeOne(data, &k, false); err != nil {
		return err
	}
	if k.APIVersion != APIVersion || k.Kind != KindPlan {
		return fmt.Errorf("it is a %q of %q, not a %s of %s: write it with %s", k.Kind, k.APIVersion, KindPlan, APIVersion, check)
	}
	return nil
}

func decodeOne(data []byte, to any, strict bool) error {
	d := json.NewDecoder(bytes.NewReader(data))
	if strict {
		d.DisallowUnknownFields()
	}
	switch err := d.Decode(to); {
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return errors.New("it ends too early: was the check cut short?")
	case err != nil:
		return fmt.Errorf("it is no sound plan: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows the plan: keep one document")
	}
	return nil
}

// complete doubts a document from which a part is missing: what is not there
// can not say what shall be deleted.
func (p *Plan) complete() error {
	for _, part := range []struct {
		name    string
		missing bool
	}{
		{"plannedAt", p.PlannedAt.IsZero()},
		{"options.owners", p.Options.Owners == nil},
		{"options.ownerRules", p.Options.OwnerRules == nil},
		{"options.keep", p.Options.Keep == nil},
		{"options.repository", p.Options.Repository == nil},
		{"options.exclude", p.Options.Exclude == nil},
		{"store", p.Store.URL == ""},
		{"decisions", p.Decisions == nil},
		{"sweep.blobs", p.Sweep.Blobs == nil},
		{"sweep.layerLinks", p.Sweep.LayerLinks == nil},
		{"sweep.uploads", p.Sweep.Uploads == nil},
		{"sweep.unfinished", p.Sweep.Unfinished == nil},
		{"sweep.repositories", p.Sweep.Repositories == nil},
	} {
		if part.missing {
			return fmt.Errorf("it has no %s: write it anew with %s", part.name, checkCommand)
		}
	}
	return nil
}

func (p *Plan) named() (plan.Named, error) {
	n := naming{plan.Named{}, nil}
	for _, d := range p.Decisions {
		switch d.Decision {
		case Delete:
			n.add(inventory.Item{Kind: inventory.Revision, Repository: d.Repository}, d.Digest)
		case Keep:
		default:
			return nil, fmt.Errorf("decision %q of %s@%s is neither %s nor %s", d.Decision, d.Repository, d.Digest, Keep, Delete)
		}
	}
	for _, digest := range p.Sweep.Blobs {
		n.add(inventory.Item{Kind: inventory.Blob}, digest)
	}
	for _, links := range p.Sweep.LayerLinks {
		for _, digest := range links.Digests {
			n.add(inventory.Item{Kind: inventory.LayerLink, Repository: links.Repository}, digest)
		}
	}
	for _, u := range p.Sweep.Uploads {
		n.named.Add(inventory.Item{Kind: inventory.UploadFolder, Repository: u.Repository, Upload: u.ID})
	}
	for _, u := range p.Sweep.Unfinished {
		n.named.Add(inventory.Item{Kind: inventory.UnfinishedUpload, Path: u.Path, Upload: u.ID})
	}
	for _, r := range p.Sweep.Repositories {
		n.named.Add(inventory.Item{Kind: inventory.RepositoryFolder, Repository: r.Repository})
	}
	return n.named, n.err
}

// naming remembers that a digest was none.
type naming struct {
	named plan.Named
	err   error
}

func (n *naming) add(item inventory.Item, digest string) {
	d, err := image.ParseDigest(digest)
	if err != nil {
		n.err = err
		return
	}
	item.Digest = d
	n.named.Add(item)
}
