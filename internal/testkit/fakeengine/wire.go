package fakeengine

import (
	"encoding/json"
	"maps"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/image"
	"github.com/moby/moby/api/types/mount"
	"github.com/moby/moby/api/types/swarm"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/ebb-io/ebb/internal/engine"
)

type object = map[string]any

func (e *Engine) info(api int) any {
	status := [][2]string{{"Backing Filesystem", "extfs"}}
	driver := "overlay2"
	if e.opts.Store == engine.Containerd {
		driver, status = "overlayfs", [][2]string{{"driver-type", "io.containerd.snapshotter.v1"}}
	}
	running := 0
	for _, c := range e.containers {
		if c.live() {
			running++
		}
	}
	out := object{
		"ID": e.opts.ID, "Name": e.opts.Name, "ServerVersion": e.opts.Version, "Driver": driver,
		"DriverStatus": status, "DockerRootDir": e.opts.Root, "OSType": "linux", "Architecture": "x86_64",
		"SystemTime": e.opts.Now().Format(time.RFC3339Nano),
		"Containers": len(e.containers), "ContainersRunning": running, "Images": len(e.images),
		"Swarm": object{"LocalNodeState": strings.Split(e.swarm(), "/")[0], "ControlAvailable": e.opts.Manager},
	}
	if api >= 46 && !e.opts.Podman {
		out["Containerd"] = object{"Address": e.leases, "Namespaces": object{"Containers": "moby", "Plugins": "plugins.moby"}}
	}
	return out
}

func (e *Engine) version() any {
	component := "Engine"
	if e.opts.Podman {
		component = "Podman Engine"
	}
	return object{
		"Version": e.opts.Version, "ApiVersion": e.opts.API, "MinAPIVersion": e.opts.MinAPI, "Os": "linux", "Arch": "amd64",
		"Components": []object{{"Name": component, "Version": e.opts.Version}},
	}
}

// written is an ID as the engine writes it.
func (e *Engine) written(id string) string {
	if e.opts.Podman {
		return strings.TrimPrefix(id, "sha256:")
	}
	return id
}

// shuffled is a list in the order that was asked for.
func shuffled[T any](seed uint64, list []T) []T {
	if seed != 0 {
		r := rand.New(rand.NewPCG(seed, seed)) //nolint:gosec // an order, no secret
		r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	}
	return list
}

// references are the patterns of a filter by reference.
func references(filters string) []string {
	f := map[string]map[string]bool{}
	_ = json.Unmarshal([]byte(filters), &f)
	return slices.Sorted(maps.Keys(f["reference"]))
}

// shows tells whether patterns let a name through: it hides those of other
// repositories, also where they are of the same image.
func shows(patterns []string, name string) bool {
	return len(patterns) == 0 || slices.ContainsFunc(patterns, func(p string) bool {
		whole, _ := path.Match(p, name)
		bare, _ := path.Match(p, familiar(repository(name)))
		return whole || bare
	})
}

func (e *Engine) listImages(api int, shared bool, patterns []string) []image.Summary {
	out := []image.Summary{}
	for _, id := range slices.Sorted(maps.Keys(e.images)) {
		h := e.images[id]
		s := image.Summary{
			ID: e.written(id), Created: h.Created.Unix(), Labels: h.Labels, ParentID: h.Parent,
			Size: h.size(), SharedSize: -1, Containers: -1,
		}
		s.RepoTags, s.RepoDigests = e.listedNames(id)
		hidden := func(name string) bool { return !shows(patterns, name) }
		s.RepoTags, s.RepoDigests = slices.DeleteFunc(s.RepoTags, hidden), slices.DeleteFunc(s.RepoDigests, hidden)
		if len(patterns) > 0 && len(s.RepoTags)+len(s.RepoDigests) == 0 {
			continue
		}
		s.RepoTags, s.RepoDigests = shuffled(e.order, s.RepoTags), shuffled(e.order, s.RepoDigests)
		if api < 43 && len(s.RepoTags)+len(s.RepoDigests) == 0 && !e.opts.Podman {
			s.RepoTags, s.RepoDigests = []string{"<none>:<none>"}, []string{"<none>@<none>"}
		}
		if api >= 43 && !e.opts.Podman {
			s.RepoTags, s.RepoDigests = orEmpty(s.RepoTags), orEmpty(s.RepoDigests)
		}
		if api >= 42 && shared {
			s.SharedSize = e.shared(h)
		}
		if api >= 51 {
			s.Containers = e.users(id)
		}
		if api >= 48 && e.opts.Store == engine.Containerd {
			s.Descriptor = descriptor(h.Index, ocispec.MediaTypeImageIndex)
		}
		out = append(out, s)
	}
	return shuffled(e.order, out)
}

// listedNames are an image's names as a list shows them: a containerd store
// shows the digest of one name alone, and digests that were pulled as tags.
func (e *Engine) listedNames(id string) (tags, digests []string) {
	tags, digests = e.allNames(id)
	if e.opts.Store == engine.Containerd && len(digests) > 1 {
		names := e.names(id)
		digests = []string{familiar(repository(names[len(names)-1]) + "@" + id)}
	}
	return tags, digests
}

func (e *Engine) allNames(id string) (tags, digests []string) {
	for _, ref := range e.names(id) {
		switch {
		case e.opts.Store == engine.Containerd:
			tags = append(tags, familiar(ref))
			digests = add(digests, familiar(repository(ref)+"@"+id))
		case isDigest(ref):
			digests = append(digests, familiar(ref))
		default:
			tags = append(tags, familiar(ref))
		}
	}
	return tags, digests
}

