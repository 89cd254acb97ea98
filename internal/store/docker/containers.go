package docker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/mount"
	"github.com/moby/moby/client"

	"github.com/ebb-io/ebb/internal/engine"
	"github.com/ebb-io/ebb/internal/image"
)

// rounds is how often the containers are listed while some keep vanishing.
const rounds = 5

// errVanished is a container that was listed and is there no more.
var errVanished = errors.New("containers keep vanishing")

// containers lists and inspects all: the list shows a bare ID for a container
// whose image's name has moved on, and that name is still needed.
func (e *Engine) containers(ctx context.Context) ([]engine.Container, error) {
	for range rounds {
		out, err := e.containersOnce(ctx)
		if !errors.Is(err, errVanished) {
			return out, err
		}
	}
	return nil, errVanished
}

func (e *Engine) containersOnce(ctx context.Context) ([]engine.Container, error) {
	list, err := within(ctx, listTimeout, func(ctx context.Context) (client.ContainerListResult, error) {
		return e.api.ContainerList(ctx, client.ContainerListOptions{All: true})
	})
	if err != nil {
		return nil, err
	}
	if list.Items == nil {
		return nil, errors.New("the answer is no list")
	}
	out := make([]engine.Container, len(list.Items))
	err = each(ctx, len(list.Items), func(ctx context.Context, i int) (err error) {
		out[i], err = e.inspect(ctx, &list.Items[i])
		return err
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(out, func(a, b engine.Container) int { return strings.Compare(a.ID, b.ID) })
	return slices.CompactFunc(out, func(a, b engine.Container) bool { return a.ID == b.ID }), nil
}

// inspect completes what the list says of a container. One that is being
// removed can't always be inspected: the list then has to do.
func (e *Engine) inspect(ctx context.Context, s *container.Summary) (engine.Container, error) {
	out, err := listed(s)
	if err != nil {
		return engine.Container{}, err
	}
	got, err := within(ctx, listTimeout, func(ctx context.Context) (client.ContainerInspectResult, error) {
		return e.api.ContainerInspect(ctx, s.ID, client.ContainerInspectOptions{})
	})
	switch {
	case err == nil:
		return out, complete(&out, &got.Container)
	case ctx.Err() != nil:
		return engine.Container{}, ctx.Err()
	case s.State == container.StateRemoving:
		return out, nil
	case notFound(err, noContainer):
		return engine.Container{}, fmt.Errorf("container %s: %w", s.ID, errVanished)
	}
	return engine.Container{}, fmt.Errorf("container %s: %w", s.ID, err)
}

// listed is what the list says of a container.
func listed(s *container.Summary) (engine.Container, error) {
	if s.ID == "" {
		return engine.Container{}, errors.New("a container without an ID")
	}
	id, err := madeFrom(s.ImageID, s.Image)
	if err != nil {
		return engine.Container{}, fmt.Errorf("container %s: %w", s.ID, err)
	}
	out := engine.Container{ID: s.ID, State: string(s.State), Image: id, From: s.Image, Compose: compose(s.Labels)}
	if len(s.Names) > 0 {
		out.Name = strings.TrimPrefix(s.Names[0], "/")
	}
	if d := s.ImageManifestDescriptor; d != nil {
		out.Manifest, err = image.ParseDigest(d.Digest.String())
		out.HasManifest = true
	}
	if err != nil {
		return engine.Container{}, fmt.Errorf("container %s: manifest: %w", s.ID, err)
	}
	addMounts(&out, s.Mounts)
	return out, nil
}

// madeFrom is the ID of a container's image. One that has neither ID nor name
// is of none, as in podman's pods; with half of it the answer is not in full.
func madeFrom(id, name string) (image.Digest, error) {
	if id == "" && name == "" {
		return image.Digest{}, nil
	}
	if name == "" {
		return image.Digest{}, errors.New("its image has no name")
	}
	return parseID(id)
}

// complete adds what the inspection says.
func complete(out *engine.Container, c *container.InspectResponse) error {
	if c.ID != out.ID || c.Config == nil || c.State == nil {
		return fmt.Errorf("container %s: the engine's answer is not about it, or not in full", out.ID)
	}
	id, err := madeFrom(c.Image, c.Config.Image)
	if err != nil {
		return fmt.Errorf("container %s: %w", out.ID, err)
	}
	if id != out.Image {
		return fmt.Errorf("container %s: made from image %s by the list, from %s by itself", out.ID, out.Image, id)
	}
	out.From, out.State = c.Config.Image, string(c.State.Status)
	if out.Name == "" {
		out.Name = strings.TrimPrefix(c.Name, "/")
	}
	if h := c.State.Health; h != nil && h.Status != container.NoHealthcheck {
		out.Health = string(h.Status)
	}
	if d := c.ImageManifestDescriptor; d != nil && !out.HasManifest {
		if out.Manifest, err = image.ParseDigest(d.Digest.String()); err != nil {
			return fmt.Errorf("container %s: manifest: %w", out.ID, err)
		}
		out.HasManifest = true
	}
	if c.HostConfig != nil {
		addAsked(out, c.HostConfig.Mounts)
	}
	addMounts(out, c.Mounts)
	return nil
}

// addAsked adds the images that the container was asked to mount.
func addAsked(out *engine.Container, mounts []mount.Mount) {
	for _, m := range mounts {
		if m.Type == mount.TypeImage && m.Source != "" {
			out.Mounts = append(out.Mounts, m.Source)
		}
	}
}

// addMounts adds the images that are mounted. An engine names one by what it
// was asked for.
func addMounts(out *engine.Container, mounts []container.MountPoint) {
	for _, m := range mounts {
		if m.Type == mount.TypeImage && m.Name != "" {
			out.Mounts = append(out.Mounts, m.Name)
		}
	}
	slices.Sort(out.Mounts)
	out.Mounts = slices.Compact(out.Mounts)
}

func compose(labels map[string]string) engine.Compose {
	return engine.Compose{
		Project:  labels["com.docker.compose.project"],
		Files:    split(labels["com.docker.compose.project.config_files"]),
		Dir:      labels["com.docker.compose.project.working_dir"],
		EnvFiles: split(labels["com.docker.compose.project.environment_file"]),
	}
}

func split(list string) []string {
	if list == "" {
		return nil
	}
	return strings.Split(list, ",")
}
