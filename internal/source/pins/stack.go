package pins

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

const (
	maxFiles    = 500 // that one stack reads, includes and bases with it
	maxIncludes = 16  // one inside the other
	maxServices = 10000
)

// workPerPass bounds what all compose files of labels cost together: a byte that
// is read is one, a node that is visited a hundred.
const workPerPass = 64 << 20

var errWork = errors.New("compose files take too much work")

// reader reads one stack, and counts what that costs.
type reader struct {
	files  int
	visits int
	left   *int // work, shared with other stacks
}

// service is what a service, or a job, needs of images.
type service struct {
	image   string   // empty: none
	passive []string // what it mounts, builds from, or runs before its start
	reset   bool     // the image that earlier files gave is taken away
	replace bool     // earlier files do not count
}

// services are all of a stack, by "services/name" and "jobs/name".
type services map[string]service

// readStack reads a stack's files in order, a later one over the earlier.
func readStack(s Stack, left *int) (services, error) {
	if len(s.Files) == 0 {
		return nil, errors.New("no file")
	}
	r := &reader{left: left}
	dir := s.dir()
	variables, err := r.environment(s.Environment, dir, s.EnvFiles)
	if err != nil {
		return nil, err
	}
	project, err := r.project(s, variables)
	if err != nil {
		return nil, err
	}
	variables = maps.Clone(variables)
	variables["COMPOSE_PROJECT_NAME"] = project
	all, err := r.layered(scope{dir: dir, variables: variables}, s.Files)
	if err == nil && len(all) == 0 {
		err = errors.New("it has no services")
	}
	return all, err
}

// scope is where a file is read: what its paths and its variables mean.
type scope struct {
	dir       string
	variables map[string]string
	within    []string // the files that include it
}

func (r *reader) layered(in scope, files []string) (services, error) {
	all := services{}
	for _, file := range files {
		if err := r.file(in, absolute(in.dir, file), all); err != nil {
			return nil, in.of(files, file, err)
		}
	}
	return all, nil
}

// of says in which of several files something is wrong. A stack of one file is
// called by its name already.
func (in scope) of(files []string, file string, err error) error {
	if len(files) == 1 && len(in.within) == 0 {
		return err
	}
	return fmt.Errorf("%s: %w", file, err)
}

// file reads a file's documents over what is there.
func (r *reader) file(in scope, path string, over services) error {
	if len(in.within) > maxIncludes || slices.Contains(in.within, path) {
		return errors.New("it includes itself, or too many inside each other")
	}
	in.within = append(slices.Clone(in.within), path)
	documents, err := r.documents(path)
	if err != nil {
		return err
	}
	for _, document := range documents {
		found, err := r.document(in, document)
		if err != nil {
			return err
		}
		over.put(found)
	}
	if len(over) > maxServices {
		return errTooMuch
	}
	return nil
}

func (r *reader) documents(path string) ([]*yaml.Node, error) {
	content, err := r.read(path)
	if err != nil {
		return nil, err
	}
	var all []*yaml.Node
	for decoder := yaml.NewDecoder(bytes.NewReader(content)); ; {
		var document yaml.Node
		err := decoder.Decode(&document)
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		if len(document.Content) == 1 {
			all = append(all, document.Content[0])
		}
	}
}

func (r *reader) read(path string) ([]byte, error) {
	if r.files++; r.files > maxFiles {
		return nil, fmt.Errorf("more than %d files", maxFiles)
	}
	content, err := readFile(path)
	if err != nil {
		return nil, err
	}
	return content, r.spend(len(content))
}

// spend takes from the work that is left.
func (r *reader) spend(work int) error {
	if *r.left -= work; *r.left < 0 {
		return errWork
	}
	return nil
}

// document is one document with what it includes, and each service with what
// it extends.
func (r *reader) document(in scope, n *yaml.Node) (services, error) {
	top, err := r.mapping(n)
	if err != nil {
		return nil, err
	}
	all := services{}
	includes, err := items(top["include"])
	if err != nil {
		return nil, err
	}
	for _, include := range includes {
		found, err := r.include(in, include)
		if err != nil {
			return nil, fmt.Errorf("include: %w", err)
		}
		all.put(found)
	}
	for _, kind := range []string{"services", "jobs"} {
		own, err := r.kind(in, kind, top[kind], all)
		if err != nil {
			return nil, err
		}
		all.put(own)
	}
	return all, nil
}

// kind are the services of a document, or its jobs.
func (r *reader) kind(in scope, kind string, n *yaml.Node, included services) (services, error) {
	nodes, err := r.mapping(n)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", kind, err)
	}
	b := bases{in: in, kind: kind, nodes: nodes, included: included}
	all := services{}
	for name := range nodes {
		if all[kind+"/"+name], err = r.service(b, name); err != nil {
			return nil, fmt.Errorf("%s %s: %w", kind, name, err)
		}
	}
	return all, nil
}

// put lays later services over earlier ones.
func (s services) put(later services) {
	for name, l := range later {
		s[name] = s[name].under(l)
	}
}

// under is a service with what a later file says of it.
func (s service) under(later service) service {
	if later.replace {
		return later
	}
	if later.image != "" || later.reset {
		s.image = later.image
	}
	s.reset = later.reset
	s.passive = append(slices.Clone(s.passive), later.passive...)
	return s
}

// project is the stack's name, as the files say or, without a word of theirs,
// the folder.
func (r *reader) project(s Stack, variables map[string]string) (string, error) {
	if s.Project != "" {
		return s.Project, nil
	}
	if name := variables["COMPOSE_PROJECT_NAME"]; name != "" {
		return name, nil
	}
	said := ""
	for _, file := range s.Files {
		documents, err := r.documents(absolute(s.dir(), file))
		if err != nil {
			return "", scope{}.of(s.Files, file, err)
		}
		for _, document := range documents {
			top, err := r.mapping(document)
			if err != nil {
				return "", scope{}.of(s.Files, file, err)
			}
			name, err := text(top["name"], variables)
			if err != nil {
				return "", scope{}.of(s.Files, file, err)
			}
			if name != "" {
				said = name
			}
		}
	}
	if said == "" {
		said = filepath.Base(s.dir())
	}
	return normalized(said), nil
}

// normalized is a project's name as compose makes it of what is written.
func normalized(name string) string {
	kept := strings.Map(func(c rune) rune {
		if c == '-' || c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' {
			return c
		}
		return -1
	}, strings.ToLower(name))
	return strings.TrimLeft(kept, "_-")
}
