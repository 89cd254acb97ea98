package image

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/distribution/reference"
)

// Name is an image's name on a Docker host, normalised as Docker does it: a
// repository with a tag, a digest or both. It is comparable. The zero value is
// no name.
type Name struct {
	Repository string // in full, such as docker.io/library/traefik
	Tag        string // empty: none
	Digest     Digest // meaningful when Digested
	Digested   bool
}

// ParseName reads a name as people write it and as an engine lists it. It
// never adds a tag. An image ID, "<none>" and a bare digest are errors.
func ParseName(s string) (Name, error) {
	if strings.HasPrefix(s, "sha256:") || strings.HasPrefix(s, "sha512:") {
		return Name{}, fmt.Errorf("image name %q: it is an ID", s)
	}
	named, err := reference.ParseNormalizedNamed(s)
	if err != nil {
		return Name{}, fmt.Errorf("image name %q: %w", s, err)
	}
	n := Name{Repository: named.Name()}
	if tagged, ok := named.(reference.Tagged); ok {
		n.Tag = tagged.Tag()
	}
	if digested, ok := named.(reference.Digested); ok {
		if n.Digest, err = ParseDigest(digested.Digest().String()); err != nil {
			return Name{}, fmt.Errorf("image name %q: %w", s, err)
		}
		n.Digested = true
	}
	return n, nil
}

// String is the name in full.
func (n Name) String() string { return n.Repository + n.suffix() }

// Familiar is the name as people write it: without Docker Hub's host.
func (n Name) Familiar() string { return FamiliarRepository(n.Repository) + n.suffix() }

// FamiliarRepository is a full repository name as people write it. One that
// would be read as another when shortened, such as docker.io/localhost/web,
// stays as it is.
func FamiliarRepository(repository string) string {
	short, ok := strings.CutPrefix(repository, "docker.io/")
	if !ok {
		return repository
	}
	rest, ok := strings.CutPrefix(short, "library/")
	if ok && rest != "sha256" && rest != "sha512" && means(rest, repository) {
		return rest
	}
	if means(short, repository) {
		return short
	}
	return repository
}

func means(short, repository string) bool {
	named, err := reference.ParseNormalizedNamed(short)
	return err == nil && named.Name() == repository
}

// Tagged tells whether the name has a tag.
func (n Name) Tagged() bool { return n.Tag != "" }

// Version reads the name's tag.
func (n Name) Version() (Version, bool) { return ParseVersion(n.Tag) }

func (n Name) suffix() string {
	s := ""
	if n.Tag != "" {
		s = ":" + n.Tag
	}
	if n.Digested {
		s += "@" + n.Digest.String()
	}
	return s
}

// Compare orders names as their full texts are ordered.
func (n Name) Compare(o Name) int { return cmp.Compare(n.String(), o.String()) }

// WithoutPort is a repository as a containerd store tells where an image came
// from: registry:5000/x is registry/x.
func WithoutPort(repository string) string {
	host, path, ok := strings.Cut(repository, "/")
	if !ok {
		return repository
	}
	if i := strings.LastIndexByte(host, ':'); i >= 0 && !strings.HasSuffix(host, "]") {
		host = host[:i]
	}
	return host + "/" + path
}
