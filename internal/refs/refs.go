// Package refs says who needs which image: owner rules that tie objects to
// repositories, the objects that live, and references by name or digest.
//
// It is pure. It does not know where objects come from or whether all were
// found: a source that could not answer in full is an error long before here.
// It refuses to judge a repository that no rule claims.
package refs

import (
	"fmt"
	"slices"

	"github.com/ebb-io/ebb/internal/image"
	"github.com/ebb-io/ebb/internal/reason"
)

// Rule ties a kind of object to the repositories of its images. A repository
// that the pattern matches is claimed.
type Rule struct {
	Name       string // of the rule, for people
	Kind       string // of the objects, such as VirtualImage
	Repository Pattern
	Tag        Pattern // zero: every tag follows the owner
	// Shortened says that a name too long for a repository is cut and ends in
	// the hash of the full name (see NameHash).
	Shortened bool
	// Objects is how many objects of the kind there are. With none at all the
	// rule's repositories are held: an empty list is doubted.
	Objects int
}

// Owner is a living object seen through one rule.
type Owner struct {
	Rule int // index into Set.Rules
	Values
	// Done says that the object no longer needs its image.
	Done bool
	// Detail says why, in words for people; it may be empty.
	Detail string
}

// Object tells one object from all others. It need not live.
type Object struct {
	Kind string // such as VirtualImage
	Values
}

// String names the object for people: its kind, and its namespace and name as
// far as they are known.
func (o Object) String() string {
	switch {
	case o.Name == "" && o.Namespace == "":
		return o.Kind + " " + o.UID
	case o.Name == "":
		return o.Kind + " in " + o.Namespace
	case o.Namespace == "":
		return o.Kind + " " + o.Name
	}
	return o.Kind + " " + o.Namespace + "/" + o.Name
}

// Reference names an image without owning its repository.
type Reference struct {
	Code       reason.Code // Referenced or Pinned
	By         string      // who refers to it, such as "Pod default/web"
	Repository string      // path in the registry, without a host; empty with a bare digest
	Tag        string      // empty: none named
	Digest     *image.Digest
	Whole      bool // every image of the repository is meant
}

// Set is everything that is known of who needs what.
type Set struct {
	Rules      []Rule
	Owners     []Owner
	References []Reference
}

// Verdict is what a rule says of one tag.
type Verdict struct {
	Keep   bool
	Reason reason.Reason
}

// Claim is a rule's hold on one repository.
type Claim struct {
	Rule   *Rule
	Values Values // as read from the repository's name
	owners []*Owner
}

// Object is the object that the repository belongs to, living or not.
func (c Claim) Object() Object { return Object{Kind: c.Rule.Kind, Values: c.Values} }

// Owner names that object.
func (c Claim) Owner() string { return c.Object().String() }

// Held tells whether the claim must not delete: there is not a single object
// of its kind, which is more likely a mistake than the truth.
func (c Claim) Held() bool { return c.Rule.Objects == 0 }

// Alive tells whether an object builds this repository.
func (c Claim) Alive() bool { return len(c.owners) > 0 }

// Judge says whether a tag of the claimed repository is needed.
func (c Claim) Judge(tag string) Verdict {
	if !c.Alive() {
		return verdict(reason.OwnerGone, "%s does not exist", c.Owner())
	}
	if stale, by := c.stale(tag); stale {
		return verdict(reason.StaleOwner, "the tag names an earlier %s; it lives now as %s", c.Owner(), by)
	}
	var done *Owner
	for _, o := range c.owners {
		if !c.follows(o, tag) {
			continue
		}
		if !o.Done {
			return Verdict{Keep: true, Reason: reason.Reason{Code: reason.Owned, Detail: c.describe(o)}}
		}
		done = o
	}
	return verdict(reason.OwnerDone, "%s", c.describe(done))
}

// Lacks tells whether a living owner that needs its image has no tag among
// those of its repository: the one it builds, or any where it builds none. Its
// image may be one that lost its tag.
func (c Claim) Lacks(tags []string) (owner string, lacks bool) {
	for _, o := range c.owners {
		built, known := c.Rule.Tag.Build(o.Values)
		if !o.Done && !slices.Contains(tags, built) && (known || len(tags) == 0) {
			return c.living(o).String(), true
		}
	}
	return "", false
}

// stale tells whether the tag is another object's by its form and none of the
// living owners built it. An owner without a known UID leaves it in doubt.
func (c Claim) stale(tag string) (bool, string) {
	if _, ok := c.Rule.Tag.Match(tag); !ok {
		return false, ""
	}
	var last string
	for _, o := range c.owners {
		built, ok := c.Rule.Tag.Build(o.Values)
		if !ok || built == tag {
			return false, ""
		}
		last = built
	}
	return true, last
}

// follows tells whether a tag that is not stale is this owner's: it built it,
// or the tag has no owner's form.
func (c Claim) follows(o *Owner, tag string) bool {
	if _, ok := c.Rule.Tag.Match(tag); !ok {
		return true
	}
	built, ok := c.Rule.Tag.Build(o.Values)
	return !ok || built == tag
}

func (c Claim) describe(o *Owner) string {
	name := c.living(o).String()
	if o.Detail == "" {
		return name
	}
	return name + ": " + o.Detail
}

func (c Claim) living(o *Owner) Object { return Object{Kind: c.Rule.Kind, Values: o.Values} }

func verdict(code reason.Code, format string, args ...any) Verdict {
	return Verdict{Reason: reason.Reason{Code: code, Detail: fmt.Sprintf(format, args...)}}
}
