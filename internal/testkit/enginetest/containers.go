package enginetest

import (
	"strings"
	"testing"

	"github.com/moby/moby/client"

	"github.com/ebb-io/ebb/internal/engine"
)

func containers() []fact {
	return []fact{
		{name: "a container that never ran protects its image's last name", test: lastNameInUse},
		{name: "a container protects its image from a removal by ID", test: idInUse},
		{name: "a container does not protect the name that it was made from", test: nameInUse},
		{name: "a container shows a bare ID once its name has moved, and an inspection the name", test: nameMoved},
		{name: "a container that is not there is 404", test: noContainer},
		{name: "a mounted image goes by ID, and stays by name", test: mountedImage, only: engine.Containerd},
	}
}

func lastNameInUse(t *testing.T, l look) {
	id := l.Import(t, "example.org/containers/last:1", "last name in use")
	l.Create(t, "example.org/containers/last:1", "")
	l.refused(t, "example.org/containers/last:1", id)
}

func idInUse(t *testing.T, l look) {
	id := l.Import(t, "example.org/containers/id:1", "ID in use")
	l.Create(t, "example.org/containers/id:1", "")
	l.refused(t, id, id)
}

func nameInUse(t *testing.T, l look) {
	id := l.Import(t, "example.org/containers/name:1", "name in use")
	l.tag(t, id, "example.org/containers/alias:1")
	l.Create(t, "example.org/containers/name:1", "")
	if err := l.remove(t, "example.org/containers/name:1"); err != nil {
		t.Fatal(err)
	}
	equal(t, "names left", []string{"example.org/containers/alias:1"}, l.inspected(t, id).Tags)
	l.refused(t, "example.org/containers/alias:1", id)
}

func nameMoved(t *testing.T, l look) {
	id := l.Import(t, "example.org/containers/moved:1", "moved, first")
	container := l.Create(t, "example.org/containers/moved:1", "")
	l.tag(t, l.Import(t, "example.org/containers/moved:2", "moved, second"), "example.org/containers/moved:1")
	found, err := l.Client.ContainerInspect(t.Context(), container, client.ContainerInspectOptions{})
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "the image inspected", id, found.Container.Image)
	equal(t, "the name inspected", "example.org/containers/moved:1", found.Container.Config.Image)
	list, err := l.Client.ContainerList(t.Context(), client.ContainerListOptions{All: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range list.Items {
		if c.ID == container {
			equal(t, "the ID listed", id, c.ImageID)
			equal(t, "the name listed", id, c.Image)
			return
		}
	}
	t.Error("a container that never ran is not listed")
}

func noContainer(t *testing.T, l look) {
	_, err := l.Client.ContainerInspect(t.Context(), strings.Repeat("0123", 16), client.ContainerInspectOptions{})
	if !saysNone(err, "container") {
		t.Errorf("%v, want not found", err)
	}
}

func mountedImage(t *testing.T, l look) {
	l.Import(t, "example.org/containers/user:1", "who mounts")
	id := l.Import(t, "example.org/containers/mounted:1", "mounted")
	container := l.Create(t, "example.org/containers/user:1", "example.org/containers/mounted:1")
	found, err := l.Client.ContainerInspect(t.Context(), container, client.ContainerInspectOptions{})
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "mounts", 1, len(found.Container.Mounts))
	equal(t, "its type", "image", string(found.Container.Mounts[0].Type))
	equal(t, "its name", "example.org/containers/mounted:1", found.Container.Mounts[0].Name)
	l.refused(t, "example.org/containers/mounted:1", id)
	l.gone(t, id, id)
}
