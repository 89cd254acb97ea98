package demo

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"strconv"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

const application = "apps/web"

// form is a family of media types.
type form struct{ image, index, config, layer types.MediaType }

func oci() form {
	return form{types.OCIManifestSchema1, types.OCIImageIndex, types.OCIConfigJSON, types.OCIUncompressedLayer}
}

func docker() form {
	return form{types.DockerManifestSchema2, types.DockerManifestList, types.DockerConfigJSON, types.DockerUncompressedLayer}
}

// diskImage is a machine's image as importers write it: one uncompressed tar
// with the disk in it, and its sizes as labels. The same name and size make
// the same layer.
func diskImage(name string, size int) (v1.Image, error) {
	layer, err := archive("disk/"+name+".img", random(name, size))
	if err != nil {
		return nil, err
	}
	config := v1.Config{Labels: map[string]string{
		"source-image-size":         strconv.Itoa(size),
		"source-image-virtual-size": strconv.Itoa(size),
		"source-image-format":       "raw",
		"erofs-compatible-layers":   "true",
	}}
	return build(oci(), "amd64", config, layer)
}

// platforms is one version of the application for two platforms, on a base
// that all versions share.
func platforms(version string, f form) (v1.ImageIndex, error) {
	index := mutate.IndexMediaType(empty.Index, f.index)
	for _, architecture := range []string{"amd64", "arm64"} {
		config := v1.Config{Labels: map[string]string{"org.opencontainers.image.version": version}}
		image, err := build(f, architecture, config, random("base", 6*mebibyte), random(version+architecture, mebibyte))
		if err != nil {
			return nil, fmt.Errorf("image %s of %s: %w", architecture, version, err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add:        image,
			Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: architecture}},
		})
	}
	return index, nil
}

func build(f form, architecture string, config v1.Config, layers ...[]byte) (v1.Image, error) {
	image, err := mutate.ConfigFile(empty.Image, &v1.ConfigFile{
		OS: "linux", Architecture: architecture, Config: config, RootFS: v1.RootFS{Type: "layers"},
	})
	if err != nil {
		return nil, err
	}
	image = mutate.ConfigMediaType(mutate.MediaType(image, f.image), f.config)
	for _, layer := range layers {
		if image, err = mutate.AppendLayers(image, static.NewLayer(layer, f.layer)); err != nil {
			return nil, err
		}
	}
	return image, nil
}

func archive(name string, content []byte) ([]byte, error) {
	var buffer bytes.Buffer
	buffer.Grow(len(content) + 4096)
	w := tar.NewWriter(&buffer)
	if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(content))}); err != nil {
		return nil, err
	}
	if _, err := w.Write(content); err != nil {
		return nil, err
	}
	return buffer.Bytes(), w.Close()
}

// random is content that does not compress and depends on its name alone.
func random(name string, size int) []byte {
	content := make([]byte, size)
	_, _ = rand.NewChaCha8(sha256.Sum256([]byte(name))).Read(content) // it never fails
	return content
}
