package pins

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// include are the services of files that a document includes.
func (r *reader) include(in scope, n *yaml.Node) (services, error) {
	n, err := follow(n)
	if err != nil {
		return nil, err
	}
	said := map[string]*yaml.Node{"path": n}
	if n.Kind == yaml.MappingNode {
		if said, err = r.mapping(n); err != nil {
			return nil, err
		}
	}
	files, err := texts(said["path"], in.variables)
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, errors.New("no path")
	}
	for i, file := range files {
		if err := mustBeLocal(file); err != nil {
			return nil, err
		}
		files[i] = absolute(in.dir, file)
	}
	inner, err := r.innerScope(in, said, files[0])
	if err != nil {
		return nil, err
	}
	return r.layered(inner, files)
}

// innerScope is where included files are read: in their own folder, with its
// env file under the variables that are known already.
func (r *reader) innerScope(in scope, said map[string]*yaml.Node, first string) (scope, error) {
	inner := scope{dir: filepath.Dir(first), within: in.within}
	dir, err := text(said["project_directory"], in.variables)
	if err != nil {
		return scope{}, err
	}
	if dir != "" {
		inner.dir = absolute(in.dir, dir)
	}
	envFiles, err := texts(said["env_file"], in.variables)
	if err != nil {
		return scope{}, err
	}
	for i, file := range envFiles {
		envFiles[i] = absolute(in.dir, file)
	}
	inner.variables, err = r.environment(in.variables, inner.dir, envFiles)
	return inner, err
}

// mustBeLocal refuses what compose would fetch.
func mustBeLocal(path string) error {
	if strings.Contains(path, "://") || strings.HasPrefix(path, "git@") || strings.HasPrefix(path, "github.com/") {
		return fmt.Errorf("%s: it is not on this machine, and is not fetched", path)
	}
	if strings.Contains(path, "$") {
		return fmt.Errorf("%s: a variable of it has no value", path)
	}
	return nil
}

// bases is where the base of a service is looked for.
type bases struct {
	in       scope
	kind     string
	nodes    map[string]*yaml.Node
	included services
	chain    []string // what extends what, so far
}

// service is a service with its bases.
func (r *reader) service(b bases, name string) (service, error) {
	step := b.in.within[len(b.in.within)-1] + "\x00" + name
	if len(b.chain) > maxDepth || slices.Contains(b.chain, step) {
		return service{}, errors.New("it extends itself, or too many in a row")
	}
	b.chain = append(slices.Clone(b.chain), step)
	own, err := follow(b.nodes[name])
	if err != nil {
		return service{}, err
	}
	said, err := r.mapping(own)
	if err != nil {
		return service{}, err
	}
	s, err := r.ownService(b.in, own, said)
	if err != nil || said["extends"] == nil {
		return s, err
	}
	base, err := r.base(b, said["extends"])
	if err != nil {
		return service{}, fmt.Errorf("extends: %w", err)
	}
	merged := base.under(s)
	merged.replace = s.replace
	return merged, nil
}

// base is what a service extends: a service of its own file or of another.
func (r *reader) base(b bases, n *yaml.Node) (service, error) {
	n, err := follow(n)
	if err != nil {
		return service{}, err
	}
	said := map[string]*yaml.Node{"service": n}
	if n.Kind == yaml.MappingNode {
		if said, err = r.mapping(n); err != nil {
			return service{}, err
		}
	}
	name, err := text(said["service"], b.in.variables)
	if err != nil {
		return service{}, err
	}
	file, err := text(said["file"], b.in.variables)
	if err != nil {
		return service{}, err
	}
	if file != "" {
		return r.baseFrom(b, file, name)
	}
	if _, ok := b.nodes[name]; ok {
		return r.service(b, name)
	}
	if s, ok := b.included[b.kind+"/"+name]; ok {
		return s, nil
	}
	return service{}, fmt.Errorf("no service %q", name)
}

