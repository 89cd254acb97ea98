package bare

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Removed counts what Delete took away.
type Removed struct {
	Revisions, LayerLinks, Blobs int
}

type set map[string]struct{}

// garbage lists folders by phase: what needs comes before what is needed.
type garbage struct {
	revisions, layers, blobs []string
}

// Delete takes away every untagged image and what only untagged images need.
// The registry must come from a walk that kept the manifests.
func (r *Registry) Delete() (Removed, error) {
	g, err := r.garbage()
	if err != nil {
		return Removed{}, err
	}
	removed := Removed{Revisions: len(g.revisions), LayerLinks: len(g.layers), Blobs: len(g.blobs)}
	if err := removeEach(g.revisions, "link"); err != nil {
		return removed, err
	}
	if err := removeEach(g.layers, "link"); err != nil {
		return removed, err
	}
	return removed, removeEach(g.blobs, "data")
}

func (r *Registry) garbage() (garbage, error) {
	var g garbage
	needed := set{}
	for _, repo := range r.repositories {
		if err := repo.mark(&g, needed); err != nil {
			return garbage{}, err
		}
	}
	for _, blob := range r.blobs {
		if _, ok := needed[blob]; !ok {
			g.blobs = append(g.blobs, r.blobPath(blob))
		}
	}
	return g, nil
}

// mark adds what the tagged images of one repository need, and lists the links that they do not.
func (r *repository) mark(g *garbage, needed set) error {
	tagged, own := set{}, set{}
	for _, digest := range r.tagged {
		tagged[digest] = struct{}{}
	}
	for i, revision := range r.revisions {
		if _, ok := tagged[revision]; !ok {
			g.revisions = append(g.revisions, r.dir+"/_manifests/revisions/"+revision)
			continue
		}
		needed[revision] = struct{}{}
		if err := references(r.manifests[i], own); err != nil {
			return fmt.Errorf("manifest %s: %w", revision, err)
		}
	}
	for digest := range own {
		needed[digest] = struct{}{}
	}
	for _, layer := range r.layers {
		if _, ok := own[layer]; !ok {
			g.layers = append(g.layers, r.dir+"/_layers/"+layer)
		}
	}
	return nil
}

func references(data []byte, into set) error {
	var manifest struct {
		Config descriptor
		Layers []descriptor
	}
	if err := json.Unmarshal(data, &manifest); err != nil {
		return err
	}
	for _, d := range append(manifest.Layers, manifest.Config) {
		into[strings.Replace(d.Digest, ":", "/", 1)] = struct{}{}
	}
	return nil
}

type descriptor struct {
	Digest string
}

func removeEach(dirs []string, file string) error {
	var p pool
	p.start()
	p.each(len(dirs), func(i int) error { return remove(dirs[i], file) })
	return p.wait()
}
