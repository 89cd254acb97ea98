package refs

import (
	"fmt"
	"hash/fnv"
	"regexp"
	"slices"

	"github.com/ebb-io/ebb/internal/image"
)

// Index answers who claims a repository and who refers to an image.
type Index struct {
	rules        []Rule
	owners       map[key][]*Owner
	byRepository map[string][]*Reference
	byDigest     map[image.Digest][]*Reference
}

// key finds the owners of a repository under a rule: by its path, or by the
// part of it that survives a shortened name.
type key struct {
	rule int
	path string
}

// NewIndex prepares a set for look-ups. The set must not change afterwards.
func NewIndex(s Set) *Index {
	x := &Index{
		rules:        s.Rules,
		owners:       map[key][]*Owner{},
		byRepository: map[string][]*Reference{},
		byDigest:     map[image.Digest][]*Reference{},
	}
	for i := range s.Owners {
		x.addOwner(&s.Owners[i])
	}
	for i := range s.References {
		x.addReference(&s.References[i])
	}
	return x
}

func (x *Index) addOwner(o *Owner) {
	rule := &x.rules[o.Rule]
	if path, ok := rule.Repository.Build(o.Values); ok {
		k := key{o.Rule, path}
		x.owners[k] = append(x.owners[k], o)
	}
	if !rule.Shortened {
		return
	}
	short := o.Values
	short.Name = NameHash(o.Name)
	if path, ok := rule.Repository.Build(short); ok {
		k := key{o.Rule, path}
		x.owners[k] = append(x.owners[k], o)
	}
}

func (x *Index) addReference(r *Reference) {
	if r.Repository != "" {
		x.byRepository[r.Repository] = append(x.byRepository[r.Repository], r)
	}
	if r.Digest != nil {
		x.byDigest[*r.Digest] = append(x.byDigest[*r.Digest], r)
	}
}

// Claims are the rules that lay claim to a repository, in their order.
func (x *Index) Claims(repository string) []Claim {
	var claims []Claim
	for i := range x.rules {
		rule := &x.rules[i]
		values, ok := rule.Repository.Match(repository)
		if !ok {
			continue
		}
		claims = append(claims, Claim{Rule: rule, Values: values, owners: x.ownersOf(i, repository, values)})
	}
	return claims
}

func (x *Index) ownersOf(rule int, repository string, values Values) []*Owner {
	owners := x.owners[key{rule, repository}]
	path, ok := x.hashed(rule, values)
	if !ok {
		return owners
	}
	return append(owners[:len(owners):len(owners)], x.owners[key{rule, path}]...)
}

// hashed is the path under which a shortened name is found by its hash alone.
// It is false for a name that was not shortened, or already is only a hash.
func (x *Index) hashed(rule int, values Values) (string, bool) {
	hash := endsInHash.FindString(values.Name)
	if !x.rules[rule].Shortened || hash == "" || hash == values.Name {
		return "", false
	}
	values.Name = hash
	return x.rules[rule].Repository.Build(values)
}

// ByRepository are the references that name the repository. One to a whole
// repository also names those whose name was shortened to its hash.
func (x *Index) ByRepository(repository string) []*Reference {
	found := x.byRepository[repository]
	for i := range x.rules {
		values, ok := x.rules[i].Repository.Match(repository)
		if !ok {
			continue
		}
		path, ok := x.hashed(i, values)
		if !ok {
			continue
		}
		for _, r := range x.byRepository[path] {
			if r.Whole && !slices.Contains(found, r) {
				found = append(found[:len(found):len(found)], r)
			}
		}
	}
	return found
}

// ByDigest are the references that name the digest, in whatever repository.
func (x *Index) ByDigest(d image.Digest) []*Reference { return x.byDigest[d] }

// HasDigests tells whether any reference names a digest.
func (x *Index) HasDigests() bool { return len(x.byDigest) > 0 }

// endsInHash finds the sixteen digits that a shortened name ends in.
var endsInHash = regexp.MustCompile(`[0-9a-f]{16}$`)

// NameHash is what a shortened name ends in: the FNV-1a hash of the full name
// in 64 bits, as 16 hexadecimal digits.
func NameHash(name string) string {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name)) // a hash never fails
	return fmt.Sprintf("%016x", h.Sum64())
}