func (r *reader) baseFrom(b bases, file, name string) (service, error) {
	if err := mustBeLocal(file); err != nil {
		return service{}, err
	}
	path := absolute(b.in.dir, file)
	documents, err := r.documents(path)
	if err != nil {
		return service{}, fmt.Errorf("%s: %w", file, err)
	}
	inner := scope{dir: filepath.Dir(path), variables: b.in.variables, within: append(slices.Clone(b.in.within), path)}
	nodes := map[string]*yaml.Node{}
	for _, document := range documents {
		top, err := r.mapping(document)
		if err != nil {
			return service{}, err
		}
		found, err := r.mapping(top[b.kind])
		if err != nil {
			return service{}, err
		}
		maps.Copy(nodes, found)
	}
	if _, ok := nodes[name]; !ok {
		return service{}, fmt.Errorf("no service %q in %s", name, path)
	}
	return r.service(bases{in: inner, kind: b.kind, nodes: nodes, chain: b.chain}, name)
}

// ownService is what a service says itself.
func (r *reader) ownService(in scope, own *yaml.Node, said map[string]*yaml.Node) (service, error) {
	s := service{replace: own != nil && (own.Tag == overrideTag || own.Tag == resetTag)}
	if said["image"] != nil {
		s.reset = said["image"].Tag == resetTag
	}
	var err error
	if s.image, err = text(said["image"], in.variables); err != nil {
		return service{}, fmt.Errorf("image: %w", err)
	}
	for _, collect := range []func(scope, map[string]*yaml.Node) ([]string, error){r.mounted, r.contexts, r.hooks} {
		more, err := collect(in, said)
		if err != nil {
			return service{}, err
		}
		s.passive = append(s.passive, more...)
	}
	return s, nil
}

// mounted are the images among a service's volumes.
func (r *reader) mounted(in scope, said map[string]*yaml.Node) ([]string, error) {
	volumes, err := items(said["volumes"])
	if err != nil {
		return nil, err
	}
	var all []string
	for _, volume := range volumes {
		if volume, err = follow(volume); err != nil {
			return nil, err
		}
		if volume.Kind != yaml.MappingNode {
			continue
		}
		fields, err := r.mapping(volume)
		if err != nil {
			return nil, err
		}
		kind, err := text(fields["type"], in.variables)
		if err != nil || kind != "image" {
			continue
		}
		source, err := text(fields["source"], in.variables)
		if err != nil {
			return nil, err
		}
		all = append(all, source)
	}
	return all, nil
}

// contexts are the images that a build takes as additional contexts.
func (r *reader) contexts(in scope, said map[string]*yaml.Node) ([]string, error) {
	build, err := follow(said["build"])
	if err != nil || build == nil || build.Kind != yaml.MappingNode {
		return nil, err
	}
	fields, err := r.mapping(build)
	if err != nil {
		return nil, err
	}
	named, err := r.values(in, fields["additional_contexts"])
	if err != nil {
		return nil, err
	}
	var all []string
	for _, value := range named {
		if _, name, ok := strings.Cut(value, "docker-image://"); ok {
			all = append(all, name)
		}
	}
	return all, nil
}

// values are the values of a mapping, or the items of a list of "name=value".
func (r *reader) values(in scope, n *yaml.Node) ([]string, error) {
	n, err := follow(n)
	if err != nil || n == nil || n.Kind != yaml.MappingNode {
		return texts(n, in.variables)
	}
	entries, err := r.entries(n, 0)
	if err != nil {
		return nil, err
	}
	all := make([]string, len(entries))
	for i, e := range entries {
		if all[i], err = text(e.value, in.variables); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// hooks are the images of what runs before a service starts.
func (r *reader) hooks(in scope, said map[string]*yaml.Node) ([]string, error) {
	hooks, err := items(said["pre_start"])
	if err != nil {
		return nil, err
	}
	var all []string
	for _, hook := range hooks {
		fields, err := r.mapping(hook)
		if err != nil {
			return nil, err
		}
		name, err := text(fields["image"], in.variables)
		if err != nil {
			return nil, err
		}
		all = append(all, name)
	}
	return all, nil
}
