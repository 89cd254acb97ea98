package world

import (
	"path"
	"strings"
)

// Root is where a registry's files begin, below the storage's root.
const Root = "docker/registry/v2"

// RepositoryPath is a repository's folder.
func RepositoryPath(repo string) string { return path.Join(Root, "repositories", repo) }

// BlobPath is the file that holds a blob's content.
func BlobPath(digest string) string {
	algorithm, encoded := split(digest)
	return path.Join(Root, "blobs", algorithm, encoded[:2], encoded, "data")
}

// RevisionLink is the file that lets a repository serve a manifest.
func RevisionLink(repo, digest string) string {
	algorithm, encoded := split(digest)
	return path.Join(RepositoryPath(repo), "_manifests", "revisions", algorithm, encoded, "link")
}

// LayerLink is the file that lets a repository serve a blob.
func LayerLink(repo, digest string) string {
	algorithm, encoded := split(digest)
	return path.Join(RepositoryPath(repo), "_layers", algorithm, encoded, "link")
}

// TagPath is a tag's folder.
func TagPath(repo, tag string) string {
	return path.Join(RepositoryPath(repo), "_manifests", "tags", tag)
}

// TagLink is the file that holds the digest which a tag names.
func TagLink(repo, tag string) string { return path.Join(TagPath(repo, tag), "current", "link") }

// TagIndexLink is the file that remembers that a tag named a digest once.
func TagIndexLink(repo, tag, digest string) string {
	algorithm, encoded := split(digest)
	return path.Join(TagPath(repo, tag), "index", algorithm, encoded, "link")
}

// UploadPath is an upload's folder.
func UploadPath(repo, id string) string { return path.Join(RepositoryPath(repo), "_uploads", id) }

// SubjectTag is the tag under which a client keeps what describes an image:
// cosign with a suffix such as ".sig", the referrers fallback with none.
func SubjectTag(digest, suffix string) string {
	algorithm, encoded := split(digest)
	return algorithm + "-" + encoded[:min(len(encoded), 64)] + suffix
}

func split(digest string) (algorithm, encoded string) {
	algorithm, encoded, ok := strings.Cut(digest, ":")
	if !ok || len(encoded) < 2 {
		panic("world: not a digest: " + digest)
	}
	return algorithm, encoded
}
