package pins

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ebb-io/ebb/internal/engine"
	"github.com/ebb-io/ebb/internal/image"
	"github.com/ebb-io/ebb/internal/journal"
	"github.com/ebb-io/ebb/internal/pin"
)

func id(content string) image.Digest { return image.SHA256([]byte(content)) }

func held(t *testing.T, content string, names ...string) engine.Image {
	t.Helper()
	i := engine.Image{ID: id(content)}
	for _, written := range names {
		name, err := image.ParseName(written)
		if err != nil {
			t.Fatal(err)
		}
		if name.Digested {
			i.Digests = append(i.Digests, name)
		} else {
			i.Names = append(i.Names, name)
		}
	}
	return i
}

func TestRunningContainers(t *testing.T) {
	images := []engine.Image{
		held(t, "new", "traefik:v3.1", "traefik:latest"),
		held(t, "old", "traefik:v3.0"),
		held(t, "dangling"),
		held(t, "digest", "redis@"+someDigest),
		held(t, "nginx", "nginx:latest"),
		held(t, "both", "nginx:latest", "nginx:1.0"),
	}
	tests := []struct {
		from, content, state string
		want                 []string
		warning              string
		reason               string
	}{
		{"traefik:v3.1", "new", "running", []string{"traefik:v3.1"}, "", "its own name, and no other of the image"},
		{"traefik:v3.1", "new", "paused", []string{"traefik:v3.1"}, "", "paused runs on"},
		{"traefik:v3.1", "new", "restarting", []string{"traefik:v3.1"}, "", "so does one that restarts"},
		{"traefik:v3.1", "new", "exited", nil, "", "a leftover claims nothing; its image is in use all the same"},
		{"traefik:v3.1", "new", "created", nil, "", "nor does one that never ran"},
		{"nginx", "nginx", "running", []string{"nginx:latest"}, "", "the engine read latest"},
		{"nginx", "both", "running", []string{"nginx:latest"}, "", "and no other name of the image"},
		{"traefik", "old", "running", []string{"traefik:v3.0"}, "", "latest is another image now"},
		{"traefik:v3.1", "old", "running", []string{"traefik:v3.0"}, "", "the name moved on: what the image is called now"},
		{id("new").String(), "new", "running", []string{"traefik:v3.1", "traefik:latest"}, "", "an ID: all its names"},
		{id("new").Hex()[:12], "new", "running", []string{"traefik:v3.1", "traefik:latest"}, "", "a short ID is no repository"},
		{"redis@" + someDigest, "digest", "running", []string{"redis@" + someDigest}, "", "a digest"},
		{"redis:7@" + someDigest, "digest", "running", []string{"redis:7@" + someDigest}, "", "a digest with a tag"},
		{"redis@" + someDigest, "old", "running", []string{"traefik:v3.0"}, "", "a digest that the image is not known by"},
		{"nginx:1.0", "dangling", "running", nil, "has no name any more", "nothing to pin"},
		{"nginx:1.0", "absent", "running", nil, "is not listed", "nor here"},
	}
	for _, test := range tests {
		c := engine.Container{Name: "traefik-1", State: test.state, Image: id(test.content), From: test.from, Compose: engine.Compose{Project: "web"}}
		set := Running(&engine.Snapshot{Images: images, Containers: []engine.Container{c}}, &journal.Record{}, nil)
		want := slices.Sorted(slices.Values(test.want))
		if diff := cmp.Diff(want, names(set.Pins), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s of %s, %s: %s\n%s", test.from, test.content, test.state, test.reason, diff)
		}
		for _, p := range set.Pins {
			if p.From != "compose project web, container traefik-1" {
				t.Errorf("from %q", p.From)
			}
		}
		if got := len(set.Warnings) > 0; got != (test.warning != "") || got && !strings.Contains(string(set.Warnings[0]), test.warning) {
			t.Errorf("%s of %s: warnings %q, want %q", test.from, test.content, set.Warnings, test.warning)
		}
	}
}

// labelled is a stopped container of a project with a file.
func labelled(project string, files ...string) engine.Container {
	return engine.Container{Name: "c", State: "exited", From: "postgres:17", Image: id("pg"), Compose: engine.Compose{Project: project, Files: files}}
}

