package world

import (
	"maps"
	"slices"
	"time"
)

// Option tells what is special about a thing. One that a thing has no use for
// is left aside.
type Option func(*settings)

type settings struct {
	now          time.Time
	age          time.Duration
	linkAge      *time.Duration
	ageless      bool
	tags         []string
	layers       []Blob
	docker       bool
	noMediaType  bool
	mediaType    string
	config       *string
	configType   string
	artifactType string
	subject      string
	annotations  map[string]string
	sparse       []string
	platform     platform
	sha512       bool
	alias        bool
}

// At sets the world's clock, from which ages count back.
func At(now time.Time) Option { return func(s *settings) { s.now = now } }

// Age is how long ago a thing was written: its blobs and its links.
func Age(age time.Duration) Option {
	return func(s *settings) { s.age, s.linkAge, s.ageless = age, nil, false }
}

// LinkAge sets the age of the links apart from that of the blobs: content
// that was pushed again.
func LinkAge(age time.Duration) Option { return func(s *settings) { s.linkAge = &age } }

// UnknownAge leaves a thing without time stamps, where the store can: a folder
// can not.
func UnknownAge(s *settings) { s.ageless = true }

// Tag names an image; it may be given many times.
func Tag(tag string) Option { return func(s *settings) { s.tags = append(s.tags, tag) } }

// Layers are what an image is made of; it may be given many times.
func Layers(layers ...Blob) Option {
	return func(s *settings) { s.layers = append(s.layers, layers...) }
}

// Docker writes Docker's media types; OCI's are the default.
func Docker(s *settings) { s.docker = true }

// NoMediaType leaves the manifest's own mediaType out, as OCI allows.
func NoMediaType(s *settings) { s.noMediaType = true }

// MediaType is a layer's media type.
func MediaType(mediaType string) Option { return func(s *settings) { s.mediaType = mediaType } }

// ConfigText is the content of an image's config. Images of the same layers
// are one image unless their configs or annotations differ.
func ConfigText(text string) Option { return func(s *settings) { s.config = &text } }

// ArtifactType makes an image an artifact; its config is the empty one then.
func ArtifactType(mediaType string) Option {
	return func(s *settings) { s.artifactType = mediaType }
}

// Subject is the digest of the image that this one describes; it need not exist.
func Subject(digest string) Option { return func(s *settings) { s.subject = digest } }

// Annotation is written into the manifest; it may be given many times.
func Annotation(key, value string) Option {
	return func(s *settings) { s.annotations[key] = value }
}

// Sparse are children that an index names and the registry does not hold.
func Sparse(digests ...string) Option {
	return func(s *settings) { s.sparse = append(s.sparse, digests...) }
}

// Platform is what an image runs on, linux/amd64 by default.
func Platform(os, architecture string) Option {
	return func(s *settings) { s.platform = platform{OS: os, Architecture: architecture} }
}

// SHA512 names a blob or a manifest by its sha512 digest and stores it there.
func SHA512(s *settings) { s.sha512 = true }

// SHA512Alias names a blob by its sha512 digest but stores it as distribution
// does: under its sha256 digest, to which the link of the long one points.
func SHA512Alias(s *settings) { s.sha512, s.alias = true, true }

// with leaves s as it is and shares no slice or map with it.
func (s settings) with(options []Option) settings {
	s.tags, s.layers, s.sparse = slices.Clone(s.tags), slices.Clone(s.layers), slices.Clone(s.sparse)
	s.annotations = maps.Clone(s.annotations)
	if s.annotations == nil {
		s.annotations = map[string]string{}
	}
	for _, option := range options {
		option(&s)
	}
	return s
}

func (s settings) blobTime() time.Time {
	if s.ageless {
		return time.Time{}
	}
	return s.now.Add(-s.age)
}

func (s settings) linkTime() time.Time {
	if s.linkAge != nil {
		return s.now.Add(-*s.linkAge)
	}
	return s.blobTime()
}
