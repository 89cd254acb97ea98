package docker

import (
	"context"
	"errors"
	"fmt"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/client"

	"github.com/ebb-io/ebb/internal/engine"
	"github.com/ebb-io/ebb/internal/image"
)

// Inspect is one image by a name with a tag or digest, or by its full ID. Its
// error is ErrNotFound when the engine says that there is none.
func (e *Engine) Inspect(ctx context.Context, ref string) (engine.Image, error) {
	ref, id, err := exact(ref)
	if err != nil {
		return engine.Image{}, err
	}
	got, err := within(ctx, listTimeout, func(ctx context.Context) (client.ImageInspectResult, error) {
		return e.api.ImageInspect(ctx, ref)
	})
	if err != nil {
		return engine.Image{}, e.said(ref, err)
	}
	answered, err := parseID(got.ID)
	if err != nil {
		return engine.Image{}, fmt.Errorf("image %s: %w", ref, err)
	}
	if id != nil && *id != answered {
		return engine.Image{}, fmt.Errorf("image %s: the engine answered with image %s", ref, answered)
	}
	out := engine.Image{ID: answered, Size: got.Size, Shared: -1}
	if out.Names, out.Digests, err = names(got.RepoTags, got.RepoDigests); err != nil {
		return engine.Image{}, fmt.Errorf("image %s: %w", ref, err)
	}
	if len(out.Names) == 0 && got.Identity != nil {
		out.Origins, err = origins(&got.InspectResponse, answered)
	}
	return out, err
}

// Remove removes a name with a tag or digest, or an image by its full ID:
// never by force, never with parents. ErrNotFound: it is gone already.
// ErrConflict: the engine needs it, or it has other names.
func (e *Engine) Remove(ctx context.Context, ref string) error {
	ref, _, err := exact(ref)
	if err != nil {
		return err
	}
	_, err = within(ctx, deleteTimeout, func(ctx context.Context) (client.ImageRemoveResult, error) {
		return e.api.ImageRemove(ctx, ref, client.ImageRemoveOptions{})
	})
	return e.said(ref, err)
}

// Tag gives an image one more name, which must have a tag and no digest.
func (e *Engine) Tag(ctx context.Context, id image.Digest, name image.Name) error {
	if name.Repository == "" || name.Tag == "" || name.Digested {
		return fmt.Errorf("image %s: %q is no name with a tag", id, name)
	}
	_, err := within(ctx, listTimeout, func(ctx context.Context) (client.ImageTagResult, error) {
		return e.api.ImageTag(ctx, client.ImageTagOptions{Source: id.String(), Target: name.String()})
	})
	return e.said(id.String(), err)
}

// Names are the names of all images, by one call, for completion.
func (e *Engine) Names(ctx context.Context) ([]image.Name, error) {
	list, err := e.api.ImageList(ctx, client.ImageListOptions{})
	if err != nil {
		return nil, err
	}
	images, err := merge(list.Items)
	if err != nil {
		return nil, err
	}
	var out []image.Name
	for i := range images {
		out = append(out, images[i].Names...)
	}
	return sorted(out), nil
}

// exact is a reference as it is sent. Without a tag or digest a name means
// latest to an engine, and a short ID may be another image's name: neither is
// exact.
func exact(ref string) (string, *image.Digest, error) {
	if id, err := image.ParseDigest(ref); err == nil {
		return id.String(), &id, nil
	}
	n, err := image.ParseName(ref)
	if err != nil {
		return "", nil, err
	}
	if n.Tag == "" && !n.Digested {
		return "", nil, fmt.Errorf("image name %q: it has neither tag nor digest", ref)
	}
	return n.String(), nil, nil
}

// said tells by the engine's answer what became of a call.
func (e *Engine) said(ref string, err error) error {
	switch {
	case err == nil:
		return nil
	case notFound(err, noImage):
		return fmt.Errorf("image %s: %w: %w", ref, ErrNotFound, err)
	case errdefs.IsConflict(err) && !errors.Is(err, context.Canceled):
		return fmt.Errorf("image %s: %w: %w", ref, ErrConflict, err)
	case client.IsErrConnectionFailed(err):
		return fmt.Errorf("image %s: %w: %w", ref, ErrAway, err)
	}
	return fmt.Errorf("image %s: %w", ref, err)
}
