package scenarios

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/ebb-io/ebb/internal/testkit/world"
)

// names lets a scenario speak of images and not of digests.
type names struct {
	digests map[string]string // by name
	first   map[string]string // name by digest
}

func newNames() names { return names{digests: map[string]string{}, first: map[string]string{}} }

func (n names) add(name, digest string) {
	if name == "" || strings.HasPrefix(name, ".") || digest == "" {
		return
	}
	n.digests[name] = digest
	if _, named := n.first[digest]; !named {
		n.first[digest] = name
	}
}

// digest is what a name stands for; a name that nothing has is an image that
// never was.
func (n names) digest(name string) string {
	if strings.Contains(name, ":") {
		return name
	}
	if d, ok := n.digests[name]; ok {
		return d
	}
	n.add(name, world.Digest("an image called "+name))
	return n.digests[name]
}

var variable = regexp.MustCompile(`\$\{([^}]*)\}`)

// expand replaces the names of a text by digests, tags' forms of them and UIDs.
func (n names) expand(text string) string {
	return variable.ReplaceAllStringFunc(text, func(v string) string {
		name := strings.Trim(v, "${}")
		if number, ok := strings.CutPrefix(name, "uid:"); ok {
			return fmt.Sprintf("00000000-0000-4000-8000-%012s", number)
		}
		if name, ok := strings.CutPrefix(name, "tag:"); ok {
			return world.SubjectTag(n.digest(name), "")
		}
		return n.digest(name)
	})
}

var (
	uids    = regexp.MustCompile(`00000000-0000-4000-8000-0*([0-9]+)`)
	hashes  = regexp.MustCompile(`sha(256|512)[:/-][0-9a-f]{64,128}`)
	folders = regexp.MustCompile(`sha(256|512)/[0-9a-f]{2}/([0-9a-f]{64,128})`)
)

// contract is the way back.
func (n names) contract(text string) string {
	text = uids.ReplaceAllString(text, "uid:$1")
	text = folders.ReplaceAllString(text, "sha$1:$2")
	for _, digest := range n.byName() {
		name := n.first[digest]
		algorithm, hash, _ := strings.Cut(digest, ":")
		text = strings.ReplaceAll(text, world.SubjectTag(digest, ""), "tag:"+name)
		text = strings.ReplaceAll(text, digest, "<"+name+">")
		text = strings.ReplaceAll(text, algorithm+"/"+hash, "<"+name+">")
	}
	return hashes.ReplaceAllString(text, "<nameless>")
}

func (n names) byName() []string {
	digests := make([]string, 0, len(n.first))
	for digest := range n.first {
		digests = append(digests, digest)
	}
	slices.SortFunc(digests, func(a, b string) int { return cmp.Compare(n.first[a], n.first[b]) })
	return digests
}
