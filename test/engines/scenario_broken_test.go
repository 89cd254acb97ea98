package engines

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/moby/moby/client"

	"github.com/ebb-io/ebb/internal/testkit/engines"
)

// What ends in the middle, Ebb itself or the engine: nothing goes that the plan
// does not name, and the next run does the rest.
func TestARunThatIsCutOffOnARealEngine(t *testing.T) {
	engines.Each(t, func(t *testing.T, e *engines.Engine) {
		t.Run("killed between two images", func(t *testing.T) { killedBetween(t, e, newEbb(t, e)) })
		t.Run("killed between two names of one", func(t *testing.T) { killedAmid(t, e, newEbb(t, e)) })
		t.Run("killed before it writes a deletion down", func(t *testing.T) { killedUnwritten(t, e, newEbb(t, e)) })
		t.Run("the engine restarts during the look", func(t *testing.T) { restartedLooking(t, e, newEbb(t, e)) })
		t.Run("the engine restarts between two images", func(t *testing.T) { restartedBetween(t, e, newEbb(t, e)) })
		t.Run("the engine dies during a deletion", func(t *testing.T) { diesDeleting(t, e, newEbb(t, e)) })
		count(t, e).is(t, e)
	})
}

// cut is a repository of which three images go, the middle one with two names.
type cut struct {
	first, third string
	middle       [2]string
	args         []string
}

func loadCut(t *testing.T, e *engines.Engine, repository string) cut {
	t.Helper()
	c := cut{
		first: repository + ":0.9.0", middle: [2]string{repository + ":1.0.0", repository + ":1.0.1"}, third: repository + ":1.1.0",
		args: []string{"run", "--yes", "--pin", repository + ":1.4.0", "--min-age", "0s"},
	}
	load(t, e, c.first, c.middle[0], c.third, repository+":1.3.0", repository+":1.4.0")
	e.Tag(t, c.middle[0], c.middle[1])
	return c
}

// finish makes the next run, of which the rest goes, and one more.
func (c cut) finish(t *testing.T, b ebb, before census) {
	t.Helper()
	b.do(t, done, c.args...)
	before.without(c.first, c.middle[0], c.third).is(t, b.engine)
	b.do(t, done, c.args...).deleted(t, b.engine)
}

// told wants the history to have these names.
func told(t *testing.T, b ebb, names ...string) {
	t.Helper()
	history := string(b.do(t, done, "history").text)
	for _, name := range names {
		if !strings.Contains(history, name) {
			t.Errorf("the history does not tell of %s: %s", name, history)
		}
	}
}

// kill is SIGKILL, by which the program can do nothing more.
func kill(r *running) bool {
	_ = r.cmd.Process.Kill() // it lives, as it waits for an answer
	_ = r.cmd.Wait()         // it was killed
	return true
}

func killedBetween(t *testing.T, e *engines.Engine, b ebb) {
	c := loadCut(t, e, "example.org/between")
	middle := e.ID(t, c.middle[0])
	var deleted atomic.Bool
	r := b.amid(t, func(r *http.Request) bool {
		if r.Method == http.MethodDelete {
			deleted.Store(true)
		}
		return deleted.Load() && r.Method == http.MethodGet && strings.Contains(r.URL.Path, middle)
	}, kill, c.args...)
	r.before.without(c.first).is(t, e)
	c.finish(t, b, r.before)
	told(t, b, c.first, c.middle[0], c.middle[1], c.third)
}

func killedAmid(t *testing.T, e *engines.Engine, b ebb) {
	c := loadCut(t, e, "example.org/amid")
	r := b.amid(t, deletion(3), kill, c.args...) // of the first, of a name of the middle one, and now of it by its ID
	left := 0
	for _, name := range c.middle {
		if e.Exists(t, name) {
			left++
		}
	}
	if left != 1 || e.Exists(t, c.first) || !e.Exists(t, c.third) {
		t.Fatalf("%d names are left of two: %v", left, e.Names(t))
	}
	c.finish(t, b, r.before)
	told(t, b, c.first, c.third)
}

// killedUnwritten has the deletion done and kills the run before its answer: the
// history can not know of it.
func killedUnwritten(t *testing.T, e *engines.Engine, b ebb) {
	c := loadCut(t, e, "example.org/unwritten")
	r := b.amid(t, deletion(1), func(r *running) bool {
		if _, err := e.Client.ImageRemove(t.Context(), c.first, client.ImageRemoveOptions{}); err != nil {
			t.Fatal(err)
		}
		return kill(r)
	}, c.args...)
	r.before.without(c.first).is(t, e)
	c.finish(t, b, r.before)
	told(t, b, c.middle[0], c.third)
}

func restartedLooking(t *testing.T, e *engines.Engine, b ebb) {
	c := loadCut(t, e, "example.org/looking")
	d := b.amid(t, func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/containers/json") }, func(*running) bool {
		e.Restart(t)
		return false
	}, c.args...).end(t, incomplete)
	d.untouched(t, e)
	c.finish(t, b, d.before)
}

// restartedBetween restarts the engine when the first deletion comes: that one is
// done, and none after it, as the events since then are not all known.
func restartedBetween(t *testing.T, e *engines.Engine, b ebb) {
	c := loadCut(t, e, "example.org/restarted")
	d := b.amid(t, deletion(1), func(*running) bool {
		e.Restart(t)
		return false
	}, c.args...).end(t, incomplete)
	d.before.without(c.first).is(t, e)
	c.finish(t, b, d.before)
}

// diesDeleting kills the engine at a deletion, which so has no answer.
func diesDeleting(t *testing.T, e *engines.Engine, b ebb) {
	c := loadCut(t, e, "example.org/dies")
	r := b.amid(t, deletion(1), func(*running) bool {
		e.Kill()
		return false
	}, c.args...)
	d := r.end(t, incomplete)
	e.Restart(t)
	d.untouched(t, e)
	c.finish(t, b, d.before)
}
