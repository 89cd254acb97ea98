package world

const emptyConfig = "application/vnd.oci.empty.v1+json"

type manifest struct {
	SchemaVersion int               `json:"schemaVersion"`
	MediaType     string            `json:"mediaType,omitempty"`
	ArtifactType  string            `json:"artifactType,omitempty"`
	Config        descriptor        `json:"config"`
	Layers        []descriptor      `json:"layers"`
	Subject       *descriptor       `json:"subject,omitempty"`
	Annotations   map[string]string `json:"annotations,omitempty"`
}

type index struct {
	SchemaVersion int               `json:"schemaVersion"`
	MediaType     string            `json:"mediaType,omitempty"`
	ArtifactType  string            `json:"artifactType,omitempty"`
	Manifests     []descriptor      `json:"manifests"`
	Subject       *descriptor       `json:"subject,omitempty"`
	Annotations   map[string]string `json:"annotations,omitempty"`
}

type descriptor struct {
	MediaType    string    `json:"mediaType"`
	ArtifactType string    `json:"artifactType,omitempty"`
	Digest       string    `json:"digest"`
	Size         int64     `json:"size"`
	URLs         []string  `json:"urls,omitempty"`
	Platform     *platform `json:"platform,omitempty"`
}

type platform struct {
	Architecture string `json:"architecture"`
	OS           string `json:"os"`
	Variant      string `json:"variant,omitempty"`
}

type types struct{ image, index, config, layer, foreign string }

func typesOf(s settings) types {
	if s.docker {
		return types{
			image:   "application/vnd.docker.distribution.manifest.v2+json",
			index:   "application/vnd.docker.distribution.manifest.list.v2+json",
			config:  "application/vnd.docker.container.image.v1+json",
			layer:   "application/vnd.docker.image.rootfs.diff.tar",
			foreign: "application/vnd.docker.image.rootfs.foreign.diff.tar.gzip",
		}
	}
	return types{
		image:   "application/vnd.oci.image.manifest.v1+json",
		index:   "application/vnd.oci.image.index.v1+json",
		config:  "application/vnd.oci.image.config.v1+json",
		layer:   "application/vnd.oci.image.layer.v1.tar",
		foreign: "application/vnd.oci.image.layer.nondistributable.v1.tar+gzip",
	}
}

func (types) written(mediaType string, s settings) string {
	if s.noMediaType {
		return ""
	}
	return mediaType
}

func (b Blob) descriptor(mediaType string) descriptor {
	return descriptor{
		MediaType: orElse(b.MediaType, mediaType), Digest: b.Digest, Size: b.Size, URLs: b.URLs,
	}
}

func (i Image) descriptor() descriptor {
	return descriptor{
		MediaType: i.MediaType, ArtifactType: i.artifact, Digest: i.Digest,
		Size: int64(len(i.Raw)), Platform: i.platform,
	}
}

func sparse(digest string, types types, position int) descriptor {
	return descriptor{
		MediaType: types.image, Digest: digest, Size: 1000,
		Platform: &platform{OS: "linux", Architecture: "arm", Variant: "v" + string(rune('5'+position%4))},
	}
}

func (w *World) subject(s settings) *descriptor {
	if s.subject == "" {
		return nil
	}
	if image, ok := w.manifests[s.subject]; ok {
		return &descriptor{MediaType: image.MediaType, Digest: image.Digest, Size: int64(len(image.Raw))}
	}
	return &descriptor{MediaType: typesOf(s).image, Digest: s.subject, Size: 1000}
}
