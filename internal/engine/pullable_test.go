package engine

import (
	"slices"
	"testing"

	"github.com/ebb-io/ebb/internal/image"
)

func TestPullable(t *testing.T) {
	id := image.SHA256([]byte("an image"))
	name := func(text string) image.Name {
		n, err := image.ParseName(text)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	digest := func(repository string) string { return repository + "@" + id.String() }
	named := func(repository string) Image {
		return Image{ID: id, Names: []image.Name{name(repository + ":1")}, Digests: []image.Name{name(digest(repository))}}
	}
	from := func(i Image, origins ...string) Image {
		i.Identified, i.Origins = true, origins
		return i
	}
	const hub, port = "docker.io/library/traefik", "registry.example.org:5000/traefik"
	for _, tt := range []struct {
		reason  string
		store   StoreKind
		image   Image
		home    string
		want    []string
		certain bool
	}{
		{"a graph driver has digests of pulls alone", GraphDriver, named(hub), hub, []string{digest(hub)}, true},
		{"and none of what was imported", GraphDriver, Image{ID: id, Names: []image.Name{name("x:1")}}, hub, nil, true},
		{"the engine says that it was pulled", Containerd, from(named(hub), hub), hub, []string{digest(hub)}, true},
		{"the engine says that it was not", Containerd, from(named(hub)), hub, nil, true},
		{"an older engine does not say it", Containerd, named(hub), hub, []string{digest(hub)}, false},
		{"without a name it is of where it was", Containerd, Image{ID: id}, hub, []string{digest(hub)}, false},
		{"or of nowhere", Containerd, Image{ID: id}, "", nil, false},
		{"a name tells the port", Containerd, from(named(port), "registry.example.org/traefik"), "", []string{digest(port)}, true},
		{"so does its repository", Containerd, from(Image{ID: id}, "registry.example.org/traefik"), port, []string{digest(port)}, true},
		{"a port that nothing tells", Containerd, from(named(hub), "registry.example.org/traefik"), hub, []string{digest("registry.example.org/traefik")}, false},
		{"Docker Hub has none", Containerd, from(named(port), hub), port, []string{digest(hub)}, true},
		{"another name is no origin", Containerd, from(named("docker.io/acme/app"), hub), "docker.io/acme/app", []string{digest(hub)}, true},
	} {
		got, certain := tt.image.Pullable(tt.store, tt.home)
		var texts []string
		for _, n := range got {
			texts = append(texts, n.String())
		}
		if !slices.Equal(texts, tt.want) || certain != tt.certain {
			t.Errorf("%s: %v, certain %v, want %v, %v", tt.reason, texts, certain, tt.want, tt.certain)
		}
	}
}
