package engines

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/containerd/errdefs"
	"github.com/google/go-cmp/cmp"
	"github.com/moby/moby/client"

	"github.com/ebb-io/ebb/internal/testkit/engines"
	"github.com/ebb-io/ebb/internal/testkit/enginetest"
)

// The same random deeds done to a real engine and to the fake of its kind have
// the same outcome, refusals included, and leave the same names.
func TestTheFakeIsLikeTheRealEngine(t *testing.T) {
	engines.Each(t, func(t *testing.T, e *engines.Engine) {
		for round := range uint64(12) {
			_, pretended := fake(t, e.Kind)
			p := pair{{Subject: subject(t, e), ids: map[string]string{}}, {Subject: pretended, ids: map[string]string{}}}
			p.live(t, round)
			if t.Failed() {
				t.Fatalf("in round %d", round)
			}
			empty(t, e)
		}
	})
}

// empty removes all that a round left, as a containerd store lists many images
// slowly.
func empty(t *testing.T, e *engines.Engine) {
	t.Helper()
	there := count(t, e)
	for id := range there.Containers {
		e.Remove(t, id)
	}
	for id := range there.Images {
		if _, err := e.Client.ImageRemove(t.Context(), id, client.ImageRemoveOptions{Force: true}); err != nil {
			t.Fatal(err)
		}
	}
}

// side is an engine with the IDs and registry names that it has for the same things.
type side struct {
	enginetest.Subject
	ids   map[string]string // by content
	hosts []string          // of its registry
}

// pair is the real engine and the fake.
type pair [2]*side

// live does random deeds to both, in names and contents of this round alone: so
// few of them that they meet.
func (p pair) live(t *testing.T, round uint64) {
	t.Helper()
	r := rand.New(rand.NewPCG(round, 7)) //nolint:gosec // a repeatable draw, no secret
	repository := func() string { return fmt.Sprintf("round%d/%c", round, 'a'+r.IntN(2)) }
	for n := range 25 {
		var did string
		var out [2]string
		switch d := r.IntN(10); {
		case d < 3 || len(p[0].ids) == 0:
			as, content, by := repository()+fmt.Sprint(":", r.IntN(2)), fmt.Sprint("round ", round, " ", r.IntN(2)), enginetest.Way(r.IntN(2))
			did = fmt.Sprint("pull ", as, " as ", content, " by ", by)
			p.each(func(_ int, s *side) { s.pull(t, as, content, by) })
		case d == 3:
			name, content := "example.org/"+repository()+":1", fmt.Sprint("import ", round, " ", n)
			did = "import " + name
			p.each(func(_ int, s *side) { s.ids[content] = s.Import(t, name, content) })
		case d == 4:
			content, name := p.content(r), "example.org/"+repository()+fmt.Sprint(":", r.IntN(2))
			did = "tag " + content + " as " + name
			p.each(func(i int, s *side) { out[i] = s.tag(t, s.ids[content], name) })
		case d == 5:
			content := p.content(r)
			did = "create of " + content
			p.each(func(_ int, s *side) {
				if s.there(t, s.ids[content]) {
					s.Create(t, s.ids[content], "")
				}
			})
		case d < 8:
			content := p.content(r)
			did = "remove by ID " + content
			p.each(func(i int, s *side) { out[i] = s.remove(t, s.ids[content]) })
		default:
			names := p[0].names(t)
			if len(names) == 0 {
				continue
			}
			name := names[r.IntN(len(names))]
			did = "remove by name " + name
			p.each(func(i int, s *side) { out[i] = s.remove(t, s.own(name)) })
		}
		if out[0] != out[1] {
			t.Errorf("%s: really %q, pretended %q", did, out[0], out[1])
		}
		if diff := cmp.Diff(p[0].shapes(t), p[1].shapes(t)); diff != "" {
			t.Errorf("after %s (-real +fake):\n%s", did, diff)
		}
		if t.Failed() {
			return
		}
	}
}

