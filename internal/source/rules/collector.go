package rules

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/ebb-io/ebb/internal/image"
	"github.com/ebb-io/ebb/internal/reason"
	"github.com/ebb-io/ebb/internal/refs"
)

// Collector takes objects one at a time and keeps only what they own and refer
// to. What it has collected does not depend on their order, and the same object
// may be added twice; two states of one object both count, which protects more.
// It is not for concurrent use.
type Collector struct {
	rules      *Rules
	kinds      []string // of each rule, as objects spell it
	owners     map[refs.Owner]struct{}
	references map[mention]struct{}
	warnings   warnings
	images     bool // a workload that names an image was seen
}

// mention is a refs.Reference as a comparable value.
type mention struct {
	by, repository, tag string
	digest              image.Digest
	hasDigest, whole    bool
}

// NewCollector collects under the given rules.
func NewCollector(r *Rules) *Collector {
	c := &Collector{
		rules:      r,
		owners:     map[refs.Owner]struct{}{},
		references: map[mention]struct{}{},
	}
	for i := range r.rules {
		c.kinds = append(c.kinds, r.rules[i].Kind)
	}
	return c
}

// Add takes one object. It is recognized when a rule names its kind, or when
// workloads count and it holds an image reference. An error says that a rule
// names the object and that it can not be placed, or that a workload holds no
// containers: the view is not complete.
func (c *Collector) Add(object map[string]any) (recognized bool, err error) {
	id := identify(object)
	needed := false
	for i := range c.rules.rules {
		r := &c.rules.rules[i]
		if !r.matches(id.group, id.kind) {
			continue
		}
		if err := r.place(id, object); err != nil {
			return true, fmt.Errorf("%s: %w", id, err)
		}
		owner := r.own(i, id, object)
		c.owners[owner] = struct{}{}
		c.kinds[i] = id.kind
		recognized = true
		needed = needed || r.imported && !owner.Done
	}
	if needed {
		c.addTarget(id, object)
		c.addSource(id, object)
	}
	if !c.rules.workloads {
		return recognized, nil
	}
	found, err := c.addWorkload(id, object)
	return recognized || found, err
}

// Finish says what is missing now that all objects were added.
func (c *Collector) Finish() {
	if c.rules.workloads && !c.images {
		c.Warn("no Pod and no Pod template was seen: images that only workloads use are not protected")
	}
}

// own sees an object through a rule.
func (r *rule) own(index int, id identity, object map[string]any) refs.Owner {
	needed, err := r.needed.holds(object)
	o := refs.Owner{Rule: index, Values: id.Values, Done: err == nil && !needed}
	phase := text(object, "status", "phase")
	if phase != "" {
		o.Detail = "phase " + phase
	}
	switch {
	case err != nil:
		o.Detail = join(o.Detail, fmt.Sprintf("needed, because neededWhen can not be told (%v)", err))
	case o.Done:
		o.Detail = join(o.Detail, r.done)
	case at(object, "metadata", "deletionTimestamp") != nil:
		o.Detail = join(o.Detail, "it is being deleted")
	}
	return o
}

func join(a, b string) string {
	if a == "" {
		return b
	}
	return a + ": " + b
}

func (c *Collector) refer(m mention) { c.references[m] = struct{}{} }

// Set is what was collected so far. It is a copy.
func (c *Collector) Set() refs.Set {
	s := refs.Set{Owners: slices.SortedFunc(maps.Keys(c.owners), compareOwners)}
	for i := range c.rules.rules {
		r := c.rules.rules[i].Rule
		r.Kind = c.kinds[i]
		s.Rules = append(s.Rules, r)
	}
	for i, o := range s.Owners {
		if i == 0 || o.Rule != s.Owners[i-1].Rule || o.Values != s.Owners[i-1].Values {
			s.Rules[o.Rule].Objects++
		}
	}
	for _, m := range slices.SortedFunc(maps.Keys(c.references), compareMentions) {
		s.References = append(s.References, m.reference())
	}
	return s
}

func (m mention) reference() refs.Reference {
	r := refs.Reference{Code: reason.Referenced, By: m.by, Repository: m.repository, Tag: m.tag, Whole: m.whole}
	if m.hasDigest {
		r.Digest = &m.digest
	}
	return r
}

func compareOwners(a, b refs.Owner) int {
	return cmp.Or(
		cmp.Compare(a.Rule, b.Rule),
		cmp.Compare(a.Namespace, b.Namespace),
		cmp.Compare(a.Name, b.Name),
		cmp.Compare(a.UID, b.UID),
		compareBools(a.Done, b.Done),
		cmp.Compare(a.Detail, b.Detail),
	)
}

func compareMentions(a, b mention) int {
	return cmp.Or(
		cmp.Compare(a.repository, b.repository),
		cmp.Compare(a.tag, b.tag),
		compareBools(a.hasDigest, b.hasDigest),
		a.digest.Compare(b.digest),
		compareBools(a.whole, b.whole),
		cmp.Compare(a.by, b.by),
	)
}

func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// Warn remembers something that people should know and that does not make the
// view incomplete.
func (c *Collector) Warn(text string) { c.warnings.add(text) }

// Warnings are what people should know, sorted; only the first of many.
func (c *Collector) Warnings() []string { return c.warnings.list() }
