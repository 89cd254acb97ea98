package registry

import (
	"strings"

	"github.com/ebb-io/ebb/internal/image"
	"github.com/ebb-io/ebb/internal/inventory"
)

// The paths of distribution's storage, as its registry/storage/paths.go lays
// them out. A name that starts with an underscore is no part of a repository's
// name, so the first such folder ends it.
const (
	base         = "docker/registry/v2"
	blobs        = base + "/blobs"
	repositories = base + "/repositories"

	revisionsDir = "/_manifests/revisions"
	tagsDir      = "/_manifests/tags"
	layersDir    = "/_layers"
	uploadsDir   = "/_uploads"
)

// LockFile is the lock that keeps two runs apart.
const LockFile = base + "/.ebb-lock"

func blobDir(d image.Digest) string {
	return blobs + "/" + d.Algorithm() + "/" + d.Hex()[:2] + "/" + d.Hex()
}

func blobPath(d image.Digest) string { return blobDir(d) + "/data" }

func repositoryDir(name string) string { return repositories + "/" + name }

func revisionDir(repository string, d image.Digest) string {
	return repositoryDir(repository) + revisionsDir + "/" + d.Algorithm() + "/" + d.Hex()
}

func layerDir(repository string, d image.Digest) string {
	return repositoryDir(repository) + layersDir + "/" + d.Algorithm() + "/" + d.Hex()
}

func tagDir(repository, tag string) string {
	return repositoryDir(repository) + tagsDir + "/" + tag
}

func tagLink(repository, tag string) string { return tagDir(repository, tag) + "/current/link" }

func uploadDir(repository, id string) string {
	return repositoryDir(repository) + uploadsDir + "/" + id
}

// Path is where an item lies, for people.
func Path(item inventory.Item) string {
	switch item.Kind {
	case inventory.TagHistory:
		return tagDir(item.Repository, item.Tag) + "/index"
	case inventory.TagLink:
		return tagLink(item.Repository, item.Tag)
	case inventory.TagFolder:
		return tagDir(item.Repository, item.Tag)
	case inventory.Revision:
		return revisionDir(item.Repository, item.Digest)
	case inventory.LayerLink:
		return layerDir(item.Repository, item.Digest)
	case inventory.UnfinishedUpload:
		return item.Path
	case inventory.UploadFolder:
		return uploadDir(item.Repository, item.Upload)
	case inventory.RepositoryFolder:
		return repositoryDir(item.Repository)
	}
	return blobDir(item.Digest)
}

// place is a folder below repositories, read backwards.
type place struct {
	repository string
	part       string // the folder with the underscore and all below it; empty in the name itself
}

func placeOf(path string) place {
	rest := strings.TrimPrefix(path, repositories+"/")
	if strings.HasPrefix(rest, "_") {
		return place{part: "/" + rest}
	}
	i := strings.Index(rest, "/_")
	if i < 0 {
		return place{repository: rest}
	}
	return place{repository: rest[:i], part: rest[i:]}
}

// linkDigest reads the digest from the path of a link's folder below dir, as
// "sha256/<hex>".
func linkDigest(part, dir string) (image.Digest, bool) {
	d, inside, ok := insideLink(part, dir)
	return d, ok && inside == ""
}

// insideLink is linkDigest for what lies in that folder too, with its path there.
func insideLink(part, dir string) (d image.Digest, inside string, ok bool) {
	rest, below := strings.CutPrefix(part, dir+"/")
	algorithm, rest, _ := strings.Cut(rest, "/")
	encoded, inside, _ := strings.Cut(rest, "/")
	d, err := image.JoinDigest(algorithm, encoded)
	return d, inside, below && err == nil
}

// blobDigest reads the digest from the path of a blob's folder.
func blobDigest(dir string) (image.Digest, bool) {
	d, inside, ok := insideBlob(dir)
	return d, ok && inside == ""
}

// insideBlob is blobDigest for what lies in that folder too, with its path there.
func insideBlob(path string) (d image.Digest, inside string, ok bool) {
	rest, below := strings.CutPrefix(path, blobs+"/")
	algorithm, rest, _ := strings.Cut(rest, "/")
	short, rest, _ := strings.Cut(rest, "/")
	encoded, inside, _ := strings.Cut(rest, "/")
	if !below || len(short) != 2 || !strings.HasPrefix(encoded, short) {
		return image.Digest{}, "", false
	}
	d, err := image.JoinDigest(algorithm, encoded)
	return d, inside, err == nil
}
