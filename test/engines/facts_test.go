package engines

import (
	"strings"
	"testing"

	"github.com/ebb-io/ebb/internal/testkit/engines"
	"github.com/ebb-io/ebb/internal/testkit/enginetest"
)

func TestRealEnginesDoWhatEbbReliesOn(t *testing.T) {
	engines.Each(t, func(t *testing.T, e *engines.Engine) { enginetest.Facts(t, subject(t, e)) })
	t.Run("today's graphdriver", func(t *testing.T) { enginetest.Facts(t, subject(t, engines.StartNewGraph(t))) })
}

func subject(t *testing.T, e *engines.Engine) enginetest.Subject {
	t.Helper()
	r := engines.NewRegistry(t)
	return enginetest.Subject{
		Kind:   e.Kind,
		Client: e.Client,
		Pull: func(t testing.TB, as, content string, by enginetest.Way) (string, string) {
			return pull(t, e, r, as, content, by)
		},
		Import: e.Import,
		Create: func(t testing.TB, image, mounted string) string {
			if mounted != "" {
				return e.CreateMounting(t, "", image, mounted)
			}
			return e.Create(t, "", image)
		},
		Restart:    e.Restart,
		Containerd: e.Containerd,
	}
}

func pull(t testing.TB, e *engines.Engine, r *engines.Registry, as, content string, by enginetest.Way) (repository, digest string) {
	t.Helper()
	img := engines.Image(t, content)
	hash, err := img.Digest()
	if err != nil {
		t.Fatal(err)
	}
	ref := r.Push(t, as, img)
	repository = ref[:strings.LastIndex(ref, ":")]
	switch by {
	case enginetest.ByDigest:
		ref = repository + "@" + hash.String()
	case enginetest.ByTagAndDigest:
		ref += "@" + hash.String()
	case enginetest.ByTag:
	}
	e.Pull(t, ref)
	return repository, hash.String()
}
