package enginetest

import (
	"strings"
	"testing"

	"github.com/moby/moby/client"
)

func names() []fact {
	return []fact{
		{name: "a pulled image has its tag and its repository's digest", test: pulled},
		{name: "an image that no registry has looks as if it had a digest on a containerd store", test: local},
		{name: "a pull moves a tag, and what is left of the old image differs", test: moved},
		{name: "a tag moves without a question", test: retagged},
		{name: "what is pulled by digest alone", test: digestOnly},
		{name: "what is pulled by tag and digest has no tag", test: tagAndDigest},
		{name: "two repositories' digests are not all in the list of a containerd store", test: twoRepositories},
		{name: "a filter by reference hides the other repository's names", test: filtered},
		{name: "what is shared is not known before API 1.42", test: shared},
	}
}

func pulled(t *testing.T, l look) {
	repository, digest := l.Pull(t, "names/pulled:1", "pulled", ByTag)
	id := l.id(t, repository+":1")
	want := &shape{Tags: []string{repository + ":1"}, Digests: []string{repository}}
	equal(t, "listed", want, l.listed(t, id))
	equal(t, "inspected", want, l.inspected(t, id))
	equal(t, "the ID is the manifest's digest", l.containerd(), id == digest)
}

func local(t *testing.T, l look) {
	id := l.Import(t, "example.org/names/local:1", "local")
	want := &shape{Tags: []string{"example.org/names/local:1"}}
	if l.containerd() {
		want.Digests = []string{"example.org/names/local"}
	}
	equal(t, "listed", want, l.listed(t, id))
	equal(t, "inspected", want, l.inspected(t, id))
}

func moved(t *testing.T, l look) {
	repository, _ := l.Pull(t, "names/moved:1", "moved, old", ByTag)
	old := l.id(t, repository+":1")
	l.Pull(t, "names/moved:1", "moved, new", ByTag)
	if l.id(t, repository+":1") == old {
		t.Error("the tag has not moved")
	}
	if !l.containerd() {
		want := &shape{Digests: []string{repository}}
		equal(t, "listed", want, l.listed(t, old))
		equal(t, "inspected", want, l.inspected(t, old))
		return
	}
	equal(t, "listed", &shape{}, l.listed(t, old))
	equal(t, "inspected", &shape{}, l.inspected(t, old))
	equal(t, "where it came from, without the port", []string{"127.0.0.1/names/moved"}, l.origins(t, old))
	host, _, _ := strings.Cut(repository, "/")
	equal(t, "the registry has a port", true, strings.Contains(host, ":"))
}

func retagged(t *testing.T, l look) {
	first := l.Import(t, "example.org/names/retagged:1", "retagged, first")
	second := l.Import(t, "example.org/names/retagged:2", "retagged, second")
	l.tag(t, second, "example.org/names/retagged:1")
	equal(t, "the tag is the second's", second, l.id(t, "example.org/names/retagged:1"))
	want := &shape{}
	if l.before(43) {
		want = &shape{Tags: []string{"<none>:<none>"}, Digests: []string{"<none>"}}
	}
	equal(t, "listed", want, l.listed(t, first))
	equal(t, "inspected", &shape{}, l.inspected(t, first))
}

func digestOnly(t *testing.T, l look) {
	repository, digest := l.Pull(t, "names/digest:1", "digest only", ByDigest)
	withoutTag(t, l, repository, digest)
}

func tagAndDigest(t *testing.T, l look) {
	repository, digest := l.Pull(t, "names/both:1", "tag and digest", ByTagAndDigest)
	withoutTag(t, l, repository, digest)
	equal(t, "its tag leads nowhere", "", l.id(t, repository+":1"))
}

func withoutTag(t *testing.T, l look, repository, digest string) {
	t.Helper()
	id := l.id(t, repository+"@"+digest)
	want := &shape{Digests: []string{repository}}
	if l.containerd() {
		want.Tags = []string{repository + "@" + digest}
	}
	equal(t, "listed", want, l.listed(t, id))
	equal(t, "inspected", want, l.inspected(t, id))
}

func twoRepositories(t *testing.T, l look) {
	repository, _ := l.Pull(t, "names/two:1", "two repositories", ByTag)
	id := l.id(t, repository+":1")
	l.tag(t, id, "example.org/names/two:1")
	inspected := l.inspected(t, id)
	tags := []string{repository + ":1", "example.org/names/two:1"}
	if !l.containerd() {
		want := &shape{Tags: tags, Digests: []string{repository}}
		equal(t, "listed", want, l.listed(t, id))
		equal(t, "inspected", want, inspected)
		return
	}
	listed := l.listed(t, id)
	equal(t, "names in the list", tags, listed.Tags)
	equal(t, "digests in the list", 1, len(listed.Digests))
	equal(t, "inspected", &shape{Tags: tags, Digests: []string{repository, "example.org/names/two"}}, inspected)
}

func filtered(t *testing.T, l look) {
	id := l.Import(t, "example.org/names/filtered:1", "filtered")
	l.tag(t, id, "example.org/names/hidden:1")
	list, err := l.Client.ImageList(t.Context(), client.ImageListOptions{
		Filters: make(client.Filters).Add("reference", "example.org/names/filtered"),
	})
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "images", 1, len(list.Items))
	equal(t, "names", []string{"example.org/names/filtered:1"}, list.Items[0].RepoTags)
}

func shared(t *testing.T, l look) {
	id := l.Import(t, "example.org/names/shared:1", "shared")
	list, err := l.Client.ImageList(t.Context(), client.ImageListOptions{All: true, SharedSize: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range list.Items {
		if i.ID == id {
			equal(t, "known", !l.before(42), i.SharedSize >= 0)
			return
		}
	}
	t.Error("the image is not listed")
}
