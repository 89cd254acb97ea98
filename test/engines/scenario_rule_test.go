package engines

import (
	"context"
	"strings"
	"testing"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/mount"
	"github.com/moby/moby/client"

	"github.com/ebb-io/ebb/internal/engine"
	"github.com/ebb-io/ebb/internal/reason"
	"github.com/ebb-io/ebb/internal/testkit/engines"
)

// The rule, case by case, each in a repository of its own on one engine.
func TestTheRuleOnARealEngine(t *testing.T) {
	cases := []struct {
		name string
		test func(*testing.T, *engines.Engine, ebb)
	}{
		{"a pin that was rolled back", rolledBack},
		{"two pins in one repository", twoPins},
		{"a name in another repository", otherRepository},
		{"one tag and one digest", tagAndDigest},
		{"two old tags in one repository", twoTags},
		{"a stopped and a created container", containersAtRest},
		{"an image mount", imageMount},
		{"a tag that moved under an image mount", movedUnderMount},
		{"a tag that moved under a container", movedUnderContainer},
		{"a pin that is not present", pinMissing},
		{"another stack's digest", anothersDigest},
		{"containers made from short IDs", shortIDs},
		{"a repository that is called as an ID begins", calledAsID},
		{"a Swarm service", swarmService},
	}
	engines.Each(t, func(t *testing.T, e *engines.Engine) {
		for _, c := range cases {
			t.Run(c.name, func(t *testing.T) { c.test(t, e, newEbb(t, e)) })
		}
		count(t, e).is(t, e)
	})
}

func rolledBack(t *testing.T, e *engines.Engine, b ebb) {
	load(t, e, "example.org/back:1.0.0", "example.org/back:1.1.0", "example.org/back:1.2.0", "example.org/back:2.0.0")
	d := b.run(t, "--pin", "example.org/back:1.2.0", "--min-age", "0s")
	d.deleted(t, e, "example.org/back:1.0.0")
	d.stays(t, "example.org/back:2.0.0", reason.NewerThanPin)
	d.stays(t, "example.org/back:1.1.0", reason.PreviousOfPin)
	whole(t, e, "example.org/back:1.1.0", "example.org/back:1.2.0", "example.org/back:2.0.0")
}

func twoPins(t *testing.T, e *engines.Engine, b ebb) {
	load(t, e, "example.org/two:v2.9.0", "example.org/two:v2.10.0", "example.org/two:v2.11.0",
		"example.org/two:v3.0.0", "example.org/two:v3.1.0")
	d := b.run(t, "--pin", "example.org/two:v3.1.0", "--pin", "example.org/two:v2.11.0", "--min-age", "0s")
	d.deleted(t, e, "example.org/two:v2.9.0")
	d.stays(t, "example.org/two:v2.11.0", reason.Pinned)
	whole(t, e, "example.org/two:v2.10.0", "example.org/two:v2.11.0", "example.org/two:v3.0.0", "example.org/two:v3.1.0")
}

func otherRepository(t *testing.T, e *engines.Engine, b ebb) {
	load(t, e, "example.org/shared:1.0.0", "example.org/shared:1.1.0", "example.org/shared:1.2.0")
	e.Tag(t, "example.org/shared:1.0.0", "example.org/mine:base")
	d := b.run(t, "--pin", "example.org/shared:1.2.0", "--min-age", "0s")
	d.deleted(t, e)
	d.stays(t, "example.org/mine:base", reason.OtherRepository)
	whole(t, e, "example.org/shared:1.0.0", "example.org/mine:base")
}

func tagAndDigest(t *testing.T, e *engines.Engine, b ebb) {
	r := engines.NewRegistry(t)
	names := pullAll(t, e, r, "infra/pulled:1.0.0", "infra/pulled:1.1.0", "infra/pulled:1.2.0")
	id := e.ID(t, names[0])
	d := b.run(t, "--pin", names[2], "--min-age", "0s")
	d.deleted(t, e, names[0])
	if e.Exists(t, id) {
		t.Error("the image is there without its tag")
	}
	whole(t, e, names[1], names[2])
}

// pullAll pulls images from a registry, each with content of its own.
func pullAll(t *testing.T, e *engines.Engine, r *engines.Registry, as ...string) []string {
	t.Helper()
	var names []string
	for _, one := range as {
		names = append(names, r.Push(t, one, engines.Image(t, "base", one)))
		e.Pull(t, names[len(names)-1])
	}
	return names
}

func twoTags(t *testing.T, e *engines.Engine, b ebb) {
	load(t, e, "example.org/tags:1.0.0", "example.org/tags:1.2.0", "example.org/tags:1.3.0")
	e.Tag(t, "example.org/tags:1.0.0", "example.org/tags:1.1.0")
	id := e.ID(t, "example.org/tags:1.0.0")
	d := b.run(t, "--pin", "example.org/tags:1.3.0", "--min-age", "0s")
	d.deleted(t, e, "example.org/tags:1.0.0", "example.org/tags:1.1.0")
	if d.Deleted.Images != 1 || d.Deleted.Names != 2 || e.Exists(t, id) {
		t.Errorf("deleted %+v; the image is there: %v", d.Deleted, e.Exists(t, id))
	}
}

