package client

import (
	"cmp"
	"context"
	_ "crypto/sha512" // digests may be sha512
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/opencontainers/go-digest"
	v1 "github.com/opencontainers/image-spec/specs-go/v1"
)

// errAbsent says that a registry answered 404.
var errAbsent = errors.New("404 Not Found")

// PullWhole pulls what ref names, a tag or a digest: the manifest, the
// children of an index at every depth, configs and layers. Every size and
// every digest is verified. The error names all that is broken. Layers that
// may not be distributed are not asked for.
//
// It does not use go-containerregistry, which knows no digest but sha256.
func (c Client) PullWhole(ctx context.Context, repo, ref string) error {
	p := pull{client: c, repo: repo, seen: map[digest.Digest]bool{}}
	p.root(ctx, ref)
	if len(p.broken) == 0 {
		return nil
	}
	return fmt.Errorf("pull %s%s%s: %w", repo, separator(ref), ref, errors.Join(p.broken...))
}

type pull struct {
	client Client
	repo   string
	seen   map[digest.Digest]bool
	broken []error
}

// content is what any manifest can name, of whatever type it is.
type content struct {
	Config    *v1.Descriptor  `json:"config"`
	Layers    []v1.Descriptor `json:"layers"`
	Manifests []v1.Descriptor `json:"manifests"`
}

func (p *pull) root(ctx context.Context, ref string) {
	raw, served, err := p.manifest(ctx, ref)
	if err != nil {
		p.breaks("manifest "+ref, err)
		return
	}
	expected := digest.Digest(ref)
	if !strings.Contains(ref, ":") {
		expected = served
	}
	p.parts(ctx, v1.Descriptor{Digest: expected, Size: int64(len(raw))}, raw)
}

func (p *pull) child(ctx context.Context, child v1.Descriptor) {
	raw, _, err := p.manifest(ctx, child.Digest.String())
	if errors.Is(err, errAbsent) && p.client.Sparse {
		return
	}
	if err != nil {
		p.breaks("child "+child.Digest.String(), err)
		return
	}
	p.parts(ctx, child, raw)
}

func (p *pull) parts(ctx context.Context, manifest v1.Descriptor, raw []byte) {
	name := "manifest " + manifest.Digest.String()
	if err := verify(manifest, strings.NewReader(string(raw))); err != nil {
		p.breaks(name, err)
		return
	}
	var content content
	if err := json.Unmarshal(raw, &content); err != nil {
		p.breaks(name, err)
		return
	}
	for _, child := range content.Manifests {
		p.once(child, func() { p.child(ctx, child) })
	}
	if content.Config != nil {
		p.once(*content.Config, func() { p.blob(ctx, "config", *content.Config) })
	}
	for _, layer := range content.Layers {
		p.once(layer, func() { p.layer(ctx, layer) })
	}
}

func (p *pull) layer(ctx context.Context, layer v1.Descriptor) {
	if strings.Contains(layer.MediaType, ".nondistributable.") || strings.Contains(layer.MediaType, ".foreign.") {
		return
	}
	p.blob(ctx, "layer", layer)
}

func (p *pull) blob(ctx context.Context, kind string, blob v1.Descriptor) {
	err := p.get(ctx, "blobs/"+blob.Digest.String(), func(_ http.Header, body io.Reader) error {
		return verify(blob, body)
	})
	if err != nil {
		p.breaks(kind+" "+blob.Digest.String(), err)
	}
}

func (p *pull) manifest(ctx context.Context, ref string) (raw []byte, served digest.Digest, err error) {
	err = p.get(ctx, "manifests/"+ref, func(header http.Header, body io.Reader) error {
		served = digest.Digest(header.Get("Docker-Content-Digest"))
		raw, err = io.ReadAll(body)
		return err
	})
	return raw, served, err
}

func (p *pull) get(ctx context.Context, what string, use func(http.Header, io.Reader) error) error {
	address := "http://" + p.client.Host + "/v2/" + p.repo + "/" + what
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return err
	}
	request.Header["Accept"] = []string{
		v1.MediaTypeImageManifest, v1.MediaTypeImageIndex,
		"application/vnd.docker.distribution.manifest.v2+json",
		"application/vnd.docker.distribution.manifest.list.v2+json", "*/*",
	}
	response, err := cmp.Or(p.client.HTTP, http.DefaultClient).Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode == http.StatusNotFound {
		return errAbsent
	}
	if response.StatusCode != http.StatusOK {
		return errors.New(response.Status)
	}
	return use(response.Header, response.Body)
}

// once visits a part the first time that it is named, so that nested indexes
// and shared layers are pulled one time.
func (p *pull) once(part v1.Descriptor, visit func()) {
	if p.seen[part.Digest] {
		return
	}
	p.seen[part.Digest] = true
	visit()
}

func (p *pull) breaks(what string, err error) {
	p.broken = append(p.broken, fmt.Errorf("%s: %w", what, err))
}

func verify(expected v1.Descriptor, r io.Reader) error {
	if err := expected.Digest.Validate(); err != nil {
		return err
	}
	verifier := expected.Digest.Verifier()
	n, err := io.Copy(verifier, r)
	if err != nil {
		return err
	}
	if n != expected.Size {
		return fmt.Errorf("size is %d bytes, want %d", n, expected.Size)
	}
	if !verifier.Verified() {
		return errors.New("content does not match its digest")
	}
	return nil
}
