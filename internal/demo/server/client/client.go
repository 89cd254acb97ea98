// Package client is what the demo and the tests ask of a registry: push, tag,
// leave an upload unfinished, list, and prove that an image is whole.
//
// It speaks to registries on loopback ports alone: plain HTTP and no
// credentials. It never deletes.
package client

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// Client speaks to the registry at Host, a host and port.
type Client struct {
	Host   string
	Sparse bool // PullWhole leaves out children of an index that are absent
	// HTTP sends what PullWhole asks; nil is the usual client. A test may give
	// one that needs no connection.
	HTTP *http.Client
}

// PushImage writes an image with all its parts and returns its digest. Without
// a tag it is pushed by digest.
func (c Client) PushImage(ctx context.Context, repo, tag string, image v1.Image) (string, error) {
	digest, err := image.Digest()
	if err != nil {
		return "", fmt.Errorf("push to %s: %w", repo, err)
	}
	ref, err := c.reference(repo, tag, digest.String())
	if err != nil {
		return "", err
	}
	if err := remote.Write(ref, image, options(ctx)...); err != nil {
		return "", fmt.Errorf("push %s: %w", ref, err)
	}
	return digest.String(), nil
}

// PushIndex writes an index with all its children and returns its digest.
// Without a tag it is pushed by digest.
func (c Client) PushIndex(ctx context.Context, repo, tag string, index v1.ImageIndex) (string, error) {
	digest, err := index.Digest()
	if err != nil {
		return "", fmt.Errorf("push to %s: %w", repo, err)
	}
	ref, err := c.reference(repo, tag, digest.String())
	if err != nil {
		return "", err
	}
	if err := remote.WriteIndex(ref, index, options(ctx)...); err != nil {
		return "", fmt.Errorf("push %s: %w", ref, err)
	}
	return digest.String(), nil
}

// Tag gives what ref names, a tag or a digest, another tag.
func (c Client) Tag(ctx context.Context, repo, ref, tag string) error {
	from, err := c.reference(repo, ref, ref)
	if err != nil {
		return err
	}
	to, err := name.NewTag(c.Host + "/" + repo + ":" + tag)
	if err != nil {
		return fmt.Errorf("tag %s:%s: %w", repo, tag, err)
	}
	descriptor, err := remote.Get(from, options(ctx)...)
	if err != nil {
		return fmt.Errorf("tag %s:%s: %w", repo, tag, err)
	}
	if err := remote.Tag(to, descriptor, options(ctx)...); err != nil {
		return fmt.Errorf("tag %s:%s: %w", repo, tag, err)
	}
	return nil
}

// Resolve is the digest that a tag names.
func (c Client) Resolve(ctx context.Context, repo, tag string) (string, error) {
	ref, err := c.reference(repo, tag, "")
	if err != nil {
		return "", err
	}
	descriptor, err := remote.Head(ref, options(ctx)...)
	if err != nil {
		return "", fmt.Errorf("resolve %s: %w", ref, err)
	}
	return descriptor.Digest.String(), nil
}

// PushReferrer writes an artifact whose subject is a manifest of the same
// repository and returns its digest. As any client of a registry without the
// referrers API it also writes the fallback tag.
func (c Client) PushReferrer(ctx context.Context, repo, subject, payload string) (string, error) {
	ref, err := c.reference(repo, "", subject)
	if err != nil {
		return "", err
	}
	descriptor, err := remote.Head(ref, options(ctx)...)
	if err != nil {
		return "", fmt.Errorf("push referrer of %s: %w", ref, err)
	}
	artifact, err := signature(payload, "application/vnd.dev.cosign.artifact.sig.v1+json")
	if err != nil {
		return "", fmt.Errorf("push referrer of %s: %w", ref, err)
	}
	image, ok := mutate.Subject(artifact, *descriptor).(v1.Image)
	if !ok {
		return "", fmt.Errorf("push referrer of %s: not an image", ref)
	}
	return c.PushImage(ctx, repo, "", image)
}

