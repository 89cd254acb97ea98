package docker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	moby "github.com/moby/moby/api/types/image"
	"github.com/moby/moby/client"
	"github.com/moby/moby/client/pkg/versions"

	"github.com/ebb-io/ebb/internal/engine"
	"github.com/ebb-io/ebb/internal/image"
)

// images are all of the engine's, unfiltered: a filter hides other
// repositories' names of the same image.
func (e *Engine) images(ctx context.Context) ([]engine.Image, error) {
	list, err := within(ctx, listTimeout, e.list)
	if err != nil {
		return nil, err
	}
	images, err := merge(list)
	if err != nil {
		return nil, err
	}
	e.fillShared(ctx, images)
	e.fillPulled(ctx, images)
	if err := e.fillOrigins(ctx, images); err != nil {
		return nil, err
	}
	return images, ctx.Err()
}

func (e *Engine) list(ctx context.Context) ([]moby.Summary, error) {
	got, err := e.api.ImageList(ctx, client.ImageListOptions{
		All: true, SharedSize: e.speaks("1.42"), Manifests: e.what.Store == engine.Containerd,
	})
	if err != nil {
		return nil, err
	}
	if got.Items == nil {
		return nil, errors.New("the answer is no list")
	}
	return got.Items, nil
}

func (e *Engine) speaks(version string) bool {
	return versions.GreaterThanOrEqualTo(e.what.API, version)
}

// merge reads a list. An image that is listed twice has all names of both.
func merge(list []moby.Summary) ([]engine.Image, error) {
	byID := map[image.Digest]*engine.Image{}
	for i := range list {
		read, err := summary(&list[i])
		if err != nil {
			return nil, err
		}
		if have := byID[read.ID]; have != nil {
			have.Names = sorted(append(have.Names, read.Names...))
			have.Digests = sorted(append(have.Digests, read.Digests...))
			have.Manifests = append(have.Manifests, read.Manifests...)
			continue
		}
		byID[read.ID] = &read
	}
	out := make([]engine.Image, 0, len(byID))
	for _, i := range byID {
		i.Manifests = sortedDigests(i.Manifests)
		out = append(out, *i)
	}
	slices.SortFunc(out, func(a, b engine.Image) int { return a.ID.Compare(b.ID) })
	return out, nil
}

func summary(s *moby.Summary) (engine.Image, error) {
	id, err := parseID(s.ID)
	if err != nil {
		return engine.Image{}, fmt.Errorf("an image in the list: %w", err)
	}
	out := engine.Image{ID: id, Size: s.Size, Shared: s.SharedSize}
	if out.Names, out.Digests, err = names(s.RepoTags, s.RepoDigests); err != nil {
		return engine.Image{}, fmt.Errorf("image %s: %w", id, err)
	}
	out.Manifests, err = manifests(s.Manifests)
	if err != nil {
		return engine.Image{}, fmt.Errorf("image %s: %w", id, err)
	}
	return out, nil
}

// manifests are the digests of those that are here.
func manifests(list []moby.ManifestSummary) ([]image.Digest, error) {
	var out []image.Digest
	for i := range list {
		if !list[i].Available {
			continue
		}
		d, err := image.ParseDigest(list[i].ID)
		if err != nil {
			return nil, fmt.Errorf("manifest: %w", err)
		}
		out = append(out, d)
	}
	return sortedDigests(out), nil
}

// parseID reads an image's ID. Podman writes it without the algorithm.
func parseID(s string) (image.Digest, error) {
	if len(s) == 64 && !strings.Contains(s, ":") {
		s = "sha256:" + s
	}
	d, err := image.ParseDigest(s)
	if err != nil {
		return image.Digest{}, fmt.Errorf("image ID %q: %w", s, err)
	}
	return d, nil
}

// names reads an image's names. One that can't be read is an error, so that
// nothing is deleted: without it the image would look as if it had fewer.
func names(tags, digests []string) (named, digested []image.Name, err error) {
	if named, err = parseNames(tags); err != nil {
		return nil, nil, err
	}
	digested, err = parseNames(digests)
	return named, digested, err
}