func containersAtRest(t *testing.T, e *engines.Engine, b ebb) {
	load(t, e, "example.org/rest:0.9.0", "example.org/rest:1.1.0", "example.org/rest:1.2.0", "example.org/rest:1.3.0")
	e.ImportSleeper(t, "example.org/rest:1.0.0", "stopped")
	e.Stop(t, e.Run(t, "stopped", "example.org/rest:1.0.0"))
	e.Create(t, "created", "example.org/rest:1.1.0")
	d := b.run(t, "--pin", "example.org/rest:1.3.0", "--min-age", "0s")
	d.deleted(t, e, "example.org/rest:0.9.0")
	d.stays(t, "example.org/rest:1.0.0", reason.InUse)
	d.stays(t, "example.org/rest:1.1.0", reason.InUse)
	e.Start(t, "stopped")
	e.Remove(t, "stopped")
	e.Remove(t, "created")
}

func imageMount(t *testing.T, e *engines.Engine, b ebb) {
	load(t, e, "example.org/mount:0.9.0", "example.org/mount:1.0.0", "example.org/mount:1.1.0", "example.org/mount:1.2.0")
	mounting(t, e, "example.org/mount:1.0.0")
	d := b.run(t, "--pin", "example.org/mount:1.2.0", "--min-age", "0s")
	d.deleted(t, e, "example.org/mount:0.9.0")
	d.stays(t, "example.org/mount:1.0.0", reason.InUse)
	whole(t, e, "example.org/mount:1.0.0")
}

// mounting makes a container that mounts an image, until the test ends. An
// engine that can not must say so.
func mounting(t *testing.T, e *engines.Engine, mounted string) {
	t.Helper()
	e.Import(t, "example.org/mounting:1", "mounting")
	if e.Kind == engine.Containerd {
		id := e.CreateMounting(t, "", "example.org/mounting:1", mounted)
		t.Cleanup(func() { remove(t, e, id) })
		return
	}
	_, err := e.Client.ContainerCreate(t.Context(), client.ContainerCreateOptions{
		Config:     &container.Config{Image: "example.org/mounting:1", Cmd: []string{"/sleep"}},
		HostConfig: &container.HostConfig{Mounts: []mount.Mount{{Type: mount.TypeImage, Source: mounted, Target: "/mounted"}}},
	})
	if err == nil || !strings.Contains(err.Error(), "mount type unknown") {
		t.Fatalf("this engine mounts images after all: %v", err)
	}
	t.Skip("engines mount images since API 1.48, and this one refuses to")
}

// remove removes a container when the test's own context has ended.
func remove(t *testing.T, e *engines.Engine, id string) {
	t.Helper()
	if _, err := e.Client.ContainerRemove(context.Background(), id, client.ContainerRemoveOptions{Force: true}); err != nil {
		t.Error(err)
	}
}

// movedUnderMount: an engine shows a mount by its name alone, which is another
// image now, and would delete what is mounted.
func movedUnderMount(t *testing.T, e *engines.Engine, b ebb) {
	load(t, e, "example.org/under:0.9.0", "example.org/under:1.0.0", "example.org/under:1.1.0", "example.org/under:1.2.0")
	old := e.ID(t, "example.org/under:1.0.0")
	mounting(t, e, "example.org/under:1.0.0")
	args := []string{"--pin", "example.org/under:1.2.0", "--min-age", "0s", "--unused-for", "0s"}
	b.check(t, args...)
	e.Load(t, engines.Image(t, "base", "under anew"), "example.org/under:1.0.0")
	bearer := e.ID(t, "example.org/under:1.0.0")
	if bearer == old {
		t.Fatal("the name has not moved")
	}
	d := b.run(t, args...)
	d.deleted(t, e, "example.org/under:0.9.0")
	d.stays(t, old, reason.InUse)
	d.stays(t, bearer, reason.InUse)
}

func movedUnderContainer(t *testing.T, e *engines.Engine, b ebb) {
	load(t, e, "example.org/moved:0.9.0", "example.org/moved:1.0.0", "example.org/moved:1.1.0", "example.org/moved:1.2.0")
	old := e.ID(t, "example.org/moved:1.0.0")
	e.Create(t, "from-old", "example.org/moved:1.0.0")
	e.Load(t, engines.Image(t, "base", "moved anew"), "example.org/moved:1.0.0")
	bearer := e.ID(t, "example.org/moved:1.0.0")
	if bearer == old {
		t.Fatal("the name has not moved")
	}
	d := b.run(t, "--pin", "example.org/moved:1.2.0", "--min-age", "0s")
	d.deleted(t, e, "example.org/moved:0.9.0")
	d.stays(t, old, reason.InUse)
	d.stays(t, bearer, reason.InUse)
	if !e.Exists(t, old) {
		t.Error("the container's image is gone")
	}
	whole(t, e, "example.org/moved:1.0.0")
	e.Remove(t, "from-old")
}

