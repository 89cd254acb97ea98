package engines

import (
	"testing"

	"github.com/moby/moby/client"

	"github.com/ebb-io/ebb/internal/testkit/engines"
)

// What is removed shares a layer with what is being pulled, and nothing else
// has that layer. A prune breaks such a pull on a containerd store; an unforced
// removal, which is all that Ebb does, must not.
func TestARemovalDoesNotBreakAPullUnderWay(t *testing.T) {
	engines.Each(t, func(t *testing.T, e *engines.Engine) {
		r := engines.NewRegistry(t)
		older := r.Push(t, "infra/app:1", engines.Image(t, "base", "one"))
		img := engines.Image(t, "base", "two")
		newer := r.Push(t, "infra/app:2", img)
		layers, err := img.Layers()
		if err != nil {
			t.Fatal(err)
		}
		last, err := layers[1].Digest()
		if err != nil {
			t.Fatal(err)
		}

		id := e.Pull(t, older)
		hold := r.Hold(t, last)
		pulled := make(chan error)
		go func() { pulled <- e.TryPull(t.Context(), newer) }()
		<-hold.Reached
		if _, err := e.Client.ImageRemove(t.Context(), id, client.ImageRemoveOptions{}); err != nil {
			t.Fatal(err)
		}
		if e.Exists(t, older) {
			t.Error("the older image is there after its removal")
		}
		hold.Release()
		if err := <-pulled; err != nil {
			t.Fatalf("the pull broke: %v", err)
		}
		e.Validate(t, newer)
		e.Create(t, "from-newer", newer)
	})
}
