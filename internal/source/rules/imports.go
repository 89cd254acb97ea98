package rules

import (
	"fmt"

	"github.com/ebb-io/ebb/internal/refs"
)

// addTarget protects the image that the status of a living object names: after
// a restore that may be one which the object's new UID does not build.
func (c *Collector) addTarget(id identity, object map[string]any) {
	url := text(object, "status", "target", "registryURL")
	if url == "" {
		return
	}
	ref, err := parse(url)
	if err != nil {
		c.Warn(fmt.Sprintf("%s: status.target.registryURL is no image name: %v", id, err))
	}
	c.mention(id, ref)
}

// addSource protects the repository that an object is still to be filled from,
// though its owner may be gone meanwhile. Which of the source's tags it reads
// is not known, so all are meant.
func (c *Collector) addSource(id identity, object map[string]any) {
	if text(object, "status", "phase") == "Ready" {
		return
	}
	kind := text(object, "spec", "dataSource", "objectRef", "kind")
	source := refs.Values{Name: text(object, "spec", "dataSource", "objectRef", "name")}
	if source.Name == "" {
		return
	}
	source.Namespace = id.Namespace
	if id.Namespace == "" {
		source.Namespace = text(object, "spec", "dataSource", "objectRef", "namespace")
	}
	for i := range c.rules.rules {
		r := &c.rules.rules[i]
		if r.imported && r.Kind == kind && kind != virtualDisk {
			c.wholeRepository(id, r, source)
		}
	}
}

// wholeRepository protects the source under its full name and under its hash:
// refs takes the latter for every name that was shortened to that hash.
func (c *Collector) wholeRepository(id identity, r *rule, source refs.Values) {
	full, ok := r.Repository.Build(source)
	if !ok {
		c.Warn(fmt.Sprintf("%s: its source %s %s protects nothing: it has no namespace", id, r.Kind, source.Name))
		return
	}
	c.refer(mention{by: id.String(), repository: full, whole: true})
	source.Name = refs.NameHash(source.Name)
	hashed, _ := r.Repository.Build(source)
	c.refer(mention{by: id.String(), repository: hashed, whole: true})
}
