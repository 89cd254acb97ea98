// Package rules compiles owner rules and reads, from the objects of a cluster,
// who owns which repository and who refers to which image.
//
// It works on objects as JSON decodes them, wherever they came from, and it is
// the only package that knows CEL. It refuses to guess: an object that a rule
// names and that can not be placed is an error, an expression that can not be
// evaluated means that the image is needed. It lists nothing, and it does not
// decide what is deleted.
package rules

import (
	"cmp"
	"slices"
	"strings"

	"github.com/ebb-io/ebb/internal/refs"
)

// Rules are compiled owner rules. They do not change, and may be shared.
type Rules struct {
	rules     []rule
	workloads bool
	// hosts limits the references of workloads; empty means any host.
	hosts map[string]bool
}

// rule is one owner rule, ready to be asked.
type rule struct {
	refs.Rule
	resource Resource
	needed   *condition // nil: always
	done     string     // why an image is no longer needed, for people
	// imported says that the objects are images of the virtualization
	// platform, whose status and data source name further images.
	imported bool
}

// Resources are the kinds that the rules name, each once and in a fixed order:
// what a source has to list in full.
func (r *Rules) Resources() []Resource {
	var all []Resource
	for i := range r.rules {
		all = append(all, r.rules[i].resource)
	}
	slices.SortFunc(all, func(a, b Resource) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Resource, b.Resource),
			cmp.Compare(a.Version, b.Version), cmp.Compare(a.Kind, b.Kind))
	})
	return slices.Compact(all)
}

// Workloads tells whether image references in Pods and Pod templates count.
func (r *Rules) Workloads() bool { return r.workloads }

// matches tells whether an object is of the rule's kind, in any version.
func (r *rule) matches(group, kind string) bool {
	if group != r.resource.Group || kind == "" {
		return false
	}
	if r.resource.Kind != "" {
		return kind == r.resource.Kind
	}
	return slices.Contains(plurals(kind), r.resource.Resource)
}

// plurals are the resource names that a kind may have: the one that Kubernetes'
// UnsafeGuessKindToResource guesses, and the English one ("boxes").
func plurals(kind string) []string {
	name := strings.ToLower(kind)
	stem, endsInY := strings.CutSuffix(name, "y")
	switch {
	case strings.HasSuffix(name, "endpoints"):
		return []string{name}
	case strings.HasSuffix(name, "s"):
		return []string{name + "es"}
	case endsInY:
		return []string{stem + "ies"}
	}
	return []string{name + "s", name + "es"}
}