func (p pair) each(f func(int, *side)) {
	for i, s := range p {
		f(i, s)
	}
}

// content is one that both know.
func (p pair) content(r *rand.Rand) string {
	var all []string
	for c := range p[0].ids {
		if !strings.HasPrefix(c, "digest of ") {
			all = append(all, c)
		}
	}
	slices.Sort(all)
	return all[r.IntN(len(all))]
}

func (s *side) pull(t *testing.T, as, content string, by enginetest.Way) {
	t.Helper()
	repository, digest := s.Pull(t, as, content, by)
	host, _, _ := strings.Cut(repository, "/")
	if !slices.Contains(s.hosts, host) {
		s.hosts = append(s.hosts, host)
	}
	i, err := s.Client.ImageInspect(t.Context(), repository+"@"+digest)
	if err != nil {
		t.Fatal(err)
	}
	s.ids[content] = i.ID
	s.ids["digest of "+content] = digest
}

func (s *side) there(t *testing.T, id string) bool {
	t.Helper()
	_, err := s.Client.ImageInspect(t.Context(), id)
	return err == nil
}

func (s *side) tag(t *testing.T, id, name string) string {
	t.Helper()
	_, err := s.Client.ImageTag(t.Context(), client.ImageTagOptions{Source: id, Target: name})
	return class(err)
}

func (s *side) remove(t *testing.T, image string) string {
	t.Helper()
	r, err := s.Client.ImageRemove(t.Context(), image, client.ImageRemoveOptions{})
	var went []string
	for _, d := range r.Items {
		if d.Untagged != "" {
			went = append(went, s.shared(d.Untagged))
		}
	}
	slices.Sort(went)
	return class(err) + strings.Join(went, " ")
}

func class(err error) string {
	switch {
	case err == nil:
		return ""
	case errdefs.IsConflict(err):
		return "conflict"
	case errdefs.IsNotFound(err):
		return "not found"
	}
	return err.Error()
}

// names are all names in the words that both sides share.
func (s *side) names(t *testing.T) []string {
	t.Helper()
	var out []string
	for _, shape := range s.shapes(t) {
		for _, n := range append(shape[0], shape[1]...) {
			if !strings.Contains(n, "<none>") {
				out = append(out, n)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// shapes are tags and digests, listed and inspected, of what is there of this
// round, by content.
func (s *side) shapes(t *testing.T) map[string][4][]string {
	t.Helper()
	list, err := s.Client.ImageList(t.Context(), client.ImageListOptions{All: true})
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][4][]string{}
	for content, id := range s.ids {
		for _, i := range list.Items {
			if i.ID != id || strings.HasPrefix(content, "digest of ") {
				continue
			}
			full, err := s.Client.ImageInspect(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			out[content] = [4][]string{s.sharedAll(i.RepoTags), s.sharedAll(i.RepoDigests), s.sharedAll(full.RepoTags), s.sharedAll(full.RepoDigests)}
		}
	}
	return out
}

func (s *side) sharedAll(names []string) []string {
	out := []string{}
	for _, n := range names {
		out = append(out, s.shared(n))
	}
	slices.Sort(out)
	return out
}

// shared is a name in the words that both sides share, and own one in this side's.
func (s *side) shared(name string) string {
	for _, host := range s.hosts {
		name = strings.Replace(name, host+"/", "registry/", 1)
	}
	for content, id := range s.ids {
		name = strings.Replace(name, id, "<"+strings.TrimPrefix(content, "digest of ")+">", 1)
	}
	return name
}

func (s *side) own(name string) string {
	for _, host := range s.hosts {
		name = strings.Replace(name, "registry/", host+"/", 1)
	}
	for content, id := range s.ids {
		if of, ok := strings.CutPrefix(content, "digest of "); ok || s.ids["digest of "+content] == "" {
			name = strings.Replace(name, "<"+of+">", id, 1)
		}
	}
	return name
}
