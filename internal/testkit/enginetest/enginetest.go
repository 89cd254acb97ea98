// Package enginetest says by tests what a Docker engine does with names, IDs
// and containers, as far as Ebb relies on it, for each kind of image store. A
// real engine passes, and a fake one must.
//
// It refuses to know which engine it looks at: all that differs is the kind of
// the image store.
package enginetest

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/containerd/errdefs"
	"github.com/google/go-cmp/cmp"
	"github.com/moby/moby/client"

	"github.com/ebb-io/ebb/internal/engine"
)

// Subject is an engine to look at, and what can be done to it besides the calls
// that Ebb makes itself.
type Subject struct {
	Kind   engine.StoreKind
	Client *client.Client
	// Pull puts an image with this content into a registry as repository:tag,
	// pulls it by that or by its digest alone, and returns its repository with
	// the registry's address, and its digest.
	Pull func(t testing.TB, as, content string, by Way) (repository, digest string)
	// Import makes an image that no registry has, and returns its ID.
	Import func(t testing.TB, name, content string) string
	// Create makes a container of an image without starting it, and returns its
	// ID; mounted, unless it is empty, is an image that it mounts.
	Create  func(t testing.TB, image, mounted string) string
	Restart func(t testing.TB)
	// Containerd is the socket of the engine's own containerd.
	Containerd string
}

// Way is what an image is pulled by.
type Way int

// The ways to pull.
const (
	ByTag          Way = iota // repository:tag
	ByDigest                  // repository@digest
	ByTagAndDigest            // repository:tag@digest
)

// Facts runs every fact as a subtest. They share the engine: each has names and
// contents of its own.
func Facts(t *testing.T, s Subject) {
	for _, fact := range slices.Concat(names(), pulls(), removals(), containers(), events()) {
		if fact.only != "" && fact.only != s.Kind {
			continue
		}
		t.Run(fact.name, func(t *testing.T) { fact.test(t, look{Subject: s}) })
	}
}

type fact struct {
	name string
	test func(*testing.T, look)
	only engine.StoreKind // empty: of both kinds
}

// look is a subject with what the facts ask it.
type look struct{ Subject }

// shape is an image as the list of images shows it.
type shape struct {
	Tags    []string
	Digests []string // repositories alone
}

func (l look) containerd() bool { return l.Kind == engine.Containerd }

// before tells whether the engine speaks an API older than 1.minor.
func (l look) before(minor int) bool {
	n, err := strconv.Atoi(strings.TrimPrefix(l.Client.ClientVersion(), "1."))
	return err == nil && n < minor
}

// listed is the image's shape, or nil if the list has no such image.
func (l look) listed(t *testing.T, id string) *shape {
	t.Helper()
	list, err := l.Client.ImageList(t.Context(), client.ImageListOptions{All: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range list.Items {
		if i.ID == id {
			return newShape(i.RepoTags, i.RepoDigests)
		}
	}
	return nil
}

// inspected is the image's shape as an inspection shows it.
func (l look) inspected(t *testing.T, id string) *shape {
	t.Helper()
	i, err := l.Client.ImageInspect(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return newShape(i.RepoTags, i.RepoDigests)
}

func newShape(tags, digests []string) *shape {
	s := &shape{Tags: slices.Sorted(slices.Values(tags))}
	for _, d := range digests {
		repository, _, _ := strings.Cut(d, "@")
		s.Digests = append(s.Digests, repository)
	}
	slices.Sort(s.Digests)
	return s
}

// id is the ID of the image that a name or an ID leads to; empty: none.
func (l look) id(t *testing.T, name string) string {
	t.Helper()
	i, err := l.Client.ImageInspect(t.Context(), name)
	if err != nil && !errdefs.IsNotFound(err) {
		t.Fatalf("inspect %s: %v", name, err)
	}
	return i.ID
}

func (l look) tag(t *testing.T, image, name string) {
	t.Helper()
	if _, err := l.Client.ImageTag(t.Context(), client.ImageTagOptions{Source: image, Target: name}); err != nil {
		t.Fatal(err)
	}
}

// remove is the one call by which Ebb removes: unforced, without parents.
func (l look) remove(t *testing.T, image string) error {
	t.Helper()
	_, err := l.Client.ImageRemove(t.Context(), image, client.ImageRemoveOptions{})
	return err
}

// refused removes, and wants 409 and the image to stay as it is.
func (l look) refused(t *testing.T, image, id string) {
	t.Helper()
	before := l.listed(t, id)
	if err := l.remove(t, image); !errdefs.IsConflict(err) {
		t.Errorf("remove %s: %v, want a conflict", image, err)
	}
	if diff := cmp.Diff(before, l.listed(t, id)); diff != "" {
		t.Errorf("a refused removal of %s changed the image (-before +after):\n%s", image, diff)
	}
}

// gone removes, and wants the image to be no more.
func (l look) gone(t *testing.T, image, id string) {
	t.Helper()
	if err := l.remove(t, image); err != nil {
		t.Errorf("remove %s: %v", image, err)
	}
	if s := l.listed(t, id); s != nil {
		t.Errorf("after the removal of %s the image is there still, as %v", image, *s)
	}
}

func equal(t *testing.T, what string, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}
