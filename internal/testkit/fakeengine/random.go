package fakeengine

import (
	"fmt"
	"slices"

	"pgregory.net/rapid"
)

// World is a household: what was pulled, tagged and started on a host, in this
// order. The same world gives both kinds of store the same contents.
type World struct {
	Repositories []string
	Pulls        []Pulled
	Imports      []Image // contents without a name or an origin
	Tags         [][2]string
	Containers   []Container
	Services     []Service
	Pins         []string // names that a person may want to run; not all are here
}

// Pulled is a pull: of a tag, or of a digest if ByDigest.
type Pulled struct {
	Repository, Tag string
	ByDigest        bool
	Image           Image
}

// Name is what was asked for.
func (p Pulled) Name() string {
	if p.ByDigest {
		return p.Repository + "@" + p.Image.Index
	}
	return p.Repository + ":" + p.Tag
}

// Random draws a household: version streams, tags that moved, digests alone,
// contents with several names, containers in every state, mounts and services.
func Random(t *rapid.T) World {
	all := []string{"traefik", "filebrowser/filebrowser", "127.0.0.1:5000/infra/traefik", "ghcr.io/org/app", "cafe"}
	w := World{Repositories: rapid.SliceOfNDistinct(rapid.SampledFrom(all), 1, 3, rapid.ID).Draw(t, "repositories")}
	for _, repo := range w.Repositories {
		w.drawPulls(t, repo)
		for range rapid.IntRange(0, 2).Draw(t, "pins") {
			w.Pins = append(w.Pins, repo+":"+drawTag(t))
		}
	}
	for n := range rapid.IntRange(0, 2).Draw(t, "imports") {
		w.Imports = append(w.Imports, Made(fmt.Sprint("import ", n)))
	}
	names := w.tags()
	if len(names) == 0 {
		return w
	}
	for range rapid.IntRange(0, 3).Draw(t, "tags") {
		to := rapid.SampledFrom([]string{w.Repositories[0] + ":" + drawTag(t), "mine/copy:1", "mine/copy:latest"}).Draw(t, "to")
		w.Tags = append(w.Tags, [2]string{rapid.SampledFrom(names).Draw(t, "from"), to})
	}
	w.drawUsers(t, names)
	return w
}

func drawTag(t *rapid.T) string {
	return rapid.SampledFrom([]string{
		"v1.0.0", "v1.1.0", "v1.2.0", "v2.0.0", "v2.1.0-rc1", "v2.1.0", "1.1.0", "1.0.0-alpine", "1.1.0-alpine",
		"2024.09.1", "2024.9.1", "v1", "latest", "nightly", "0a1b2c3",
	}).Draw(t, "tag")
}

// drawPulls draws pulls of one repository. A tag that is pulled twice moved, or
// not if the contents are the same; few contents make them meet under two tags.
func (w *World) drawPulls(t *rapid.T, repo string) {
	for range rapid.IntRange(0, 7).Draw(t, "pulls") {
		seed := fmt.Sprint(repo, " ", rapid.IntRange(0, 8).Draw(t, "contents"))
		if rapid.IntRange(0, 9).Draw(t, "everybody's") == 0 {
			seed = "everybody's"
		}
		w.Pulls = append(w.Pulls, Pulled{
			Repository: repo, Tag: drawTag(t), ByDigest: rapid.IntRange(0, 5).Draw(t, "digest alone") == 0, Image: Made(seed),
		})
	}
}

func (w *World) tags() []string {
	var out []string
	for _, p := range w.Pulls {
		if !p.ByDigest {
			out = add(out, p.Name())
		}
	}
	return out
}

func (w *World) drawUsers(t *rapid.T, names []string) {
	states := []string{"running", "exited", "created", "paused", "dead", "removing", "restarting"}
	for n := range rapid.IntRange(0, 4).Draw(t, "containers") {
		c := Container{
			Name: fmt.Sprint("c", n), From: rapid.SampledFrom(names).Draw(t, "from"),
			State:  rapid.SampledFrom(states).Draw(t, "state"),
			Health: rapid.SampledFrom([]string{"", "healthy", "unhealthy", "starting"}).Draw(t, "health"),
		}
		if rapid.IntRange(0, 4).Draw(t, "mounts") == 0 {
			c.Mounts = []string{rapid.SampledFrom(names).Draw(t, "mount")}
		}
		w.Containers = append(w.Containers, c)
	}
	if rapid.IntRange(0, 3).Draw(t, "services") == 0 {
		w.Services = []Service{{Name: "s", Image: rapid.SampledFrom(names).Draw(t, "service"), Previous: rapid.SampledFrom(names).Draw(t, "before")}}
	}
}

// Fill lets all of it happen in an engine. Half of the containers are made
// before the last half of the pulls, so that names move on from under them.
func (w World) Fill(e *Engine) {
	half := len(w.Pulls) / 2
	e.pullAll(w.Pulls[:half])
	late := w.Containers
	for len(late) > len(w.Containers)/2 && e.knows(late[0]) {
		e.AddContainer(late[0])
		late = late[1:]
	}
	e.pullAll(w.Pulls[half:])
	for _, i := range w.Imports {
		e.Import("", i)
	}
	for _, c := range late {
		e.AddContainer(c)
	}
	for _, tag := range w.Tags {
		e.Tag(tag[0], tag[1])
	}
	for _, s := range w.Services {
		e.AddService(s)
	}
}

func (e *Engine) pullAll(pulls []Pulled) {
	for _, p := range pulls {
		e.Pull(p.Name(), p.Image)
	}
}

// knows tells whether a container's names are here.
func (e *Engine) knows(c Container) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return !slices.ContainsFunc(append([]string{c.From}, c.Mounts...), func(s string) bool {
		_, _, err := e.resolve(s)
		return err != nil
	})
}

// Shuffle lets the engine list in another order, the same for a seed; 0 is by ID.
func (e *Engine) Shuffle(seed uint64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.order = seed
}