// stack is what is remembered of a project.
func stack(project string, images []string, files ...string) journal.Stack {
	return journal.Stack{Compose: engine.Compose{Project: project, Files: files}, Images: images}
}

func remember(stacks ...journal.Stack) *journal.Record {
	r := &journal.Record{Stacks: map[string]journal.Stack{}}
	for _, s := range stacks {
		r.Stacks[s.Key()] = s
	}
	return r
}

func TestRunningReadsLabelledFiles(t *testing.T) {
	dir := write(t, map[string]string{
		"a.yml":      "services: {web: {image: \"nginx:${V}\"}, db: {image: \"postgres:${PG}\"}, cache: {image: \"redis:${NONE}\"}, odd: {image: \"${ODD}:1\"}}",
		"b.yml":      "services: {web: {image: \"nginx:${V}-alpine\"}}",
		".env":       "V=1\n",
		"other.env":  "V=2\n",
		"broken.yml": "services: [",
	})
	file := func(name string) string { return filepath.Join(dir, name) }
	c := labelled("web", file("a.yml"), file("b.yml"))
	withEnv := labelled("web", file("b.yml"))
	withEnv.Compose.EnvFiles = []string{file("other.env")}
	withEnv.Compose.Dir = "/nowhere"
	set := Running(&engine.Snapshot{Containers: []engine.Container{c, withEnv, c, labelled("bad", file("broken.yml"))}}, &journal.Record{}, nil)
	if diff := cmp.Diff([]string{"passive nginx:1-alpine", "passive nginx:2-alpine", "skip docker.io/library/redis: variable NONE has no value"}, words(set)); diff != "" {
		t.Errorf("files are merged in order with their own variables; what is open and runs is answered by its container:\n%s", diff)
	}
	want := []pin.Stack{
		{Key: c.Compose.Key(), Images: []string{"${ODD}:1", "nginx:1-alpine", "postgres:${PG}", "redis:${NONE}"}},
		{Key: withEnv.Compose.Key(), Images: []string{"nginx:2-alpine"}},
	}
	if diff := cmp.Diff(want, set.Stacks); diff != "" {
		t.Error(diff)
	}
	if len(set.Warnings) != 2 || !strings.Contains(string(set.Warnings[0]), "${ODD}:1") || !strings.Contains(string(set.Warnings[1]), "broken.yml") {
		t.Errorf("warnings %q, want one for an unknown repository and one for what can not be read", set.Warnings)
	}
}

func TestRunningRemembers(t *testing.T) {
	dir := write(t, map[string]string{"down.yml": "services: {web: {image: \"nginx:2\"}}"})
	down := filepath.Join(dir, "down.yml")
	withVariables := filepath.Join(write(t, map[string]string{"c.yml": "services: {web: {image: \"web:${V}\"}}", "v/.env": "V=2", "e.env": "V=3"}), "c.yml")
	inDir, withEnv := stack("five", nil, withVariables), stack("six", []string{"web:1"}, withVariables)
	inDir.Dir = filepath.Join(filepath.Dir(withVariables), "v")
	withEnv.EnvFiles = []string{filepath.Join(filepath.Dir(withVariables), "e.env")}
	record := remember(
		stack("one", []string{"traefik:v3.0", "redis:${TAG}", "${X}:1"}, "/data/compose/1/docker-compose.yml"),
		stack("two", []string{"a:1"}, "relative.yml"),
		stack("other", []string{"c:1"}, "relative.yml"),
		stack("gone", []string{"b:1"}, "/gone.yml", "/more.yml"),
		stack("down", []string{"nginx:1"}, down),
		inDir, withEnv,
	)
	containers := []engine.Container{
		labelled("one", "/data/compose/1/docker-compose.yml"), labelled("two", "relative.yml"),
		labelled("three", "/x/3.yml"), labelled("four", "/x/4.yml"), labelled("five", "/x/5.yml"),
	}
	set := Running(&engine.Snapshot{Containers: containers}, record, nil)
	want := []string{
		"passive a:1", "passive b:1", "passive c:1", "passive nginx:1", "passive nginx:2", "passive traefik:v3.0",
		"passive web:1", "passive web:2", "passive web:3",
		"skip docker.io/library/redis: variable TAG has no value",
	}
	if diff := cmp.Diff(want, words(set)); diff != "" {
		t.Error(diff)
	}
	stacks := []pin.Stack{
		{Key: "down " + down, Images: []string{"nginx:1", "nginx:2"}},
		{Key: inDir.Key(), Images: []string{"web:2"}},
		{Key: withEnv.Key(), Images: []string{"web:1", "web:3"}},
	}
	if diff := cmp.Diff(stacks, set.Stacks); diff != "" {
		t.Errorf("what was read again keeps what it named before as well:\n%s", diff)
	}
	if len(set.Warnings) != 1 || !strings.Contains(string(set.Warnings[0]), "and 2 more") {
		t.Errorf("warnings %q, want one line for all", set.Warnings)
	}
}

