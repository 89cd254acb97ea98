package image_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ebb-io/ebb/internal/image"
)

const (
	ociManifest    = "application/vnd.oci.image.manifest.v1+json"
	ociIndex       = "application/vnd.oci.image.index.v1+json"
	dockerManifest = "application/vnd.docker.distribution.manifest.v2+json"
	dockerList     = "application/vnd.docker.distribution.manifest.list.v2+json"
)

func hexDigest(c string) string { return "sha256:" + strings.Repeat(c, 64) }

func described(c string) string { return fmt.Sprintf(`{"digest": %q, "size": 7}`, hexDigest(c)) }

func TestManifestsThatAreUnderstood(t *testing.T) {
	for _, test := range []struct {
		name, text, mediaType string
		needs                 []string
		subject, index        bool
	}{
		{
			"an OCI image", `{"schemaVersion": 2, "mediaType": "` + ociManifest + `", "config": ` + described("a") + `, "layers": [` + described("b") + `]}`,
			ociManifest,
			[]string{"config a", "layer b"},
			false, false,
		},
		{
			"without a media type", `{"schemaVersion": 2, "config": ` + described("a") + `, "layers": []}`,
			ociManifest,
			[]string{"config a"},
			false, false,
		},
		{
			"a Docker image", `{"schemaVersion": 2, "mediaType": "` + dockerManifest + `", "config": ` + described("a") + `}`,
			dockerManifest,
			[]string{"config a"},
			false, false,
		},
		{
			"an OCI index", `{"schemaVersion": 2, "mediaType": "` + ociIndex + `", "manifests": [` + described("a") + `]}`,
			ociIndex,
			[]string{"child a optional"},
			false, true,
		},
		{"an index without a media type", `{"schemaVersion": 2, "manifests": []}`, ociIndex, nil, false, true},
		{"a Docker list", `{"schemaVersion": 2, "mediaType": "` + dockerList + `", "manifests": []}`, dockerList, nil, false, true},
		{
			"a referrer", `{"schemaVersion": 2, "mediaType": "` + ociManifest + `", "config": ` + described("a") + `, "subject": ` + described("c") + `}`,
			ociManifest,
			[]string{"config a"},
			true, false,
		},
		{
			"an index that describes", `{"schemaVersion": 2, "mediaType": "` + ociIndex + `", "manifests": [], "subject": ` + described("c") + `}`,
			ociIndex, nil, true, true,
		},
		{
			"a foreign layer", `{"schemaVersion": 2, "mediaType": "` + dockerManifest + `", "config": ` + described("a") +
				`, "layers": [{"mediaType": "application/vnd.docker.image.rootfs.foreign.diff.tar.gzip", "digest": "` + hexDigest("b") + `", "size": 1}]}`,
			dockerManifest,
			[]string{"config a", "layer b optional"},
			false, false,
		},
		{
			"a layer with addresses", `{"schemaVersion": 2, "mediaType": "` + ociManifest + `", "config": ` + described("a") +
				`, "layers": [{"digest": "` + hexDigest("b") + `", "urls": ["https://example.org"]}]}`,
			ociManifest,
			[]string{"config a", "layer b optional"},
			false, false,
		},
		{
			"an image that also lists: all it names is needed", `{"schemaVersion": 2, "mediaType": "` + ociManifest + `", "config": ` + described("a") +
				`, "manifests": [` + described("b") + `]}`,
			ociManifest,
			[]string{"config a", "child b optional"},
			false, true,
		},
	} {
		m, err := image.ParseManifest([]byte(test.text))
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		var needs []string
		for _, need := range m.Needs {
			text := map[image.Role]string{image.Config: "config ", image.Layer: "layer ", image.Child: "child "}[need.Role] + need.Digest.Hex()[:1]
			if need.Optional {
				text += " optional"
			}
			needs = append(needs, text)
		}
		if diff := cmp.Diff(test.needs, needs); diff != "" {
			t.Errorf("%s needs:\n%s", test.name, diff)
		}
		if m.MediaType != test.mediaType || (m.Subject != nil) != test.subject || m.IsIndex() != test.index {
			t.Errorf("%s: %q, subject %v, index %v", test.name, m.MediaType, m.Subject, m.IsIndex())
		}
	}
}

func TestManifestsThatAreNot(t *testing.T) {
	for _, test := range []struct {
		name, text string
		understood bool // that it is a manifest of another kind
	}{
		{"schema 1", `{"schemaVersion": 1, "fsLayers": []}`, true},
		{"an unknown media type", `{"schemaVersion": 2, "mediaType": "application/vnd.oci.artifact.manifest.v1+json"}`, true},
		{"no schema version", `{"mediaType": "` + ociManifest + `", "config": ` + described("a") + `}`, true},
		{"both an image and an index", `{"schemaVersion": 2, "config": ` + described("a") + `, "manifests": []}`, true},
		{"neither", `{"schemaVersion": 2}`, true},
		{"an unknown digest algorithm", `{"schemaVersion": 2, "manifests": [{"digest": "md5:00", "size": 1}]}`, true},
		{"no digest", `{"schemaVersion": 2, "config": {"size": 1}}`, true},
		{"a subject without a digest", `{"schemaVersion": 2, "manifests": [], "subject": {}}`, true},
		{"an empty file", ``, false},
		{"no JSON", `hello`, false},
		{"cut off", `{"schemaVersion": 2, "mani`, false},
		{"two documents", `{"schemaVersion": 2, "manifests": []} {}`, false},
		{"a list", `[]`, false},
		{"a layer that is a text", `{"schemaVersion": 2, "layers": ["x"]}`, false},
	} {
		m, err := image.ParseManifest([]byte(test.text))
		if err == nil || errors.Is(err, image.ErrNotUnderstood) != test.understood {
			t.Errorf("%s: %+v, %v", test.name, m, err)
		}
	}
}

// Whatever is parsed, only digests that read back come out.
func FuzzParseManifest(f *testing.F) {
	f.Add([]byte(`{"schemaVersion": 2, "config": ` + described("a") + `, "layers": [` + described("b") + `], "subject": ` + described("c") + `}`))
	f.Add([]byte(`{"schemaVersion": 2, "manifests": [{"digest": "sha512:` + strings.Repeat("0", 128) + `"}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		m, err := image.ParseManifest(text)
		if err != nil {
			return
		}
		for _, need := range m.Needs {
			if back, err := image.ParseDigest(need.Digest.String()); err != nil || back != need.Digest {
				t.Errorf("digest %s does not read back: %v", need.Digest, err)
			}
		}
	})
}
