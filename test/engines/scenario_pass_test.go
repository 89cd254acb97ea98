package engines

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"github.com/ebb-io/ebb/internal/engine"
	"github.com/ebb-io/ebb/internal/reason"
	"github.com/ebb-io/ebb/internal/testkit/engines"
)

// What comes in between while a pass is made.
func TestAPassMeetsOthersOnARealEngine(t *testing.T) {
	engines.Each(t, func(t *testing.T, e *engines.Engine) {
		t.Run("a slow pull", func(t *testing.T) { slowPull(t, e, newEbb(t, e)) })
		t.Run("containers that can not be listed", func(t *testing.T) { failingList(t, e, newEbb(t, e)) })
		t.Run("a container that can not be read", func(t *testing.T) { failingInspect(t, e, newEbb(t, e)) })
		t.Run("a tag that moves between plan and run", func(t *testing.T) { stalePlan(t, e, newEbb(t, e)) })
		t.Run("a plan that is carried out", func(t *testing.T) { storedPlan(t, e, newEbb(t, e)) })
		t.Run("an image that the engine refuses", func(t *testing.T) { refused(t, e, newEbb(t, e)) })
		t.Run("a tag that moves before its image's turn", func(t *testing.T) { movesBefore(t, e, newEbb(t, e)) })
		t.Run("a tag that moves at the very last moment", func(t *testing.T) { movesLast(t, e, newEbb(t, e)) })
		count(t, e).is(t, e)
	})
}

// slowPull runs while an image is pulled that shares a layer with what goes.
func slowPull(t *testing.T, e *engines.Engine, b ebb) {
	r := engines.NewRegistry(t)
	names := pullAll(t, e, r, "infra/slow:1.0.0", "infra/slow:1.1.0", "infra/slow:1.2.0")
	img := engines.Image(t, "base", "coming")
	layers, err := img.Layers()
	if err != nil {
		t.Fatal(err)
	}
	last, err := layers[1].Digest()
	if err != nil {
		t.Fatal(err)
	}
	coming := r.Push(t, "infra/coming:1.0.0", img)
	hold := r.Hold(t, last)
	pulled := make(chan error, 1)
	go func() { pulled <- e.TryPull(t.Context(), coming) }()
	<-hold.Reached
	args := []string{"run", "--yes", "--pin", names[2], "--min-age", "0s"}
	if e.Kind == engine.Containerd {
		b.do(t, busy, args...).untouched(t, e)
		whole(t, e, names...)
	} else { // nothing tells of such an engine's pulls, and an unforced removal does them no harm
		b.do(t, done, args...).deleted(t, e, names[0])
	}
	hold.Release()
	if err := <-pulled; err != nil {
		t.Fatalf("the pull broke: %v", err)
	}
	if e.Kind == engine.Containerd {
		b.do(t, done, args...).deleted(t, e, names[0])
	}
	whole(t, e, coming, names[1], names[2])
}

func failingList(t *testing.T, e *engines.Engine, b ebb) {
	failing(t, e, b, "list", regexp.MustCompile(`/containers/json$`))
}

func failingInspect(t *testing.T, e *engines.Engine, b ebb) {
	load(t, e, "example.org/broken:1")
	id := e.Create(t, "", "example.org/broken:1")
	failing(t, e, b, "inspect", regexp.MustCompile(`/containers/`+id+`/json$`))
	e.Remove(t, id)
}

// failing makes a pass over an engine that does not answer some calls.
func failing(t *testing.T, e *engines.Engine, b ebb, what string, call *regexp.Regexp) {
	t.Helper()
	repository := "example.org/" + what
	load(t, e, repository+":1.0.0", repository+":1.1.0", repository+":1.2.0")
	args := []string{"run", "--yes", "--pin", repository + ":1.2.0", "--min-age", "0s"}
	var failed, deletes atomic.Int32
	through := b
	through.host = "unix://" + e.Proxy(t, func(r *http.Request) bool {
		if r.Method == http.MethodDelete {
			deletes.Add(1)
		}
		fails := call.MatchString(r.URL.Path)
		if fails {
			failed.Add(1)
		}
		return fails
	})
	through.do(t, incomplete, args...).untouched(t, e)
	if failed.Load() == 0 || deletes.Load() > 0 {
		t.Errorf("%d calls failed, and %d deletions were asked for", failed.Load(), deletes.Load())
	}
	b.do(t, done, args...).deleted(t, e, repository+":1.0.0")
}