func parseNames(list []string) ([]image.Name, error) {
	var out []image.Name
	for _, s := range list {
		if strings.Contains(s, "<none>") {
			continue // how engines write that there is no name
		}
		n, err := image.ParseName(s)
		if err != nil {
			return nil, err
		}
		if n.Tag == "" && !n.Digested {
			return nil, fmt.Errorf("image name %q: it has neither tag nor digest", s)
		}
		out = append(out, n)
	}
	return sorted(out), nil
}

func sorted(list []image.Name) []image.Name {
	slices.SortFunc(list, image.Name.Compare)
	return slices.Compact(list)
}

func sortedDigests(list []image.Digest) []image.Digest {
	slices.SortFunc(list, image.Digest.Compare)
	return slices.Compact(list)
}

// fillShared asks for what images share where the list did not say it. Sizes
// are for people and no evidence: without an answer they stay unknown.
func (e *Engine) fillShared(ctx context.Context, images []engine.Image) {
	if !slices.ContainsFunc(images, func(i engine.Image) bool { return i.Shared < 0 }) {
		return
	}
	usage, err := within(ctx, sizeTimeout, func(ctx context.Context) (client.DiskUsageResult, error) {
		return e.api.DiskUsage(ctx, client.DiskUsageOptions{Images: true, Verbose: true})
	})
	if err != nil {
		return
	}
	shared := map[image.Digest]int64{}
	for i := range usage.Images.Items {
		if id, err := parseID(usage.Images.Items[i].ID); err == nil {
			shared[id] = usage.Images.Items[i].SharedSize
		}
	}
	for i := range images {
		if bytes, ok := shared[images[i].ID]; ok && images[i].Shared < 0 {
			images[i].Shared = bytes
		}
	}
}

// fillOrigins asks for the repositories that untagged images came from: a plan
// goes by them.
func (e *Engine) fillOrigins(ctx context.Context, images []engine.Image) error {
	var bare []*engine.Image
	for i := range images {
		if len(images[i].Names) == 0 {
			bare = append(bare, &images[i])
		}
	}
	return e.identify(ctx, bare, func(err error) error { return err })
}

// Identify asks where images came from, as far as that is not known yet. It is
// for people and no evidence: without an answer it stays unknown.
func (e *Engine) Identify(ctx context.Context, images []*engine.Image) {
	ctx, cancel := context.WithTimeout(ctx, sizeTimeout)
	defer cancel()
	_ = e.identify(ctx, images, func(error) error { return nil })
}

// identify asks for the repositories that images were pulled from, which today's
// containerd store knows. Of an image that vanished meanwhile it stays unknown.
func (e *Engine) identify(ctx context.Context, images []*engine.Image, failed func(error) error) error {
	if e.what.Store != engine.Containerd || !e.speaks("1.53") {
		return nil
	}
	images = slices.DeleteFunc(images, func(i *engine.Image) bool { return i.Identified })
	return each(ctx, len(images), func(ctx context.Context, n int) error {
		i := images[n]
		got, err := within(ctx, listTimeout, func(ctx context.Context) (client.ImageInspectResult, error) {
			return e.api.ImageInspect(ctx, i.ID.String())
		})
		if notFound(err, noImage) {
			return nil
		}
		if err != nil {
			return failed(fmt.Errorf("image %s: %w", i.ID, err))
		}
		found, err := origins(&got.InspectResponse, i.ID)
		if err != nil {
			return failed(err)
		}
		i.Origins, i.Identified = found, true
		return nil
	})
}

func origins(got *moby.InspectResponse, id image.Digest) ([]string, error) {
	if answered, err := parseID(got.ID); err != nil || answered != id {
		return nil, fmt.Errorf("image %s: the engine answered with image %q", id, got.ID)
	}
	if got.Identity == nil {
		return nil, nil
	}
	var out []string
	for _, p := range got.Identity.Pull {
		n, err := image.ParseName(p.Repository)
		if err != nil {
			return nil, fmt.Errorf("image %s: origin: %w", id, err)
		}
		out = append(out, n.Repository)
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}
