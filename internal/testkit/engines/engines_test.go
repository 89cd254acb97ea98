package engines_test

import (
	"testing"
	"time"

	"github.com/ebb-io/ebb/internal/testkit/engines"
)

func TestAnEngineStartsKeepsItsImagesAndEnds(t *testing.T) {
	began := time.Now()
	engines.Each(t, func(t *testing.T, e *engines.Engine) {
		t.Logf("started after %s", time.Since(began))
		id := e.Import(t, "example.org/a:1", "one")
		if other := e.Import(t, "example.org/a:2", "two"); other == id {
			t.Errorf("both images have ID %s", id)
		}
		began = time.Now()
		e.Restart(t)
		t.Logf("restarted after %s", time.Since(began))
		if got := e.ID(t, "example.org/a:1"); got != id {
			t.Errorf("after a restart it is %s, want %s", got, id)
		}
		began = time.Now()
	})
}
