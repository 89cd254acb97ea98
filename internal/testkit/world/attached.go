package world

// Referrer writes an artifact that describes another image by its subject
// field. It has no tag unless one is given.
func (w *World) Referrer(repo, subject string, options ...Option) Image {
	return w.Image(repo, w.describing("referrer of "+subject, options,
		ArtifactType("application/vnd.example.signature"), Subject(subject))...)
}

// CosignTag writes an image as cosign does: the tag names its subject. The
// suffix is ".sig", ".att" or ".sbom".
func (w *World) CosignTag(repo, subject, suffix string, options ...Option) Image {
	return w.Image(repo, w.describing("cosign "+suffix+" of "+subject, options,
		Tag(SubjectTag(subject, suffix)))...)
}

// FallbackTag writes the index of an image's referrers, as clients do for a
// registry that does not serve the referrers API.
func (w *World) FallbackTag(repo, subject string, referrers []Image, options ...Option) Image {
	return w.Index(repo, referrers, append([]Option{Tag(SubjectTag(subject, ""))}, options...)...)
}

// describing puts a small layer of its own under what a test asked for, in the
// same age, unless it brought layers.
func (w *World) describing(content string, asked []Option, first ...Option) []Option {
	s := w.defaults.with(asked)
	if len(s.layers) > 0 {
		return append(first, asked...)
	}
	layer := w.Layer(content, func(to *settings) { to.age, to.ageless = s.age, s.ageless }, MediaType("application/vnd.dev.cosign.simplesigning.v1+json"))
	return append(append(first, Layers(layer)), asked...)
}