// PushCosignTag writes an image under the tag that names its subject, as
// cosign does, and returns tag and digest. The suffix is ".sig", ".att" or ".sbom".
func (c Client) PushCosignTag(ctx context.Context, repo, subject, suffix, payload string) (tag, digest string, err error) {
	image, err := signature(payload, types.OCIConfigJSON)
	if err != nil {
		return "", "", fmt.Errorf("push %s of %s: %w", suffix, subject, err)
	}
	tag = strings.Replace(subject, ":", "-", 1) + suffix
	digest, err = c.PushImage(ctx, repo, tag, image)
	return tag, digest, err
}

// StartUpload begins an upload, sends data and leaves it unfinished. It
// returns the upload's identifier.
func (c Client) StartUpload(ctx context.Context, repo string, data []byte) (string, error) {
	location, err := c.upload(ctx, http.MethodPost, "http://"+c.Host+"/v2/"+repo+"/blobs/uploads/", nil)
	if err != nil {
		return "", fmt.Errorf("start upload to %s: %w", repo, err)
	}
	if _, err := c.upload(ctx, http.MethodPatch, location, data); err != nil {
		return "", fmt.Errorf("upload to %s: %w", repo, err)
	}
	where, err := url.Parse(location)
	if err != nil {
		return "", fmt.Errorf("upload to %s: %w", repo, err)
	}
	return where.Path[strings.LastIndexByte(where.Path, '/')+1:], nil
}

// Catalog lists the repositories, sorted.
func (c Client) Catalog(ctx context.Context) ([]string, error) {
	registry, err := name.NewRegistry(c.Host)
	if err != nil {
		return nil, fmt.Errorf("catalog of %s: %w", c.Host, err)
	}
	repositories, err := remote.Catalog(ctx, registry, options(ctx)...)
	if err != nil {
		return nil, fmt.Errorf("catalog of %s: %w", c.Host, err)
	}
	slices.Sort(repositories)
	return repositories, nil
}

// Tags lists a repository's tags, sorted.
func (c Client) Tags(ctx context.Context, repo string) ([]string, error) {
	repository, err := name.NewRepository(c.Host + "/" + repo)
	if err != nil {
		return nil, fmt.Errorf("tags of %s: %w", repo, err)
	}
	tags, err := remote.List(repository, options(ctx)...)
	if err != nil {
		return nil, fmt.Errorf("tags of %s: %w", repo, err)
	}
	slices.Sort(tags)
	return tags, nil
}

func (c Client) upload(ctx context.Context, method, address string, data []byte) (location string, err error) {
	request, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(data))
	if err != nil {
		return "", err
	}
	request.Close = true // a registry may have been started anew at this address
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer func() { _ = response.Body.Close() }()
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		return "", err
	}
	if response.StatusCode != http.StatusAccepted {
		return "", fmt.Errorf("%s %s: %s", method, address, response.Status)
	}
	return response.Header.Get("Location"), nil
}

// reference is a tag, or the digest where the tag is empty or is a digest.
func (c Client) reference(repo, tag, digest string) (name.Reference, error) {
	written := c.Host + "/" + repo + ":" + tag
	if tag == "" || tag == digest {
		written = c.Host + "/" + repo + separator(digest) + digest
	}
	ref, err := name.ParseReference(written)
	if err != nil {
		return nil, fmt.Errorf("reference %s: %w", written, err)
	}
	return ref, nil
}

func separator(ref string) string {
	if strings.Contains(ref, ":") {
		return "@"
	}
	return ":"
}

func options(ctx context.Context) []remote.Option {
	return []remote.Option{remote.WithContext(ctx)}
}

// signature is a small image with one layer, as signing tools write it. Its
// config's type tells what kind of artifact it is.
func signature(payload string, config types.MediaType) (v1.Image, error) {
	layer := static.NewLayer([]byte(payload), types.MediaType("application/vnd.dev.cosign.simplesigning.v1+json"))
	image, err := mutate.AppendLayers(mutate.MediaType(empty.Image, types.OCIManifestSchema1), layer)
	if err != nil {
		return nil, err
	}
	return mutate.ConfigMediaType(image, config), nil
}
