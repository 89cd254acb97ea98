package fakeengine

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/distribution/reference"

	"github.com/ebb-io/ebb/internal/engine"
)

// Container is a container. What it is made from must be here already.
type Container struct {
	ID     string // made from the name when empty
	Name   string
	State  string // running when empty; or exited, created, paused, dead, removing, restarting
	Health string
	From   string // Config.Image: a name or an ID, as it was written
	Image  string // the ID; found by From when empty
	Mounts []string
	Labels map[string]string

	manifest string
	mounted  []string // IDs of what Mounts meant when it was made
}

// Service is a Swarm service with the image of its specification and of the one
// before, empty if there was none.
type Service struct {
	Name, Image, Previous string
}

// Pull does what a pull of a name does: repository:tag, or repository@digest
// with whatever digest, which becomes that of the contents. It returns the ID.
func (e *Engine) Pull(name string, i Image) string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.pull(name, i)
}

func (e *Engine) pull(name string, i Image) string {
	repo, _, byDigest := strings.Cut(name, "@")
	n := normal(repo)
	id, h := e.hold(i)
	canonical := n.Name() + "@" + i.Index
	if e.opts.Store == engine.Containerd {
		h.origins = add(h.origins, withoutPort(n.Name()))
		h.tagged = e.opts.Now()
	} else if !slices.ContainsFunc(e.pulls, func(l lease) bool { return l.ID == imageLease(id) }) {
		e.pulls = append(e.pulls, lease{ID: imageLease(id), Created: e.opts.Now()})
	}
	if byDigest || e.opts.Store == engine.GraphDriver {
		e.refs[canonical] = id
	}
	about := canonical
	if !byDigest {
		e.refs[n.String()] = id
		about = n.String()
	}
	e.emit("image", "pull", familiar(about), map[string]string{"name": reference.FamiliarName(n)})
	return id
}

// Import takes contents in that no registry knows, under a name or none.
func (e *Engine) Import(name string, i Image) string {
	e.mu.Lock()
	defer e.mu.Unlock()
	id, _ := e.hold(i)
	if name != "" {
		e.refs[normal(name).String()] = id
	}
	e.emit("image", "import", id, map[string]string{"name": id})
	return id
}

// Tag gives an image one more name, which another image may lose by it. It
// panics on an unknown image.
func (e *Engine) Tag(image, name string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := e.tag(image, name); err != nil {
		panic("fake engine: " + err.Error())
	}
}

func (e *Engine) tag(image, name string) error {
	id, _, err := e.resolve(image)
	if err != nil {
		return err
	}
	n, err := reference.ParseNormalizedNamed(name)
	if err != nil || isDigest(name) {
		return fault(400, "invalid reference format")
	}
	n = reference.TagNameOnly(n)
	e.refs[n.String()] = id
	e.images[id].tagged = e.opts.Now()
	e.emit("image", "tag", id, map[string]string{"name": reference.FamiliarString(n)})
	return nil
}

// Rmi removes as docker rmi does, without being counted or judged.
func (e *Engine) Rmi(image string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	_, err := e.remove(image)
	return err
}

// AddContainer makes a container and returns its ID. It panics on what it can't
// be made from.
func (e *Engine) AddContainer(c Container) string {
	e.mu.Lock()
	defer e.mu.Unlock()
	if c.ID == "" {
		c.ID = strings.TrimPrefix(Digest(fmt.Sprintf("container %s %d", c.Name, len(e.containers))), "sha256:")
	}
	if c.Name == "" {
		c.Name = "c" + c.ID[:8]
	}
	if c.State == "" {
		c.State = "running"
	}
	if c.Image == "" {
		c.Image = e.mustResolve(c.From)
	}
	if h, ok := e.images[c.Image]; ok && e.opts.Store == engine.Containerd {
		c.manifest = h.Manifest
	}
	for _, m := range c.Mounts {
		c.mounted = append(c.mounted, e.mustResolve(m))
	}
	e.containers = append(e.containers, &c)
	e.emit("container", "create", c.ID, map[string]string{"image": c.From, "name": c.Name})
	return c.ID
}

