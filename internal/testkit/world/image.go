package world

import (
	"encoding/json"
	"fmt"
	"slices"
)

// Blob is content that manifests name.
type Blob struct {
	Digest    string
	Size      int64 // bytes
	MediaType string
	URLs      []string
	// Stored is the digest under which the content lies. It is another one
	// than Digest for an alias, and empty for content that lies elsewhere.
	Stored string
}

// Image is a manifest in a repository: an image, an index or an artifact.
type Image struct {
	Repository string
	Digest     string
	MediaType  string   // as it is served, whether the manifest says it or not
	Config     string   // digest; empty where there is none
	Layers     []string // digests
	Children   []string // digests of an index's manifests
	Subject    string   // digest, or empty
	Raw        []byte

	blobs    []Blob
	platform *platform
	artifact string
}

// Layer writes a blob that images can be made of. Without an image it is an
// orphan.
func (w *World) Layer(content string, options ...Option) Blob {
	s := w.defaults.with(options)
	blob := Blob{
		Digest:    sum([]byte(content), s.sha512),
		Size:      int64(len(content)),
		MediaType: s.mediaType,
	}
	blob.Stored = sum([]byte(content), s.sha512 && !s.alias)
	w.putBlob(blob.Stored, []byte(content), s.blobTime())
	return blob
}

// ForeignLayer is a layer that may not be distributed: manifests name it, the
// registry does not hold it.
func (w *World) ForeignLayer(name string, options ...Option) Blob {
	s := w.defaults.with(options)
	return Blob{
		Digest:    Digest(name),
		Size:      int64(len(name)),
		MediaType: orElse(s.mediaType, typesOf(s).foreign),
		URLs:      []string{"https://example.org/" + Digest(name)},
	}
}

// Image writes an image: its config, its manifest, and their links and those
// of its layers in a repository.
func (w *World) Image(repo string, options ...Option) Image {
	s := w.defaults.with(options)
	types := typesOf(s)
	config := w.config(s, types)
	layers := make([]descriptor, 0, len(s.layers))
	for _, layer := range s.layers {
		layers = append(layers, layer.descriptor(types.layer))
	}
	raw := encode(manifest{
		SchemaVersion: 2,
		MediaType:     types.written(types.image, s),
		ArtifactType:  s.artifactType,
		Config:        config.descriptor(types.config),
		Layers:        layers,
		Subject:       w.subject(s),
		Annotations:   s.annotations,
	})
	image := Image{
		MediaType: types.image, Raw: raw, Config: config.Digest, Subject: s.subject,
		blobs: append([]Blob{config}, s.layers...), artifact: s.artifactType, platform: &s.platform,
	}
	for _, layer := range s.layers {
		image.Layers = append(image.Layers, layer.Digest)
	}
	return w.write(repo, image, s)
}

// Index writes an index of images, or of indexes. Its children are the test's
// to write, into the same repository where they shall be found.
func (w *World) Index(repo string, children []Image, options ...Option) Image {
	s := w.defaults.with(options)
	types := typesOf(s)
	index := index{
		SchemaVersion: 2,
		MediaType:     types.written(types.index, s),
		ArtifactType:  s.artifactType,
		Manifests:     []descriptor{},
		Subject:       w.subject(s),
		Annotations:   s.annotations,
	}
	image := Image{MediaType: types.index, Subject: s.subject, artifact: s.artifactType}
	for _, child := range children {
		index.Manifests = append(index.Manifests, child.descriptor())
		image.Children = append(image.Children, child.Digest)
	}
	for _, digest := range s.sparse {
		index.Manifests = append(index.Manifests, sparse(digest, types, len(index.Manifests)))
		image.Children = append(image.Children, digest)
	}
	image.Raw = encode(index)
	return w.write(repo, image, s)
}

// Push links an image, which may come from another repository, into a
// repository, with the tags of the options. Blobs keep their time stamps and
// links get new ones, as when the same content is pushed again.
func (w *World) Push(repo string, image Image, options ...Option) Image {
	s := w.defaults.with(options)
	for _, blob := range image.blobs {
		w.linkBlob(repo, blob, s)
	}
	w.putLink(RevisionLink(repo, image.Digest), image.Digest, s.linkTime())
	for _, tag := range s.tags {
		w.Tag(repo, tag, image.Digest, options...)
	}
	image.Repository = repo
	return image
}

// Tag makes a tag name a digest. What it named before stays in its index.
func (w *World) Tag(repo, tag, digest string, options ...Option) {
	s := w.defaults.with(options)
	w.putLink(TagIndexLink(repo, tag, digest), digest, s.linkTime())
	w.putLink(TagLink(repo, tag), digest, s.linkTime())
}

func (w *World) write(repo string, image Image, s settings) Image {
	image.Digest = sum(image.Raw, s.sha512 && !s.alias)
	w.putBlob(image.Digest, image.Raw, s.blobTime())
	w.manifests[image.Digest] = image
	return w.Push(repo, image, func(to *settings) { *to = s })
}

func (w *World) config(s settings, types types) Blob {
	if s.config == nil && s.artifactType != "" {
		s.config, s.configType = new("{}"), orElse(s.configType, emptyConfig)
	}
	text := s.config
	if text == nil {
		text = new(configText(s))
	}
	return w.Layer(*text, func(to *settings) {
		to.now, to.age, to.ageless = s.now, s.age, s.ageless
		to.mediaType = orElse(s.configType, types.config)
	})
}

func configText(s settings) string {
	layers := make([]string, 0, len(s.layers))
	for _, layer := range s.layers {
		layers = append(layers, layer.Digest)
	}
	return string(encode(map[string]any{
		"os": s.platform.OS, "architecture": s.platform.Architecture, "config": struct{}{},
		"rootfs": map[string]any{"type": "layers", "diff_ids": layers},
	}))
}

func (w *World) linkBlob(repo string, blob Blob, s settings) {
	if blob.Stored == "" {
		return
	}
	w.putLink(LayerLink(repo, blob.Stored), blob.Stored, s.linkTime())
	if blob.Digest != blob.Stored {
		w.putLink(LayerLink(repo, blob.Digest), blob.Stored, s.linkTime())
	}
}

// Blobs are the digests of everything but manifests that an image needs.
func (i Image) Blobs() []string {
	var digests []string
	for _, blob := range i.blobs {
		digests = append(digests, blob.Digest)
	}
	slices.Sort(digests)
	return slices.Compact(digests)
}

func encode(value any) []byte {
	raw, err := json.Marshal(value)
	if err != nil {
		panic(fmt.Errorf("world: %w", err))
	}
	return raw
}

func orElse(value, otherwise string) string {
	if value != "" {
		return value
	}
	return otherwise
}
