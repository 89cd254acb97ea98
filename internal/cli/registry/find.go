package registry

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/ebb-io/ebb/internal/cli"
	"github.com/ebb-io/ebb/internal/image"
	"github.com/ebb-io/ebb/internal/inventory"
	"github.com/ebb-io/ebb/internal/plan"
	"github.com/ebb-io/ebb/internal/refs"
	"github.com/ebb-io/ebb/internal/report"
)

// finder finds what a person means by IMAGE.
type finder struct {
	*plan.Plan
	names   aliasNames
	storage string // for errors
}

// find tries a repository, then a reference, then the beginning of a digest.
func (f *finder) find(query string) (report.Found, error) {
	if name, ok := f.repository(query); ok {
		return report.Found{Repository: name, Images: f.images(func(d *plan.Decision) bool { return d.Repository == name })}, nil
	}
	ref, err := image.ParseReference(query)
	if err == nil {
		if found, ok := f.reference(ref); ok {
			return found, nil
		}
	}
	if found, ok, err := f.prefix(query); ok || err != nil {
		return found, err
	}
	switch {
	case shortPrefix.MatchString(query):
		return report.Found{}, cli.Usagef("%s is too short for a digest: give at least 8 digits of it", query)
	case err != nil && !digestPrefix.MatchString(query):
		return report.Found{}, cli.Usagef("%q names no image: give a repository, repository:tag, repository@digest, "+
			"or the digest of an image, a config or a layer", query)
	}
	return report.Found{}, f.notFound(query, ref)
}

// repository finds a repository by any of its names.
func (f *finder) repository(name string) (string, bool) {
	for i := range f.Inventory().Repositories {
		if r := &f.Inventory().Repositories[i]; r.Name == name || slices.Contains(r.Aliases, name) {
			return r.Name, true
		}
	}
	return "", false
}

func (f *finder) images(is func(*plan.Decision) bool) []int {
	var found []int
	for i := range f.Decisions {
		if is(&f.Decisions[i]) {
			found = append(found, i)
		}
	}
	return found
}

// reference reads a first part that looks like a host in both ways.
func (f *finder) reference(ref image.Reference) (report.Found, bool) {
	if ref.Repository == "" {
		return f.digest(*ref.Digest)
	}
	for _, name := range []string{ref.Repository, ref.Host + "/" + ref.Repository} {
		repository, ok := f.repository(name)
		if !ok {
			continue
		}
		if ref.Tag == "" && ref.Digest == nil {
			return f.whole(repository), true
		}
		want := refs.Reference{Repository: repository, Tag: ref.Tag}
		images := f.images(func(d *plan.Decision) bool {
			if ref.Digest != nil {
				return d.Repository == repository && d.Digest == *ref.Digest
			}
			return f.names.match(want, d)
		})
		if len(images) > 0 {
			return report.Found{Images: images}, true
		}
		if ref.Digest != nil {
			return f.blob(*ref.Digest)
		}
	}
	return report.Found{}, false
}

func (f *finder) whole(repository string) report.Found {
	return report.Found{
		Repository: repository, Images: f.images(func(d *plan.Decision) bool { return d.Repository == repository }),
	}
}

// digest finds an image in every repository that holds it, else a blob.
func (f *finder) digest(want image.Digest) (report.Found, bool) {
	if images := f.images(func(d *plan.Decision) bool { return d.Digest == want }); len(images) > 0 {
		return report.Found{Images: images}, true
	}
	return f.blob(want)
}

func (f *finder) blob(want image.Digest) (report.Found, bool) {
	id, ok := f.Inventory().Contents.Find(want)
	if !ok {
		return report.Found{}, false
	}
	return report.Found{Blobs: []inventory.ID{id}}, true
}

var (
	digestPrefix = regexp.MustCompile(`^(?:(.+)@)?(?:(sha256|sha384|sha512):)?([0-9a-f]{8,})$`)
	// shortPrefix may be the beginning of too many digests to look for one.
	shortPrefix = regexp.MustCompile(`^(?:(?:.+@)?(?:sha256|sha384|sha512):|.+@)[0-9a-f]{0,7}$`)
	// digits may be such a beginning too, or a name.
	digits = regexp.MustCompile(`^[0-9a-f]{4,7}$`)
)

