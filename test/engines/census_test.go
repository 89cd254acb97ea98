package engines

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/moby/moby/client"

	"github.com/ebb-io/ebb/internal/engine"
	"github.com/ebb-io/ebb/internal/image"
	"github.com/ebb-io/ebb/internal/testkit/engines"
)

// census is everything that an engine has and a pass could touch: the names of
// each image, and the image and state of each container.
type census struct {
	Images     map[string][]string
	Containers map[string][2]string
}

func count(t *testing.T, e *engines.Engine) census {
	t.Helper()
	c := census{Images: map[string][]string{}, Containers: map[string][2]string{}}
	images, err := e.Client.ImageList(t.Context(), client.ImageListOptions{All: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range images.Items {
		c.Images[i.ID] = full(i.RepoTags)
		if e.Kind == engine.GraphDriver { // a containerd store lists the digests of any one name
			c.Images[i.ID] = full(append(i.RepoTags, i.RepoDigests...))
		}
	}
	containers, err := e.Client.ContainerList(t.Context(), client.ContainerListOptions{All: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range containers.Items {
		c.Containers[one.ID] = [2]string{one.ImageID, string(one.State)}
	}
	return c
}

// full are names in order, as they are written in full.
func full(names []string) []string {
	out := []string{}
	for _, n := range names {
		if strings.HasPrefix(n, "<none>") { // how an engine says that there is none
			continue
		}
		if parsed, err := image.ParseName(n); err == nil {
			n = parsed.String()
		}
		out = append(out, n)
	}
	slices.Sort(out)
	return out
}

// without is all but the images that have one of these names or IDs.
func (c census) without(images ...string) census {
	left := census{Images: maps.Clone(c.Images), Containers: c.Containers}
	maps.DeleteFunc(left.Images, func(id string, names []string) bool {
		return slices.Contains(images, id) || slices.ContainsFunc(names, func(n string) bool { return slices.Contains(images, n) })
	})
	return left
}

// is wants an engine to have this and nothing else, all of it whole.
func (c census) is(t *testing.T, e *engines.Engine) {
	t.Helper()
	if diff := cmp.Diff(c, count(t, e)); diff != "" {
		t.Errorf("what is there (-want +got):\n%s", diff)
	}
	for id := range c.Images {
		e.Validate(t, id)
	}
}