// TestRunningIsDeterministic: the order of listings does not matter.
func TestRunningIsDeterministic(t *testing.T) {
	dir := write(t, map[string]string{"a.yml": "services: {a: {image: \"a:1\"}, b: {image: \"b:1\"}}", "b.yml": "services: {c: {image: \"c:1\"}}"})
	containers := []engine.Container{
		labelled("one", filepath.Join(dir, "a.yml")), labelled("two", filepath.Join(dir, "a.yml")), labelled("one", filepath.Join(dir, "b.yml")), labelled("x", "/none"),
	}
	record := remember(stack("p", []string{"p:1"}, "/p"), stack("q", []string{"q:1"}, "/q"))
	want := Running(&engine.Snapshot{Containers: containers}, record, nil)
	for range 10 {
		slices.Reverse(containers)
		containers = append(containers[1:], containers[0])
		got := Running(&engine.Snapshot{Containers: containers}, record, nil)
		if diff := cmp.Diff(want, got, cmpopts.EquateComparable(image.Name{})); diff != "" {
			t.Fatal(diff)
		}
	}
}

// TestRunningSurvivesHostileLabels: files that labels name are read with
// bounds, and never hold up a pass.
func TestRunningSurvivesHostileLabels(t *testing.T) {
	dir := write(t, map[string]string{
		"device.yml": "include: [/dev/zero]", "self.yml": "include: [self.yml]",
		"env.yml": "include: [{path: ok.yml, env_file: /dev/zero}]", "ok.yml": "services: {a: {image: \"a:1\"}}",
		"dir.yml/x": "",
	})
	t.Chdir(dir)
	var containers []engine.Container
	for _, file := range []string{
		"/dev/zero", "/dev/stdin", "../../etc/passwd", "ok.yml", "", "/", "/\x00", filepath.Join(dir, "device.yml"),
		filepath.Join(dir, "self.yml"), filepath.Join(dir, "env.yml"), filepath.Join(dir, "dir.yml"), "https://example.com/x.yml",
	} {
		containers = append(containers, labelled("p", file))
	}
	envFile := labelled("p", filepath.Join(dir, "ok.yml"))
	envFile.Compose.EnvFiles = []string{"/dev/zero"}
	set := Running(&engine.Snapshot{Containers: append(containers, envFile)}, &journal.Record{}, nil)
	if len(set.Pins) > 0 || len(set.Stacks) > 0 || len(set.Warnings) != 1 {
		t.Errorf("%v, %v, %q, want one warning", set.Pins, set.Stacks, set.Warnings)
	}
}

// TestAnotherProjectAnswersNothing: what a file leaves open only containers of
// its own project tell.
func TestAnotherProjectAnswersNothing(t *testing.T) {
	dir := write(t, map[string]string{"a.yml": `services: {db: {image: "postgres:${PG}"}}`, "b.yml": `services: {x: {image: "x:1"}}`})
	down := labelled("down", filepath.Join(dir, "a.yml"))
	down.From = "alpine:3.20"
	other := labelled("other", filepath.Join(dir, "b.yml"))
	record := remember(stack("other", []string{"x:0"}, filepath.Join(dir, "b.yml")))
	set := Running(&engine.Snapshot{Containers: []engine.Container{down, other}}, record, nil)
	want := []string{"passive x:1", "skip docker.io/library/postgres: variable PG has no value"}
	if diff := cmp.Diff(want, words(set)); diff != "" {
		t.Errorf("a file that is read counts, and not what it once said:\n%s", diff)
	}
}
