package descriptorcache

import (
	"strings"

	"github.com/distribution/reference"
	"github.com/opencontainers/go-digest"

	_ "crypto/sha256" // digests are valid only where their hash is known
	_ "crypto/sha512"
)

// What registries write, in every version from 2.0 to 3.1:
//
//	blobs::<digest>                       hash   digest, size and media type
//	repository::<name>::blobs             set    digests that the repository holds
//	repository::<name>::blobs::<digest>   hash   media type in that repository
const (
	blobPrefix       = "blobs::"
	repositoryPrefix = "repository::"
	setSuffix        = "::blobs"
)

// patterns find all that kindOf may know.
func patterns() []string {
	return []string{blobPrefix + "*", repositoryPrefix + "*" + setSuffix + "*"}
}

// kindOf is the type that a registry gives to a key of this name, or empty for
// a name that no registry writes.
func kindOf(key string) string {
	if text, ok := strings.CutPrefix(key, blobPrefix); ok {
		return hashIf(isDigest(text))
	}
	rest, ok := strings.CutPrefix(key, repositoryPrefix)
	if !ok {
		return ""
	}
	if name, ok := strings.CutSuffix(rest, setSuffix); ok {
		if isRepository(name) {
			return "set"
		}
		return ""
	}
	at := strings.LastIndex(rest, setSuffix+"::")
	if at < 0 {
		return ""
	}
	return hashIf(isRepository(rest[:at]) && isDigest(rest[at+len(setSuffix+"::"):]))
}

func hashIf(ok bool) string {
	if ok {
		return "hash"
	}
	return ""
}

func isDigest(text string) bool { return digest.Digest(text).Validate() == nil }

func isRepository(name string) bool {
	_, err := reference.WithName(name)
	return err == nil
}