func (e *Engine) inspectImage(s string, api int) (any, error) {
	id, _, err := e.resolve(s)
	if err != nil {
		return nil, err
	}
	h := e.images[id]
	out := object{
		"Id": e.written(id), "Created": h.Created.Format(time.RFC3339Nano), "Size": h.size(), "Os": "linux", "Architecture": "amd64",
		"Metadata": object{"LastTagTime": h.tagged}, "Config": object{"Labels": h.Labels}, "Parent": h.Parent,
	}
	tags, digests := e.allNames(id)
	out["RepoTags"], out["RepoDigests"] = orEmpty(tags), orEmpty(digests)
	if e.opts.Store == engine.Containerd && api >= 48 {
		out["Descriptor"] = descriptor(h.Index, ocispec.MediaTypeImageIndex)
	}
	if e.opts.Store == engine.Containerd && api >= 53 && len(h.origins) > 0 {
		identity := image.Identity{}
		for _, o := range h.origins {
			identity.Pull = append(identity.Pull, image.PullIdentity{Repository: o})
		}
		out["Identity"] = identity
	}
	return out, nil
}

func (h *held) size() int64 {
	var n int64
	for _, l := range h.Layers {
		n += l.Size
	}
	return n
}

// shared is the size of those layers that another image has too.
func (e *Engine) shared(h *held) int64 {
	count := map[string]int{}
	for _, o := range e.images {
		for _, l := range o.Layers {
			count[l.Name]++
		}
	}
	var n int64
	for _, l := range h.Layers {
		if count[l.Name] > 1 {
			n += l.Size
		}
	}
	return n
}

func (e *Engine) users(id string) int64 {
	n := int64(0)
	for _, c := range e.containers {
		if c.Image == id {
			n++
		}
	}
	return n
}

// diskUsage measures what list can't below 1.42; its form changed with 1.52.
func (e *Engine) diskUsage(api int, verbose bool) any {
	layers := map[string]int64{}
	for _, h := range e.images {
		for _, l := range h.Layers {
			layers[l.Name] = l.Size
		}
	}
	var total int64
	for _, n := range layers {
		total += n
	}
	items := e.listImages(max(api, 42), true, nil)
	for i := range items {
		items[i].Containers = e.users("sha256:" + strings.TrimPrefix(items[i].ID, "sha256:"))
	}
	out := object{}
	if api < 52 || api == 52 && !verbose {
		out["LayersSize"], out["Images"] = total, items
	}
	if api >= 52 {
		usage := image.DiskUsage{TotalSize: total, TotalCount: int64(len(items))}
		if verbose {
			usage.Items = items
		}
		out["ImageUsage"] = usage
	}
	return out
}

func (e *Engine) listContainers(api int, all bool) []container.Summary {
	out := []container.Summary{}
	for _, c := range e.containers {
		if !all && !c.live() {
			continue
		}
		s := container.Summary{
			ID: c.ID, Names: []string{"/" + c.Name}, Image: e.shown(c), ImageID: e.written(c.Image),
			State: container.ContainerState(c.State), Status: c.State, Labels: c.Labels, Mounts: c.mounts(),
		}
		if c.manifest != "" && api >= 48 {
			s.ImageManifestDescriptor = descriptor(c.manifest, ocispec.MediaTypeImageManifest)
		}
		out = append(out, s)
	}
	return shuffled(e.order, out)
}

// shown is a container's image in a list: its ID once the name has moved on.
func (e *Engine) shown(c *Container) string {
	if id, _, err := e.resolve(c.From); err != nil || id != c.Image {
		return c.Image
	}
	return c.From
}

func (c *Container) mounts() []container.MountPoint {
	out := []container.MountPoint{}
	for _, m := range c.Mounts {
		out = append(out, container.MountPoint{Type: mount.TypeImage, Name: m, Source: "/var/lib/docker/mounts/" + m, Destination: "/mnt"})
	}
	return out
}

func (e *Engine) inspectContainer(s string, api int) (any, error) {
	c := e.container(s)
	if c == nil {
		return nil, e.noSuch("container", s)
	}
	state := container.State{Status: container.ContainerState(c.State), Running: c.live(), Paused: c.State == "paused", Restarting: c.State == "restarting", Dead: c.State == "dead"}
	if c.Health != "" {
		state.Health = &container.Health{Status: container.HealthStatus(c.Health)}
	}
	out := container.InspectResponse{
		ID: c.ID, Name: "/" + c.Name, Image: e.written(c.Image), State: &state, Mounts: c.mounts(),
		Config: &container.Config{Image: c.From, Labels: c.Labels},
	}
	if c.manifest != "" && api >= 48 {
		out.ImageManifestDescriptor = descriptor(c.manifest, ocispec.MediaTypeImageManifest)
	}
	return out, nil
}

func (e *Engine) listServices() (any, error) {
	if !e.opts.Manager {
		return nil, fault(503, "This node is not a swarm manager. Use \"docker swarm init\" or \"docker swarm join\" to connect this node to swarm and try again.")
	}
	out := []swarm.Service{}
	for _, s := range e.services {
		one := swarm.Service{ID: short(Digest(s.Name)), Spec: spec(s.Name, s.Image)}
		if s.Previous != "" {
			previous := spec(s.Name, s.Previous)
			one.PreviousSpec = &previous
		}
		out = append(out, one)
	}
	return out, nil
}

func spec(name, image string) swarm.ServiceSpec {
	return swarm.ServiceSpec{
		Annotations:  swarm.Annotations{Name: name},
		TaskTemplate: swarm.TaskSpec{ContainerSpec: &swarm.ContainerSpec{Image: image}},
	}
}

func descriptor(d, media string) *ocispec.Descriptor {
	return &ocispec.Descriptor{MediaType: media, Digest: digest.Digest(d), Size: 1000}
}

func orEmpty(s []string) []string {
	if s == nil {
		return []string{}
	}
	return s
}
