package fakeengine_test

import (
	"strings"
	"testing"

	"github.com/ebb-io/ebb/internal/engine"
	"github.com/ebb-io/ebb/internal/testkit/enginetest"
	"github.com/ebb-io/ebb/internal/testkit/fakeengine"
)

// What real engines pass, the fake must pass too.
func TestFacts(t *testing.T) {
	for kind, api := range map[engine.StoreKind]string{engine.GraphDriver: "1.41", engine.Containerd: "1.56"} {
		t.Run(string(kind), func(t *testing.T) {
			e := fakeengine.Start(t, fakeengine.Options{Store: kind, API: api, MinAPI: "1.12"})
			enginetest.Facts(t, subject(t, e, kind))
			for _, v := range e.TakeViolations() {
				if !strings.HasPrefix(v, "a filtered list") {
					t.Error(v)
				}
			}
		})
	}
}

func subject(t *testing.T, e *fakeengine.Engine, kind engine.StoreKind) enginetest.Subject {
	return enginetest.Subject{
		Kind: kind, Client: dial(t, e),
		Pull: func(_ testing.TB, as, content string, by enginetest.Way) (string, string) {
			contents := fakeengine.Made(content)
			name := "127.0.0.1:5000/" + as
			repository := name[:strings.LastIndex(name, ":")]
			e.Pull(map[enginetest.Way]string{
				enginetest.ByTag: name, enginetest.ByDigest: repository + "@" + contents.Index,
				enginetest.ByTagAndDigest: name + "@" + contents.Index,
			}[by], contents)
			return repository, contents.Index
		},
		Import: func(_ testing.TB, name, content string) string { return e.Import(name, fakeengine.Made(content)) },
		Create: func(_ testing.TB, image, mounted string) string {
			c := fakeengine.Container{From: image, State: "created"}
			if mounted != "" {
				c.Mounts = []string{mounted}
			}
			return e.AddContainer(c)
		},
		Restart: func(testing.TB) { e.Restart() },
	}
}