func pinMissing(t *testing.T, e *engines.Engine, b ebb) {
	load(t, e, "example.org/absent:1.0.0", "example.org/absent:1.1.0", "example.org/absent:1.2.0",
		"example.org/beside:1.0.0", "example.org/beside:1.1.0", "example.org/beside:1.2.0")
	d := b.run(t, "--pin", "example.org/absent:1.3.0", "--pin", "example.org/beside:1.2.0", "--min-age", "0s")
	d.deleted(t, e, "example.org/beside:1.0.0")
	d.stays(t, "example.org/absent:1.0.0", reason.PinMissing)
	for _, r := range d.Repositories {
		if skipped := r.Skipped != nil; skipped != (r.Repository == "example.org/absent") {
			t.Errorf("%s is skipped: %v", r.Repository, skipped)
		}
	}
}

func anothersDigest(t *testing.T, e *engines.Engine, b ebb) {
	r := engines.NewRegistry(t)
	img := engines.Image(t, "base", "another stack's")
	hash, err := img.Digest()
	if err != nil {
		t.Fatal(err)
	}
	r.Push(t, "infra/stack:1.0.0", img)
	pinned := r.Address + "/infra/stack@" + hash.String()
	id := e.Pull(t, pinned)
	names := pullAll(t, e, r, "infra/stack:1.1.0", "infra/stack:1.2.0", "infra/stack:1.3.0")
	d := b.run(t, "--pin", names[2], "--min-age", "0s", "--unused-for", "0s")
	d.deleted(t, e, names[0])
	d.stays(t, id, reason.DigestOnly)
	whole(t, e, pinned)
}

// short is how docker ps and people write an ID.
func short(id string) string { return strings.TrimPrefix(id, "sha256:")[:12] }

// shortIDs has one container of an image with a name and one of an image that
// lost it: both are needed, and nothing but their IDs says so.
func shortIDs(t *testing.T, e *engines.Engine, b ebb) {
	r := engines.NewRegistry(t)
	names := pullAll(t, e, r, "infra/short:1.0.0", "infra/short:1.1.0", "infra/short:1.2.0", "infra/short:1.3.0")
	named, nameless := e.ID(t, names[0]), e.ID(t, names[1])
	b.check(t, "--pin", names[3])
	e.Create(t, "beside", names[3]) // an engine that has no container any more is not believed
	e.Create(t, "named", short(named))
	e.Create(t, "nameless", short(nameless))
	r.Push(t, "infra/short:1.1.0", engines.Image(t, "base", "short anew"))
	if e.Pull(t, names[1]) == nameless {
		t.Fatal("the name has not moved")
	}
	args := []string{"--pin", names[3], "--min-age", "0s", "--unused-for", "0s"}
	d := b.run(t, args...)
	d.deleted(t, e, names[1])
	d.stays(t, named, reason.InUse)
	d.stays(t, nameless, reason.InUse)
	e.Remove(t, "named")
	e.Remove(t, "nameless")
	b.run(t, args...).deleted(t, e, names[0], nameless)
	e.Remove(t, "beside")
}

// calledAsID: an engine takes a short ID for this name, so only a full ID means
// the image.
func calledAsID(t *testing.T, e *engines.Engine, b ebb) {
	load(t, e, "example.org/called:1.0.0", "example.org/called:1.1.0", "example.org/called:1.2.0", "example.org/other:1")
	called := short(e.ID(t, "example.org/called:1.0.0"))
	e.Tag(t, "example.org/other:1", called+":latest")
	b.run(t, "--pin", "example.org/called:1.2.0", "--min-age", "0s").deleted(t, e, "example.org/called:1.0.0")
	whole(t, e, called+":latest")
}

// swarmService was updated once and has no task: what it ran before is what it
// is rolled back to.
func swarmService(t *testing.T, e *engines.Engine, b ebb) {
	load(t, e, "example.org/swarm:0.9.0", "example.org/swarm:1.0.0", "example.org/swarm:1.1.0", "example.org/swarm:1.2.0",
		"example.org/swarm:1.3.0", "example.org/swarm:1.4.0")
	e.Swarm(t)
	id := e.Serve(t, "", "example.org/swarm:1.0.0")
	e.Serve(t, id, "example.org/swarm:1.1.0")
	args := []string{"--pin", "example.org/swarm:1.4.0", "--min-age", "0s", "--unused-for", "0s"}
	d := b.run(t, args...)
	d.deleted(t, e, "example.org/swarm:0.9.0", "example.org/swarm:1.2.0")
	d.stays(t, "example.org/swarm:1.0.0", reason.InUse)
	d.stays(t, "example.org/swarm:1.1.0", reason.InUse)
	if _, err := e.Client.ServiceRemove(t.Context(), id, client.ServiceRemoveOptions{}); err != nil {
		t.Fatal(err)
	}
	b.run(t, args...).deleted(t, e, "example.org/swarm:1.0.0", "example.org/swarm:1.1.0")
}