// prefix finds the one digest that begins so. In a repository only its images
// count.
func (f *finder) prefix(query string) (report.Found, bool, error) {
	parts := digestPrefix.FindStringSubmatch(query)
	if parts == nil {
		return report.Found{}, false, nil
	}
	repository, algorithm, begin := parts[1], parts[2], parts[3]
	begins := func(d image.Digest) bool {
		return strings.HasPrefix(d.Hex(), begin) && (algorithm == "" || algorithm == d.Algorithm())
	}
	var digests []image.Digest
	for i := range f.Decisions {
		if d := &f.Decisions[i]; begins(d.Digest) && (repository == "" || repository == d.Repository) {
			digests = append(digests, d.Digest)
		}
	}
	if repository == "" {
		digests = append(digests, f.contents(begins)...)
	}
	slices.SortFunc(digests, image.Digest.Compare)
	switch digests = slices.Compact(digests); len(digests) {
	case 0:
		return report.Found{}, false, nil
	case 1:
		found, ok := f.digestIn(repository, digests[0])
		return found, ok, nil
	}
	return report.Found{}, false, fmt.Errorf("%s is the beginning of %d digests, %s: write more of it", query, len(digests), someOf(digests))
}

func (f *finder) digestIn(repository string, want image.Digest) (report.Found, bool) {
	if repository == "" {
		return f.digest(want)
	}
	return report.Found{Images: f.images(func(d *plan.Decision) bool {
		return d.Repository == repository && d.Digest == want
	})}, true
}

func (f *finder) contents(is func(image.Digest) bool) []image.Digest {
	var found []image.Digest
	contents := f.Inventory().Contents
	for id := range contents.Len() {
		if d := contents.Digest(inventory.ID(id)); is(d) {
			found = append(found, d)
		}
	}
	return found
}

func someOf[T fmt.Stringer](items []T) string {
	const most = 3
	var texts []string
	for _, item := range items[:min(len(items), most)] {
		texts = append(texts, item.String())
	}
	if len(items) > most {
		texts = append(texts, "…")
	}
	return strings.Join(texts, ", ")
}

// notFound names what comes near, or where to look.
func (f *finder) notFound(query string, ref image.Reference) error {
	name, ok := f.repository(ref.Repository)
	switch {
	case ok && ref.Digest != nil:
		return fmt.Errorf("storage %s: repository %s holds no %s: see ebb registry explain %s", f.storage, name, ref.Digest, report.ShellQuote(name))
	case ok:
		return fmt.Errorf("storage %s: repository %s has no tag %s%s", f.storage, name, ref.Tag,
			suggest(": it has %s", f.tagsNear(name, ref.Tag), ": it has none at all"))
	case digits.MatchString(query):
		return fmt.Errorf("storage %s holds no repository %s: of a digest give at least 8 digits", f.storage, query)
	case ref.Repository == "", digestPrefix.MatchString(query):
		return fmt.Errorf("storage %s holds no %s: neither an image nor a part of one is called that", f.storage, query)
	}
	return fmt.Errorf("storage %s holds no %s%s", f.storage, query,
		suggest(": did you mean %s?", f.namesNear(ref.Repository), ": ebb registry check -v shows what it holds"))
}

func suggest(format string, names []string, none string) string {
	if len(names) == 0 {
		return none
	}
	return fmt.Sprintf(format, strings.Join(names, ", "))
}

func (f *finder) tagsNear(repository, tag string) []string {
	var tags []string
	for i := range f.Decisions {
		if f.Decisions[i].Repository == repository {
			tags = append(tags, f.Decisions[i].Tags...)
		}
	}
	return cli.Nearest(tag, tags, 1<<10)
}

func (f *finder) namesNear(name string) []string {
	var names []string
	for i := range f.Inventory().Repositories {
		names = append(names, f.Inventory().Repositories[i].Name)
	}
	return cli.Nearest(name, names, max(2, len(name)/3))
}

// aliasNames are the further names of repositories.
type aliasNames map[string][]string

func aliases(p *plan.Plan) aliasNames {
	names := aliasNames{}
	for i := range p.Inventory().Repositories {
		if r := &p.Inventory().Repositories[i]; len(r.Aliases) > 0 {
			names[r.Name] = r.Aliases
		}
	}
	return names
}

func (a aliasNames) match(ref refs.Reference, d *plan.Decision) bool {
	if ref.Digest != nil && *ref.Digest == d.Digest {
		return true
	}
	for _, name := range append([]string{d.Repository}, a[d.Repository]...) {
		if name == ref.Repository && (ref.Whole || ref.Tag != "" && contains(d.Tags, ref.Tag)) {
			return true
		}
	}
	return false
}
