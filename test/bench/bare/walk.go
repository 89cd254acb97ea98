// Package bare does the least file-system work that a clean-up of a registry's folder needs.
//
// It is the yardstick of the benchmark: the time that remains when a tool does nothing but list each needed directory,
// look at each link and blob once and read each manifest and each tag once, with bounded parallelism.
// It refuses to be a tool: it knows no damage, no ages, no nested indexes and no reasons, and stops at the first error.
package bare

import (
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// Registry is what a walk saw. Digests are written as in paths: sha256/<hex>.
type Registry struct {
	root         string
	blobs        []string
	repositories []*repository
}

type repository struct {
	dir       string
	layers    []string // digests of layer links
	revisions []string // digests of revision links
	manifests [][]byte // contents, in the order of revisions; nil unless kept
	tagged    []string // digest of each tag
}

// Summary counts what was seen.
type Summary struct {
	Blobs, Revisions, LayerLinks, Tags, Repositories int
}

type walker struct {
	pool
	keep bool

	regMu sync.Mutex
	reg   *Registry
}

// Walk reads the registry under root. With keep it holds on to the manifests, as Delete needs them.
func Walk(root string, keep bool) (*Registry, error) {
	root = filepath.Join(root, "docker", "registry", "v2")
	w := &walker{keep: keep, reg: &Registry{root: root}}
	w.start()
	w.do(func() error { return w.blobs(root + "/blobs") })
	w.do(func() error { return w.repositories(root + "/repositories") })
	return w.reg, w.wait()
}

func (w *walker) blobs(dir string) error {
	algorithms, err := list(dir)
	if err != nil {
		return err
	}
	for _, algorithm := range algorithms {
		prefixes, err := list(dir + "/" + algorithm)
		if err != nil {
			return err
		}
		for _, prefix := range prefixes {
			w.do(func() error { return w.blobPrefix(dir, algorithm, prefix) })
		}
	}
	return nil
}

func (w *walker) blobPrefix(dir, algorithm, prefix string) error {
	names, err := lookAtEach(dir+"/"+algorithm+"/"+prefix, "data")
	for i, name := range names {
		names[i] = algorithm + "/" + name
	}
	w.regMu.Lock()
	defer w.regMu.Unlock()
	w.reg.blobs = append(w.reg.blobs, names...)
	return err
}

// repositories finds every folder that holds _manifests, at any depth.
func (w *walker) repositories(dir string) error {
	names, err := list(dir)
	if err != nil {
		return err
	}
	if slices.Contains(names, "_manifests") {
		w.do(func() error { return w.repository(dir) })
	}
	for _, name := range names {
		if !strings.HasPrefix(name, "_") {
			w.do(func() error { return w.repositories(dir + "/" + name) })
		}
	}
	return nil
}

// Summary counts what the walk saw.
func (r *Registry) Summary() Summary {
	s := Summary{Blobs: len(r.blobs), Repositories: len(r.repositories)}
	for _, repo := range r.repositories {
		s.Revisions += len(repo.revisions)
		s.LayerLinks += len(repo.layers)
		s.Tags += len(repo.tagged)
	}
	return s
}
