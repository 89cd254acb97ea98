package fakeengine

import (
	"slices"
	"strings"

	"github.com/ebb-io/ebb/internal/engine"
)

// removed is one line of the answer to a delete.
type removed struct {
	Untagged string `json:",omitempty"`
	Deleted  string `json:",omitempty"`
}

// remove is docker rmi without force and without parents.
func (e *Engine) remove(s string) ([]removed, error) {
	id, byID, err := e.resolve(s)
	if err != nil {
		return nil, err
	}
	if byID {
		return e.removeID(id)
	}
	return e.removeName(s, id)
}

// removeID lets an image go with all its names, if they are of one repository
// and at most one is a tag. What is mounted is not looked at.
func (e *Engine) removeID(id string) ([]removed, error) {
	if e.opts.Store == engine.GraphDriver && e.hasChildren(id) {
		return nil, fault(409, "conflict: unable to delete %s (cannot be forced) - image has dependent child images", short(id))
	}
	if err := e.usedByContainer(id); err != nil {
		return nil, err
	}
	names := e.names(id)
	if !single(names) {
		return nil, fault(409, "conflict: unable to delete %s (must be forced) - image is referenced in multiple repositories", short(id))
	}
	out := e.untag(id, names)
	return append(out, e.drop(id)...), nil
}

// removeName takes a name away, and the image with the last one.
func (e *Engine) removeName(s, id string) ([]removed, error) {
	ref := stored(normal(s))
	all := e.names(id)
	going := e.going(ref, all)
	if e.opts.Store == engine.GraphDriver && single(all) || len(going) == len(all) {
		if c := e.user(id); c != nil {
			return nil, fault(409, "conflict: unable to remove repository reference %q (must force) - container %s is using its referenced image %s",
				s, c.ID[:12], short(id))
		}
	}
	out := e.untag(id, going)
	if len(going) < len(all) {
		return out, nil
	}
	if e.hasChildren(id) && (e.opts.Store == engine.GraphDriver || len(all) == 1) {
		return out, nil // a parent stays, without a name
	}
	return append(out, e.drop(id)...), nil
}

// going are the names that go when one is removed: a last tag takes its
// repository's digests along, and in a containerd store a digest takes all of
// its repository along.
func (e *Engine) going(ref string, all []string) []string {
	repo := repository(ref)
	same := slices.DeleteFunc(slices.Clone(all), func(o string) bool { return repository(o) != repo })
	otherTag := slices.ContainsFunc(same, func(o string) bool { return o != ref && !isDigest(o) })
	switch {
	case isDigest(ref) && e.opts.Store == engine.Containerd:
		return same
	case isDigest(ref), otherTag:
		return []string{ref}
	}
	return same
}

func (e *Engine) untag(id string, names []string) []removed {
	var out []removed
	for _, ref := range names {
		delete(e.refs, ref)
		about := id
		if e.opts.Store == engine.Containerd {
			about = familiar(ref)
		}
		e.emit("image", "untag", id, map[string]string{"name": about})
		out = append(out, removed{Untagged: familiar(ref)})
	}
	return out
}

func (e *Engine) drop(id string) []removed {
	delete(e.images, id)
	e.pulls = slices.DeleteFunc(e.pulls, func(l lease) bool { return l.ID == imageLease(id) })
	e.emit("image", "delete", id, map[string]string{"name": id})
	return []removed{{Deleted: id}}
}

// single tells whether all names are of one repository, and at most one is a tag.
func single(names []string) bool {
	tags := 0
	for _, n := range names {
		if repository(n) != repository(names[0]) {
			return false
		}
		if !isDigest(n) {
			tags++
		}
	}
	return tags <= 1
}

func (e *Engine) hasChildren(id string) bool {
	for _, h := range e.images {
		if h.Parent == id {
			return true
		}
	}
	return false
}

func (e *Engine) usedByContainer(id string) error {
	for _, c := range e.containers {
		switch {
		case c.Image != id:
		case c.live():
			return fault(409, "conflict: unable to delete %s (cannot be forced) - image is being used by running container %s", short(id), c.ID[:12])
		default:
			return fault(409, "conflict: unable to delete %s (must be forced) - image is being used by stopped container %s", short(id), c.ID[:12])
		}
	}
	return nil
}

// user is a container that was made from an image or mounts it.
func (e *Engine) user(id string) *Container {
	for _, c := range e.containers {
		if c.Image == id || slices.Contains(c.mounted, id) {
			return c
		}
	}
	return nil
}

// live is what the engine counts as running.
func (c *Container) live() bool {
	return c.State == "running" || c.State == "paused" || c.State == "restarting"
}

func short(id string) string { return strings.TrimPrefix(id, "sha256:")[:12] }
