package engines

import (
	"strings"
	"testing"

	"github.com/ebb-io/ebb/internal/engine"
	"github.com/ebb-io/ebb/internal/testkit/enginetest"
	"github.com/ebb-io/ebb/internal/testkit/fakeengine"
	"github.com/moby/moby/client"
)

// What real engines pass, the fake must pass too.
func TestFakeEnginesDoWhatRealOnesDo(t *testing.T) {
	for _, is := range []struct {
		name, api string
		kind      engine.StoreKind
	}{
		{"graphdriver", "1.41", engine.GraphDriver}, {"today's graphdriver", "1.56", engine.GraphDriver}, {"containerd", "1.56", engine.Containerd},
	} {
		t.Run(is.name, func(t *testing.T) {
			e, s := fakeOf(t, is.kind, is.api)
			enginetest.Facts(t, s)
			for _, v := range e.TakeViolations() {
				if !strings.HasPrefix(v, "a filtered list") {
					t.Error(v)
				}
			}
		})
	}
}

// fake starts a fake of the API versions that the real engine of this kind has.
func fake(t *testing.T, kind engine.StoreKind) (*fakeengine.Engine, enginetest.Subject) {
	t.Helper()
	return fakeOf(t, kind, map[engine.StoreKind]string{engine.GraphDriver: "1.41", engine.Containerd: "1.56"}[kind])
}

func fakeOf(t *testing.T, kind engine.StoreKind, api string) (*fakeengine.Engine, enginetest.Subject) {
	t.Helper()
	e := fakeengine.Start(t, fakeengine.Options{Store: kind, API: api, MinAPI: "1.12"})
	c, err := client.New(client.WithHost(e.Host()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return e, enginetest.Subject{
		Kind: kind, Client: c,
		Pull: func(_ testing.TB, as, content string, by enginetest.Way) (string, string) {
			return pullFake(e, as, content, by)
		},
		Import: func(_ testing.TB, name, content string) string { return e.Import(name, fakeengine.Made(content)) },
		Create: func(_ testing.TB, image, mounted string) string {
			c := fakeengine.Container{From: image, State: "created"}
			if mounted != "" {
				c.Mounts = []string{mounted}
			}
			return e.AddContainer(c)
		},
		Restart:    func(testing.TB) { e.Restart() },
		Containerd: e.Leases(),
	}
}

func pullFake(e *fakeengine.Engine, as, content string, by enginetest.Way) (repository, digest string) {
	contents, name := fakeengine.Made(content), "127.0.0.1:5000/"+as
	repository = name[:strings.LastIndex(name, ":")]
	e.Pull(map[enginetest.Way]string{
		enginetest.ByTag: name, enginetest.ByDigest: repository + "@" + contents.Index,
		enginetest.ByTagAndDigest: name + "@" + contents.Index,
	}[by], contents)
	return repository, contents.Index
}
