package image

import (
	"fmt"
	"strings"

	"github.com/distribution/reference"
)

// Reference is an image's name as people and clusters write it.
type Reference struct {
	Host       string // as written; empty when none was
	Repository string // path in the registry; empty with a bare digest
	Tag        string
	Digest     *Digest
}

// ParseReference reads "host/path:tag@digest" in any of its shorter forms, and
// a bare digest. A path of one part keeps that form: "nginx" is "nginx" here,
// although a client would ask Docker Hub for "library/nginx".
func ParseReference(s string) (Reference, error) {
	if d, err := ParseDigest(s); err == nil {
		return Reference{Digest: &d}, nil
	}
	parsed, err := reference.Parse(s)
	if err != nil {
		return Reference{}, fmt.Errorf("image reference %q: %w", s, err)
	}
	named, ok := parsed.(reference.Named)
	if !ok {
		return Reference{}, fmt.Errorf("image reference %q: names no repository", s)
	}
	return fromNamed(named)
}

func fromNamed(named reference.Named) (Reference, error) {
	var r Reference
	r.Host, r.Repository = splitHost(named.Name())
	if tagged, ok := named.(reference.Tagged); ok {
		r.Tag = tagged.Tag()
	}
	if digested, ok := named.(reference.Digested); ok {
		d, err := ParseDigest(digested.Digest().String())
		if err != nil {
			return Reference{}, err
		}
		r.Digest = &d
	}
	return r, nil
}

// splitHost follows the rule of Docker's clients: the first part is a host when
// it holds a dot or a colon, is "localhost", or has an upper-case letter, which
// no path can have.
func splitHost(name string) (host, path string) {
	first, rest, found := strings.Cut(name, "/")
	isHost := strings.ContainsAny(first, ".:") || first == "localhost" || strings.ToLower(first) != first
	if !found || !isHost {
		return "", name
	}
	return first, rest
}
