package enginetest

import (
	"strings"
	"testing"

	"github.com/containerd/errdefs"
)

func removals() []fact {
	return []fact{
		{name: "a removal by ID takes the one tag and the digests of a repository", test: byID},
		{name: "a removal by ID is refused with two tags of one repository", test: byIDTwoTags},
		{name: "a removal by ID is refused with names of two repositories", test: byIDTwoRepositories},
		{name: "a removal by name takes one name alone while there are others", test: byName},
		{name: "a removal of the last tag takes the repository's digests", test: lastTag},
		{name: "a removal of what is not there is 404", test: absent},
		{name: "an image without a name goes by ID", test: nameless},
	}
}

func byID(t *testing.T, l look) {
	repository, _ := l.Pull(t, "removals/id:1", "by ID", ByTag)
	id := l.id(t, repository+":1")
	l.gone(t, id, id)
}

func byIDTwoTags(t *testing.T, l look) {
	id := l.Import(t, "example.org/removals/tags:1", "two tags")
	l.tag(t, id, "example.org/removals/tags:2")
	l.refused(t, id, id)
}

func byIDTwoRepositories(t *testing.T, l look) {
	id := l.Import(t, "example.org/removals/one:1", "two repositories' names")
	l.tag(t, id, "example.org/removals/other:1")
	l.refused(t, id, id)
}

func byName(t *testing.T, l look) {
	id := l.Import(t, "example.org/removals/name:1", "by name")
	l.tag(t, id, "example.org/removals/name:2")
	if err := l.remove(t, "example.org/removals/name:1"); err != nil {
		t.Fatal(err)
	}
	equal(t, "names left", []string{"example.org/removals/name:2"}, l.inspected(t, id).Tags)
	l.gone(t, "example.org/removals/name:2", id)
}

func lastTag(t *testing.T, l look) {
	repository, _ := l.Pull(t, "removals/last:1", "last tag", ByTag)
	l.gone(t, repository+":1", l.id(t, repository+":1"))
}

func absent(t *testing.T, l look) {
	id := l.Import(t, "example.org/removals/absent:1", "absent")
	l.gone(t, id, id)
	for _, image := range []string{id, "example.org/removals/absent:1"} {
		_, inspected := l.Client.ImageInspect(t.Context(), image)
		for what, err := range map[string]error{"remove": l.remove(t, image), "inspect": inspected} {
			if !saysNone(err, "image") {
				t.Errorf("%s %s again: %v, want not found", what, image, err)
			}
		}
	}
}

// saysNone tells whether it is the engine that has none: a proxy's 404 has other
// words.
func saysNone(err error, what string) bool {
	return errdefs.IsNotFound(err) && strings.Contains(strings.ToLower(err.Error()), "no such "+what)
}

func nameless(t *testing.T, l look) {
	repository, _ := l.Pull(t, "removals/nameless:1", "nameless, old", ByTag)
	id := l.id(t, repository+":1")
	l.Pull(t, "removals/nameless:1", "nameless, new", ByTag)
	l.gone(t, id, id)
	if l.id(t, repository+":1") == "" {
		t.Error("the tag went with the image that it had left")
	}
}
