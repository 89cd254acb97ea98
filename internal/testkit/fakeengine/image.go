package fakeengine

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/distribution/reference"

	"github.com/ebb-io/ebb/internal/engine"
)

// Image is contents: what a registry would serve.
type Image struct {
	Config   string // digests; the ID in a graph driver
	Manifest string // of the platform
	Index    string // the ID in a containerd store, and what a registry calls it
	Created  time.Time
	Layers   []Layer
	Parent   string // an ID, as the classic builder writes it down
	Labels   map[string]string
}

// Layer is a layer, which images with the same one share.
type Layer struct {
	Name string
	Size int64
}

// Made makes the contents that belong to a seed: always the same, and others
// for another seed. They have a layer of their own and one for all.
func Made(seed string) Image {
	return Image{
		Config: Digest("config " + seed), Manifest: Digest("manifest " + seed), Index: Digest("index " + seed),
		Created: time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC),
		Layers:  []Layer{{"base", 5_000_000}, {seed, int64(1_000_000 + len(seed))}},
	}
}

// Digest is the digest of a text.
func Digest(s string) string { return fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(s))) }

// held is an image in the engine.
type held struct {
	Image
	origins []string // as identities tell them: without a port
	tagged  time.Time
}

func (e *Engine) idOf(i Image) string {
	if e.opts.Store == engine.Containerd {
		return i.Index
	}
	return i.Config
}

// normal is a name in full with its tag; it panics on what is no name, as only
// tests give it one.
func normal(name string) reference.Named {
	n, err := reference.ParseNormalizedNamed(name)
	if err != nil {
		panic(fmt.Sprintf("fake engine: name %q: %v", name, err))
	}
	return reference.TagNameOnly(n)
}

func familiar(ref string) string {
	n, err := reference.ParseNormalizedNamed(ref)
	if err != nil {
		return ref
	}
	return reference.FamiliarString(n)
}

func repository(ref string) string { return normal(ref).Name() }

func isDigest(ref string) bool { return strings.Contains(ref, "@") }

// names are the references of an image, in order.
func (e *Engine) names(id string) []string {
	var out []string
	for ref, target := range e.refs {
		if target == id {
			out = append(out, ref)
		}
	}
	slices.Sort(out)
	return out
}

// hold takes contents in; those that are here already stay as they are.
func (e *Engine) hold(i Image) (string, *held) {
	id := e.idOf(i)
	h, ok := e.images[id]
	if !ok {
		h = &held{Image: i}
		e.images[id] = h
	}
	return id, h
}

// resolve finds an image by a name, an ID or the beginning of one, as each kind
// of store does.
func (e *Engine) resolve(s string) (id string, byID bool, err error) {
	hex, isID := strings.CutPrefix(s, "sha256:")
	named := ""
	if !isID {
		n, err := reference.ParseNormalizedNamed(s)
		if err != nil {
			return "", false, fault(400, "invalid reference format")
		}
		named = e.refs[stored(n)]
		if named == "" {
			named = e.byDigest(n)
		}
	}
	found := e.byPrefix(hex)
	if e.opts.Store == engine.Containerd && named != "" && len(found) > 0 && !slices.Equal(found, []string{named}) {
		return "", false, fault(404, "ambiguous reference")
	}
	switch {
	case named != "":
		return named, false, nil
	case len(found) == 1:
		return found[0], true, nil
	}
	return "", false, e.noSuch("image", s)
}

// stored is the form under which a name is kept: a digest drops the tag.
func stored(n reference.Named) string {
	if d, ok := n.(reference.Digested); ok {
		return n.Name() + "@" + d.Digest().String()
	}
	return reference.TagNameOnly(n).String()
}

// byDigest finds what a containerd store takes repository@digest for although
// no such name is kept: an image of that digest with a name in the repository.
func (e *Engine) byDigest(n reference.Named) string {
	d, ok := n.(reference.Digested)
	if !ok || e.opts.Store != engine.Containerd {
		return ""
	}
	id := d.Digest().String()
	for _, ref := range e.names(id) {
		if repository(ref) == n.Name() {
			return id
		}
	}
	return ""
}

func (e *Engine) byPrefix(hex string) []string {
	var out []string
	if len(hex) < 4 {
		return nil
	}
	for id := range e.images {
		if strings.HasPrefix(id, "sha256:"+hex) {
			out = append(out, id)
		}
	}
	slices.Sort(out)
	return out
}