func (e *Engine) mustResolve(s string) string {
	id, _, err := e.resolve(s)
	if err != nil {
		panic("fake engine: " + err.Error())
	}
	return id
}

// SetState gives the container of a name or ID another state and health.
func (e *Engine) SetState(container, state, health string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if c := e.container(container); c != nil {
		c.State, c.Health = state, health
	}
}

// RemoveContainer removes the container of a name or ID, if it is there.
func (e *Engine) RemoveContainer(container string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	c := e.container(container)
	if c == nil {
		return
	}
	e.containers = slices.DeleteFunc(e.containers, func(o *Container) bool { return o == c })
	e.emit("container", "destroy", c.ID, map[string]string{"image": c.From, "name": c.Name})
}

func (e *Engine) container(s string) *Container {
	for _, c := range e.containers {
		if c.ID == s || c.Name == s || len(s) >= 4 && strings.HasPrefix(c.ID, s) {
			return c
		}
	}
	return nil
}

// AddService adds a Swarm service.
func (e *Engine) AddService(s Service) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.services = append(e.services, s)
}

// Restart empties the history of events and ends their streams, as an engine
// that starts anew does. Leases and all else stay.
func (e *Engine) Restart() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.events.history = nil
	e.events.cut()
}

// StoreSwitch restarts the engine with the other kind of store, into which all
// images went by the names of their tags: every ID is another one.
func (e *Engine) StoreSwitch() {
	e.mu.Lock()
	defer e.mu.Unlock()
	before, names := e.images, e.refs
	e.images, e.refs, e.pulls = map[string]*held{}, map[string]string{}, nil
	if e.opts.Store == engine.Containerd {
		e.opts.Store = engine.GraphDriver
	} else {
		e.opts.Store = engine.Containerd
	}
	for _, h := range before {
		h.origins = nil
		e.hold(h.Image)
	}
	for ref, id := range names {
		if !isDigest(ref) {
			e.refs[ref] = e.idOf(before[id].Image)
		}
	}
	for _, c := range e.containers {
		e.moveContainer(c, before)
	}
	e.events.history = nil
	e.events.cut()
}

func (e *Engine) moveContainer(c *Container, before map[string]*held) {
	h, ok := before[c.Image]
	if !ok {
		return
	}
	c.Image, c.manifest = e.idOf(h.Image), ""
	if e.opts.Store == engine.Containerd {
		c.manifest = h.Manifest
	}
	for i, id := range c.mounted {
		if m, ok := before[id]; ok {
			c.mounted[i] = e.idOf(m.Image)
		}
	}
}

// Held tells which images are here: their names in full by ID.
func (e *Engine) Held() map[string][]string {
	e.mu.Lock()
	defer e.mu.Unlock()
	out := map[string][]string{}
	for id := range e.images {
		out[id] = e.names(id)
	}
	return out
}

// Used are the IDs of the images that containers were made from, and of those
// that they mount.
func (e *Engine) Used() (made, mounted []string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, c := range e.containers {
		made, mounted = append(made, c.Image), append(mounted, c.mounted...)
	}
	return made, mounted
}

// Pulling begins a pull, which is seen in the leases alone, and returns what
// ends it.
func (e *Engine) Pulling(name string, i Image) (finish func() string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	id := "pull-" + name
	now := e.opts.Now()
	e.pulls = append(e.pulls, lease{ID: id, Created: now, Labels: map[string]string{
		"moby/prune.images": "true", "containerd.io/gc.expire": now.Add(8 * time.Hour).Format(time.RFC3339),
	}})
	return func() string {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.pulls = slices.DeleteFunc(e.pulls, func(l lease) bool { return l.ID == id })
		return e.pull(name, i)
	}
}

func imageLease(id string) string { return "moby-image-" + id }

func add(list []string, s string) []string {
	if slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}

// withoutPort is a repository as the containerd store tells an image's origin.
func withoutPort(repo string) string {
	host, rest, _ := strings.Cut(repo, "/")
	name, _, _ := strings.Cut(host, ":")
	return name + "/" + rest
}