// plan writes a plan to a file as a shell does.
func (b ebb) plan(t *testing.T, args ...string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "plan.json")
	if err := os.WriteFile(file, b.check(t, args...).text, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func stalePlan(t *testing.T, e *engines.Engine, b ebb) {
	load(t, e, "example.org/stale:0.9.0", "example.org/stale:1.0.0", "example.org/stale:1.1.0", "example.org/stale:1.2.0")
	old := e.ID(t, "example.org/stale:1.0.0")
	file := b.plan(t, "--pin", "example.org/stale:1.2.0", "--min-age", "0s")
	e.Tag(t, "example.org/stale:1.1.0", "example.org/stale:1.0.0")
	b.do(t, stale, "run", "--yes", "--plan", file).untouched(t, e)
	if !e.Exists(t, old) {
		t.Error("the old image is gone")
	}
}

// storedPlan deletes what a plan names and not what has become garbage since.
func storedPlan(t *testing.T, e *engines.Engine, b ebb) {
	load(t, e, "example.org/stored:1.0.0", "example.org/stored:1.1.0", "example.org/stored:1.2.0")
	file := b.plan(t, "--pin", "example.org/stored:1.2.0", "--min-age", "0s")
	load(t, e, "example.org/stored:0.9.0")
	d := b.do(t, done, "run", "--yes", "--plan", file)
	d.deleted(t, e, "example.org/stored:1.0.0")
	whole(t, e, "example.org/stored:0.9.0", "example.org/stored:1.1.0", "example.org/stored:1.2.0")
}

// refused has a container made of an image at the last moment.
func refused(t *testing.T, e *engines.Engine, b ebb) {
	load(t, e, "example.org/no:0.9.0", "example.org/no:1.0.0", "example.org/no:1.1.0", "example.org/no:1.2.0")
	wanted := e.ID(t, "example.org/no:1.0.0")
	args := []string{"run", "--yes", "--pin", "example.org/no:1.2.0", "--min-age", "0s", "--unused-for", "0s"}
	var asked atomic.Int32
	made := make(chan string, 1)
	through := b
	through.host = "unix://" + e.Proxy(t, func(r *http.Request) bool {
		if r.Method != http.MethodDelete || !strings.Contains(r.URL.Path, wanted) {
			return false
		}
		if asked.Add(1) == 1 {
			made <- makeContainer(e, wanted)
		}
		return false
	})
	d := through.do(t, done, args...)
	id := <-made
	if len(d.Refused) != 1 || d.Refused[0].ID != wanted || !e.Exists(t, wanted) {
		t.Fatalf("refused %v", d.Refused)
	}
	e.Remove(t, id)
	d = through.do(t, done, args...)
	d.stays(t, wanted, reason.RefusedBefore)
	if asked.Load() != 1 {
		t.Errorf("the engine was asked %d times", asked.Load())
	}
	whole(t, e, "example.org/no:1.0.0")
}

// makeContainer is for calls outside of a test's own goroutine. It returns the
// ID, or what went wrong.
func makeContainer(e *engines.Engine, image string) string {
	made, err := e.Client.ContainerCreate(context.Background(), client.ContainerCreateOptions{
		Config: &container.Config{Image: image, Cmd: []string{"/sleep"}}, HostConfig: &container.HostConfig{NetworkMode: "none"},
	})
	if err != nil {
		return fmt.Sprint("no container: ", err)
	}
	return made.ID
}

// movesBefore moves a tag during a run: nothing more is done in its repository.
func movesBefore(t *testing.T, e *engines.Engine, b ebb) {
	load(t, e, "example.org/before:0.9.0", "example.org/before:1.0.0", "example.org/before:1.1.0", "example.org/before:1.2.0")
	old, other := e.ID(t, "example.org/before:1.0.0"), e.ID(t, "example.org/before:1.1.0")
	d := b.amid(t, deletion(1), func(*running) bool {
		e.Tag(t, other, "example.org/before:1.0.0")
		time.Sleep(time.Second / 5) // the event is on its way
		return false
	}, "run", "--yes", "--pin", "example.org/before:1.2.0", "--min-age", "0s").end(t, busy)
	want := d.before.without("example.org/before:0.9.0")
	want.Images[other] = append([]string{"example.org/before:1.0.0"}, want.Images[other]...)
	want.Images[old] = []string{}
	want.is(t, e)
}

// movesLast moves a tag between the last look at its image and its deletion,
// which is by ID: so the tag stays with the image that has it now.
func movesLast(t *testing.T, e *engines.Engine, b ebb) {
	load(t, e, "example.org/last:1.0.0", "example.org/last:1.1.0", "example.org/last:1.2.0")
	other := e.ID(t, "example.org/last:1.1.0")
	d := b.amid(t, deletion(1), func(*running) bool {
		e.Tag(t, other, "example.org/last:1.0.0")
		return false
	}, "run", "--yes", "--pin", "example.org/last:1.2.0", "--min-age", "0s").end(t, done)
	want := d.before.without("example.org/last:1.0.0")
	want.Images[other] = append([]string{"example.org/last:1.0.0"}, want.Images[other]...)
	want.is(t, e)
}
