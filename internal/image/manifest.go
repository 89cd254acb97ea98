package image

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Role is what a manifest needs a descriptor's content for.
type Role uint8

// The roles.
const (
	Config Role = iota
	Layer
	Child // another manifest
)

// Descriptor is something that a manifest needs.
type Descriptor struct {
	Digest Digest
	Size   int64 // bytes, as the manifest says; negative where it does not
	Role   Role
	// Optional content may be absent without damage: a layer that may not be
	// distributed, a child that a sparse index does not carry.
	Optional bool
}

// Manifest is what Ebb needs to know of an image's manifest.
type Manifest struct {
	MediaType string
	Needs     []Descriptor
	// Filesystem says that a layer of it is a file system: it can be run, and is
	// no signature.
	Filesystem bool
	// Subject is the image that this one describes, nil where it describes none.
	Subject *Digest
}

// IsIndex tells whether the manifest lists other manifests.
func (m Manifest) IsIndex() bool {
	return slices.ContainsFunc(m.Needs, func(d Descriptor) bool { return d.Role == Child }) || isIndex(m.MediaType)
}

// ErrNotUnderstood says that a manifest is sound JSON of a kind whose needs
// can not be told: schema 1, an unknown media type, an unknown digest
// algorithm. Nothing is wrong with it.
var ErrNotUnderstood = errors.New("manifest is of a kind that is not understood")

const (
	ociManifest    = "application/vnd.oci.image.manifest.v1+json"
	ociIndex       = "application/vnd.oci.image.index.v1+json"
	dockerManifest = "application/vnd.docker.distribution.manifest.v2+json"
	dockerList     = "application/vnd.docker.distribution.manifest.list.v2+json"
)

func isManifest(mediaType string) bool {
	return mediaType == ociManifest || mediaType == dockerManifest
}

func isIndex(mediaType string) bool { return mediaType == ociIndex || mediaType == dockerList }

// document is the union of all manifests that are understood. What is absent
// and what is empty differ, as the media type may have to be told from it.
type document struct {
	SchemaVersion int    `json:"schemaVersion"`
	MediaType     string `json:"mediaType"`
	// Config is no pointer: a null after it does not take it away. So reads the
	// registry, which accepts a manifest with a member twice.
	Config    descriptor   `json:"config"`
	Layers    []descriptor `json:"layers"`
	Manifests []descriptor `json:"manifests"`
	Subject   *descriptor  `json:"subject"`
}

type descriptor struct {
	MediaType string   `json:"mediaType"`
	Digest    string   `json:"digest"`
	Size      *int64   `json:"size"`
	URLs      []string `json:"urls"`
}

// ParseManifest reads an image manifest or index, Docker's or OCI's, by the
// image specification and Docker's schema 2. It returns an error that wraps
// ErrNotUnderstood for another kind, and a plain one for what is no manifest.
func ParseManifest(content []byte) (Manifest, error) {
	var doc document
	if err := json.Unmarshal(content, &doc); err != nil {
		return Manifest{MediaType: doc.MediaType}, fmt.Errorf("manifest is no JSON of a manifest: %w", err)
	}
	mediaType, err := doc.mediaType()
	m := Manifest{MediaType: mediaType}
	if err != nil {
		return m, err
	}
	if err := doc.collect(&m); err != nil {
		return m, fmt.Errorf("%w: %w", ErrNotUnderstood, err)
	}
	return m, nil
}

// mediaType tells the kind. OCI lets the field be absent, then the members
// decide; both kinds' members at once are refused, as readers would differ.
func (doc *document) mediaType() (string, error) {
	switch {
	case doc.MediaType != "" && !isManifest(doc.MediaType) && !isIndex(doc.MediaType):
		return doc.MediaType, fmt.Errorf("%w: media type %q", ErrNotUnderstood, doc.MediaType)
	case doc.SchemaVersion != 2:
		return doc.MediaType, fmt.Errorf("%w: schema version %d", ErrNotUnderstood, doc.SchemaVersion)
	case doc.MediaType != "":
		return doc.MediaType, nil
	case doc.Manifests != nil && doc.Config.Digest == "" && doc.Layers == nil:
		return ociIndex, nil
	case doc.Config.Digest != "" && doc.Manifests == nil:
		return ociManifest, nil
	}
	return "", fmt.Errorf("%w: neither an image nor an index", ErrNotUnderstood)
}

// collect takes every descriptor, whatever the media type: what a manifest
// names is needed.
func (doc *document) collect(m *Manifest) error {
	m.Needs = make([]Descriptor, 0, 1+len(doc.Layers)+len(doc.Manifests))
	if doc.Config.Digest != "" {
		if err := m.add(doc.Config, Config); err != nil {
			return err
		}
	}
	for _, d := range doc.Layers {
		if err := m.add(d, Layer); err != nil {
			return err
		}
	}
	for _, d := range doc.Manifests {
		if err := m.add(d, d.roleInIndex()); err != nil {
			return err
		}
	}
	if doc.Subject == nil {
		return nil
	}
	subject, err := ParseDigest(doc.Subject.Digest)
	m.Subject = &subject
	return err
}

func (m *Manifest) add(d descriptor, role Role) error {
	parsed, err := ParseDigest(d.Digest)
	if err != nil {
		return err
	}
	need := Descriptor{Digest: parsed, Size: -1, Role: role, Optional: role == Child || d.foreign()}
	m.Filesystem = m.Filesystem || (role == Layer && d.filesystem())
	if d.Size != nil {
		need.Size = *d.Size
	}
	m.Needs = append(m.Needs, need)
	return nil
}

// roleInIndex is what an index lists: manifests, but for the caches that
// BuildKit exports, whose layers stand there.
func (d descriptor) roleInIndex() Role {
	if d.filesystem() || strings.HasPrefix(d.MediaType, "application/vnd.buildkit.cacheconfig") {
		return Layer
	}
	return Child
}

// filesystem tells whether the content is a layer of a file system, Docker's or
// OCI's.
func (d descriptor) filesystem() bool {
	return strings.Contains(d.MediaType, ".image.layer.") || strings.Contains(d.MediaType, ".image.rootfs.")
}

// foreign tells whether the content may lie elsewhere: the types that the
// image specification calls non-distributable, and Docker's foreign layers.
func (d descriptor) foreign() bool {
	return len(d.URLs) > 0 || strings.Contains(d.MediaType, "nondistributable") || strings.Contains(d.MediaType, ".foreign.")
}
