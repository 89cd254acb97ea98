// Package engine is what a Docker engine holds at one time: images with all
// their names, the containers and services that use them, and which engine and
// image store that was.
//
// It is pure and neutral: it records, and refuses to say what may go.
package engine

import (
	"slices"
	"strings"
	"time"

	"github.com/ebb-io/ebb/internal/image"
)

// StoreKind is how an engine keeps its images. An image's ID is another one in
// each.
type StoreKind string

// The two kinds of image store. Podman's compatible socket behaves as a graph
// driver does.
const (
	GraphDriver StoreKind = "graphdriver" // an ID is the digest of the config
	Containerd  StoreKind = "containerd"  // an ID is the digest of the index or manifest
)

// Engine tells one engine from all others.
type Engine struct {
	ID      string // as the engine calls itself; it survives a restart
	Name    string // the host's name, which --confirm must repeat
	Host    string // where it answers, such as unix:///var/run/docker.sock
	Version string
	API     string // the negotiated version, such as 1.41
	Store   StoreKind
	Driver  string // such as overlay2 or overlayfs
	Root    string // its data folder on its own machine
	Manager bool   // it manages a Swarm, so that its services were asked for
}

// Key is what remembered facts are kept under: image IDs mean nothing in
// another engine or another image store.
func (e Engine) Key() string { return e.ID + "/" + string(e.Store) + "/" + e.Driver }

// Image is an image with all its names.
type Image struct {
	ID image.Digest
	// Names are its tags, and on a containerd store repository@digest for what
	// was pulled by digest alone; in order.
	Names []image.Name
	// Digests are repository@digest as far as the engine lists them; in order.
	// A containerd store gives them to every image: see Pullable.
	Digests []image.Name
	// Manifests are the digests of an index's manifests that are here.
	Manifests []image.Digest
	// Origins are the repositories that the engine itself says the image was
	// pulled from, meaningful when Identified: nobody asked of all. A port is
	// left out of them: 127.0.0.1:5000/x is 127.0.0.1/x here.
	Origins    []string
	Identified bool
	// Pulled is the engine's own record of when the image came here; zero where
	// it has none.
	Pulled time.Time
	Size   int64 // bytes, with what it shares
	Shared int64 // bytes that another image needs too; negative: not known
}

// Unique is an estimate of the bytes that only this image needs; where the
// engine does not tell what is shared, it is the whole size.
func (i *Image) Unique() int64 { return max(i.Size-max(i.Shared, 0), 0) }

// Container is a container in whatever state, and what it needs.
type Container struct {
	ID          string
	Name        string
	State       string       // as the engine says it, such as running, exited, created
	Health      string       // healthy, unhealthy, starting; empty: it has no check
	Image       image.Digest // the ID of the image that it was made from
	From        string       // the name that it was made from, as it was written
	Manifest    image.Digest // of the platform's manifest, meaningful when HasManifest
	HasManifest bool
	Mounts      []string // images mounted into it, as they were written
	Compose     Compose  // what compose says of it
}

// Running tells whether the container runs now.
func (c *Container) Running() bool { return c.State == "running" }

// Compose is what compose's labels say of a container.
type Compose struct {
	Project  string   `json:"project"` // empty: it is not compose's
	Files    []string `json:"files"`   // absolute paths on the machine on which compose ran
	Dir      string   `json:"dir,omitempty"`
	EnvFiles []string `json:"envFiles,omitempty"`
}

// Path is how the files are called together, as compose's label joins them;
// empty: there are none.
func (c Compose) Path() string { return strings.Join(c.Files, ",") }

// Key tells one stack from all others: several projects may share files.
func (c Compose) Key() string { return c.Project + " " + c.Path() }

// Service is a Swarm service with the images of its current and its previous
// specification, as they are written there.
type Service struct {
	Name   string
	Images []string
}

// Bears tells whether the image is what a name means: by its digest if it has
// one, else by its tag.
func (i *Image) Bears(n image.Name) bool {
	if n.Digested {
		return i.HasDigest(n.Digest)
	}
	return n.Tag != "" && slices.Contains(i.Names, n)
}

// HasDigest tells whether a digest is the image's ID, or that of its index or
// of a manifest in it, wherever it was pulled from.
func (i *Image) HasDigest(d image.Digest) bool {
	named := func(n image.Name) bool { return n.Digested && n.Digest == d }
	return i.ID == d || slices.Contains(i.Manifests, d) ||
		slices.ContainsFunc(i.Digests, named) || slices.ContainsFunc(i.Names, named)
}

// Label is what people call the image: its first name, else its ID.
func (i *Image) Label() string {
	if len(i.Names) > 0 {
		return i.Names[0].Familiar()
	}
	return i.ID.Short()
}

// Snapshot is everything at one time.
type Snapshot struct {
	Engine     Engine
	Images     []Image     // by ID
	Containers []Container // by ID
	Services   []Service   // by name
}
