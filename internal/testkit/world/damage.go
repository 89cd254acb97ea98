package world

import "path"

// Damage keeps time stamps: a disk that loses content does not tell.

// TruncateBlob cuts a blob to half its size.
func (w *World) TruncateBlob(digest string) {
	file := w.stored(digest)
	f := w.mustFile(file)
	w.put(file, f.data[:len(f.data)/2], f.at)
}

// CorruptBlob changes a blob's content and leaves its size.
func (w *World) CorruptBlob(digest string) {
	file := w.stored(digest)
	f := w.mustFile(file)
	data := make([]byte, len(f.data))
	for i, b := range f.data {
		data[i] = ^b
	}
	w.put(file, data, f.at)
}

// RemoveBlob removes a blob's folder.
func (w *World) RemoveBlob(digest string) { w.RemoveDir(path.Dir(w.stored(digest))) }

// EmptyRevisionLink leaves the link of a manifest with 0 bytes.
func (w *World) EmptyRevisionLink(repo, digest string) { w.Rewrite(RevisionLink(repo, digest), "") }

// EmptyLayerLink leaves the link of a blob with 0 bytes.
func (w *World) EmptyLayerLink(repo, digest string) { w.Rewrite(LayerLink(repo, digest), "") }

// EmptyTagLink leaves the current link of a tag with 0 bytes.
func (w *World) EmptyTagLink(repo, tag string) { w.Rewrite(TagLink(repo, tag), "") }

// RemoveTagLink leaves a tag's folder without its current link.
func (w *World) RemoveTagLink(repo, tag string) { w.RemoveDir(path.Dir(TagLink(repo, tag))) }

// RemoveTagIndex leaves a tag with its current link alone.
func (w *World) RemoveTagIndex(repo, tag string) { w.RemoveDir(TagPath(repo, tag) + "/index") }

// RemoveTag removes a tag as the registry's API does.
func (w *World) RemoveTag(repo, tag string) { w.RemoveDir(TagPath(repo, tag)) }

// RemoveRevisionLink removes the link of a manifest.
func (w *World) RemoveRevisionLink(repo, digest string) {
	w.RemoveDir(path.Dir(RevisionLink(repo, digest)))
}

// RemoveLayerLink removes the link of a blob.
func (w *World) RemoveLayerLink(repo, digest string) { w.RemoveDir(path.Dir(LayerLink(repo, digest))) }

// RemoveLayersDir removes a repository's _layers.
func (w *World) RemoveLayersDir(repo string) { w.RemoveDir(RepositoryPath(repo) + "/_layers") }

// RemoveTagsDir removes a repository's tags.
func (w *World) RemoveTagsDir(repo string) { w.RemoveDir(RepositoryPath(repo) + "/_manifests/tags") }

// RemoveRevisionsDir removes a repository's revisions.
func (w *World) RemoveRevisionsDir(repo string) {
	w.RemoveDir(RepositoryPath(repo) + "/_manifests/revisions")
}

// RemoveManifestsDir removes a repository's _manifests.
func (w *World) RemoveManifestsDir(repo string) { w.RemoveDir(RepositoryPath(repo) + "/_manifests") }

// RemoveRepository removes a repository and those nested in it.
func (w *World) RemoveRepository(repo string) { w.RemoveDir(RepositoryPath(repo)) }

// Rewrite gives a file other content and leaves its time stamp.
func (w *World) Rewrite(file, content string) {
	w.put(file, []byte(content), w.mustFile(file).at)
}

// Touch gives a file another age.
func (w *World) Touch(file string, options ...Option) {
	w.put(file, w.mustFile(file).data, w.defaults.with(options).blobTime())
}

func (w *World) stored(digest string) string {
	file := BlobPath(digest)
	w.mustFile(file)
	return file
}
