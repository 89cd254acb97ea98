package engines

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ebb-io/ebb/internal/reason"
	"github.com/ebb-io/ebb/internal/testkit/engines"
)

// What only the memory from pass to pass can know.
func TestWhatIsRememberedOnARealEngine(t *testing.T) {
	engines.Each(t, func(t *testing.T, e *engines.Engine) {
		t.Run("latest through three pulls", func(t *testing.T) { latest(t, e, newEbb(t, e)) })
		t.Run("pins by tag and digest", func(t *testing.T) { digestPins(t, e, newEbb(t, e)) })
		t.Run("a stack that went down a moment ago", func(t *testing.T) { composeDown(t, e, newEbb(t, e)) })
		t.Run("a stack that is down, and whose compose file is gone", func(t *testing.T) { stackDown(t, e, newEbb(t, e)) })
		t.Run("the last pin is far below", func(t *testing.T) { lastPin(t, e, newEbb(t, e)) })
		count(t, e).is(t, e)
	})
}

// latest moves a pin without a version: of the images that bore it the last
// one is one step back.
func latest(t *testing.T, e *engines.Engine, b ebb) {
	r := engines.NewRegistry(t)
	var ids []string
	pin := r.Address + "/infra/moving:latest"
	for _, content := range []string{"first", "second", "third"} {
		r.Push(t, "infra/moving:latest", engines.Image(t, "base", content))
		ids = append(ids, e.Pull(t, pin))
		b.run(t, "--pin", pin, "--max-deletes", "0")
	}
	other := newEbb(t, e) // it has seen none of it
	other.run(t, "--pin", pin, "--min-age", "0s", "--unused-for", "0s").deleted(t, e)

	d := b.run(t, "--pin", pin, "--min-age", "0s")
	d.deleted(t, e)
	d.stays(t, ids[0], reason.RecentlyUsed)
	d = b.run(t, "--pin", pin, "--min-age", "0s", "--unused-for", "0s")
	d.deleted(t, e, ids[0])
	d.stays(t, ids[1], reason.PreviousOfPin)
	if !e.Exists(t, ids[1]) {
		t.Error("one step back is gone")
	}
	whole(t, e, pin)
}

func digestPins(t *testing.T, e *engines.Engine, b ebb) {
	r := engines.NewRegistry(t)
	var ids, pins []string
	for _, tag := range []string{"1.0.0", "1.1.0", "1.2.0"} {
		img := engines.Image(t, "base", "pinned "+tag)
		hash, err := img.Digest()
		if err != nil {
			t.Fatal(err)
		}
		pins = append(pins, r.Push(t, "infra/digests:"+tag, img)+"@"+hash.String())
		ids = append(ids, e.Pull(t, pins[len(pins)-1]))
		b.run(t, "--pin", pins[len(pins)-1], "--max-deletes", "0")
	}
	d := b.run(t, "--pin", pins[2], "--min-age", "0s", "--unused-for", "0s")
	if goes := d.of(t, ids[0]); goes.Decision != "Delete" || d.Deleted.Images != 1 || e.Exists(t, ids[0]) {
		t.Errorf("the oldest: %+v, %d deleted; it is there: %v", goes, d.Deleted.Images, e.Exists(t, ids[0]))
	}
	d.stays(t, ids[1], reason.PreviousOfPin)
	d.stays(t, ids[2], reason.Pinned)
	for _, id := range ids[1:] {
		if !e.Exists(t, id) {
			t.Errorf("%s is gone", id)
		}
	}
}

// composeDown removes the only containers just before a pass, which the engine
// tells: what they used stays for a while, as somebody may bring them up again.
func composeDown(t *testing.T, e *engines.Engine, b ebb) {
	load(t, e, "example.org/down:0.9.0", "example.org/down:1.1.0", "example.org/down:1.2.0")
	e.ImportSleeper(t, "example.org/down:1.0.0", "down")
	e.Run(t, "down", "example.org/down:1.0.0")
	e.Run(t, "other", "example.org/down:1.0.0")
	pins := []string{"--pin", "example.org/down:1.2.0", "--min-age", "0s"}
	b.check(t, pins...).stays(t, "example.org/down:1.0.0", reason.InUse)
	e.Remove(t, "down")
	e.Remove(t, "other")

	before := time.Now()
	d := b.run(t, pins...)
	d.deleted(t, e, "example.org/down:0.9.0")
	d.stays(t, "example.org/down:1.0.0", reason.RecentlyUsed)
	if until := d.of(t, "example.org/down:1.0.0").Until; until == nil || until.Before(before.Add(6*24*time.Hour)) {
		t.Errorf("it stays until %v", until)
	}
	b.run(t, append(pins, "--unused-for", "0s")...).deleted(t, e, "example.org/down:1.0.0")
}

// stackDown takes a stack down, whose compose file then is only remembered: what
// it named stays, however long it is down, with one step back.
func stackDown(t *testing.T, e *engines.Engine, b ebb) {
	load(t, e, "example.org/stack:0.8.0", "example.org/stack:0.9.0", "example.org/stack:1.0.0", "example.org/stack:1.1.0", "example.org/stack:1.2.0")
	e.ImportSleeper(t, "example.org/stack:1.3.0", "stack")
	file := filepath.Join(t.TempDir(), "compose.yaml")
	if err := os.WriteFile(file, []byte("services: {app: {image: 'example.org/stack:1.0.0'}}"), 0o600); err != nil {
		t.Fatal(err)
	}
	e.CreateLabelled(t, "stack-app-1", "example.org/stack:1.0.0", map[string]string{
		"com.docker.compose.project": "stack", "com.docker.compose.service": "app",
		"com.docker.compose.project.config_files": file, "com.docker.compose.project.working_dir": filepath.Dir(file),
	})
	e.Run(t, "elsewhere", "example.org/stack:1.3.0")
	args := []string{"--pin-running", "--min-age", "0s", "--unused-for", "0s"}
	b.check(t, args...).stays(t, "example.org/stack:1.0.0", reason.InUse)
	e.Remove(t, "stack-app-1")
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}

	newEbb(t, e).check(t, args...).deletes(t, // it has never seen the stack
		"example.org/stack:0.8.0", "example.org/stack:0.9.0", "example.org/stack:1.0.0", "example.org/stack:1.1.0")
	d := b.run(t, args...)
	d.deleted(t, e, "example.org/stack:0.8.0")
	d.stays(t, "example.org/stack:0.9.0", reason.PreviousOfPin)
	d.stays(t, "example.org/stack:1.0.0", reason.Pinned)
	e.Remove(t, "elsewhere")
}

// lastPin leaps over versions that never ran here: the step back is to the one
// that did.
func lastPin(t *testing.T, e *engines.Engine, b ebb) {
	load(t, e, "example.org/leap:1.0.0", "example.org/leap:1.1.0")
	b.run(t, "--pin", "example.org/leap:1.1.0", "--max-deletes", "0")
	load(t, e, "example.org/leap:1.2.0", "example.org/leap:1.3.0", "example.org/leap:1.4.0")
	d := b.run(t, "--pin", "example.org/leap:1.4.0", "--min-age", "0s", "--unused-for", "0s")
	d.deleted(t, e, "example.org/leap:1.0.0")
	for _, name := range []string{"example.org/leap:1.1.0", "example.org/leap:1.2.0", "example.org/leap:1.3.0"} {
		d.stays(t, name, reason.PreviousOfPin)
	}
}
