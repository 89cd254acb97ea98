package world

import (
	"crypto/sha256"
	"encoding"
	"fmt"
	"path"
	"strings"
	"time"
)

// Schema1 writes an image of Docker's first schema, which current registries
// neither serve nor understand.
func (w *World) Schema1(repo, tag string, options ...Option) Image {
	s := w.defaults.with(options)
	s.tags = append(s.tags, tag)
	layer := w.Layer("schema 1 layer of "+repo+":"+tag, options...)
	raw := encode(map[string]any{
		"schemaVersion": 1, "name": repo, "tag": tag, "architecture": "amd64",
		"fsLayers":   []any{map[string]string{"blobSum": layer.Digest}},
		"history":    []any{map[string]string{"v1Compatibility": `{"id":"1"}`}},
		"signatures": []any{map[string]string{"protected": "e30", "signature": "c2ln"}},
	})
	return w.write(repo, Image{
		MediaType: "application/vnd.docker.distribution.manifest.v1+prettyjws", Raw: raw,
		Layers: []string{layer.Digest}, blobs: []Blob{layer},
	}, s)
}

// UnknownType writes a manifest of a media type that is not understood: the
// OCI artifact manifest, which was withdrawn.
func (w *World) UnknownType(repo, tag string, options ...Option) Image {
	const mediaType = "application/vnd.oci.artifact.manifest.v1+json"
	s := w.defaults.with(options)
	s.tags = append(s.tags, tag)
	blob := w.Layer("artifact of "+repo+":"+tag, options...)
	raw := encode(map[string]any{
		"mediaType": mediaType, "artifactType": "application/vnd.example.unknown",
		"blobs": []descriptor{blob.descriptor("application/octet-stream")},
	})
	return w.write(repo, Image{
		MediaType: mediaType, Raw: raw, Layers: []string{blob.Digest}, blobs: []Blob{blob},
	}, s)
}

// OrphanBlob writes a blob that nothing names.
func (w *World) OrphanBlob(content string, options ...Option) Blob {
	return w.Layer(content, options...)
}

// OrphanLayerLink links a blob, which need not exist, into a repository where
// no manifest names it.
func (w *World) OrphanLayerLink(repo, digest string, options ...Option) {
	w.putLink(LayerLink(repo, digest), digest, w.defaults.with(options).linkTime())
}

// Upload writes an upload that was never finished. Its files are as old as
// its start unless an Age is given.
func (w *World) Upload(repo, id string, startedAt time.Time, data string, options ...Option) {
	s := w.defaults.with(append([]Option{Age(w.defaults.now.Sub(startedAt))}, options...))
	dir := UploadPath(repo, id)
	w.put(path.Join(dir, "data"), []byte(data), s.blobTime())
	w.put(path.Join(dir, "startedat"), []byte(startedAt.UTC().Format(time.RFC3339)), s.blobTime())
	for _, sent := range []string{"", data} {
		state := path.Join(dir, "hashstates", "sha256", fmt.Sprint(len(sent)))
		w.put(state, w.hashState(sent), s.blobTime())
	}
}

func (w *World) hashState(data string) []byte {
	hash := sha256.New()
	hash.Write([]byte(data))
	state, err := hash.(encoding.BinaryMarshaler).MarshalBinary()
	w.must(err)
	return state
}

// EmptyRepository makes the folders of a repository that holds nothing. In a
// store without folders it writes nothing.
func (w *World) EmptyRepository(repo string) {
	for _, dir := range []string{
		"_layers/sha256/", "_manifests/revisions/sha256/", "_manifests/tags/", "_uploads/",
	} {
		w.must(w.store.Put(RepositoryPath(repo)+"/"+dir, nil, w.defaults.blobTime()))
	}
}

// StrayBlobDir writes a file among the blobs that is none, such as
// "blobs/sha256/ab/not-a-digest/data".
func (w *World) StrayBlobDir(below string, options ...Option) {
	w.File(path.Join(Root, strings.TrimPrefix(below, Root)), "stray", options...)
}
