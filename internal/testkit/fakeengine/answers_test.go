package fakeengine_test

import (
	"context"
	"encoding/json"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/client"
	"pgregory.net/rapid"

	"github.com/ebb-io/ebb/internal/engine"
	"github.com/ebb-io/ebb/internal/testkit/fakeengine"
)

// raw is the JSON of a GET, as it is on the wire.
func raw(t *testing.T, e *fakeengine.Engine, path string, into any) {
	t.Helper()
	resp, err := overSocket(strings.TrimPrefix(e.Host(), "unix://"), false).Get("http://engine" + path)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

func overSocket(path string, h2 bool) *http.Client {
	p := new(http.Protocols)
	p.SetHTTP1(!h2)
	p.SetUnencryptedHTTP2(h2)
	return &http.Client{Transport: &http.Transport{
		Protocols: p, DisableKeepAlives: !h2,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", path)
		},
	}}
}

type object = map[string]any

func TestFormsByVersion(t *testing.T) {
	tests := []struct {
		reason string
		store  engine.StoreKind
		path   string
		check  func(object) any
		want   any
	}{
		{"below 1.43 no name is written out", engine.GraphDriver, "/v1.42/images/json", field("RepoTags"), []any{"<none>:<none>"}},
		{"from 1.43 it is an empty list", engine.GraphDriver, "/v1.43/images/json", field("RepoTags"), []any{}},
		{"nothing says what is shared unless it is asked for", engine.GraphDriver, "/v1.42/images/json", field("SharedSize"), -1.0},
		{"nor below 1.42", engine.GraphDriver, "/v1.41/images/json?shared-size=1", field("SharedSize"), -1.0},
		{"from 1.42 it is told", engine.GraphDriver, "/v1.42/images/json?shared-size=1", field("SharedSize"), 0.0},
		{"below 1.51 nothing counts containers", engine.Containerd, "/v1.50/images/json", field("Containers"), -1.0},
		{"from 1.51 the containers are counted", engine.Containerd, "/v1.51/images/json", field("Containers"), 0.0},
		{"below 1.48 there is no descriptor", engine.Containerd, "/v1.47/images/json", has("Descriptor"), false},
		{"from 1.48 there is", engine.Containerd, "/v1.48/images/json", has("Descriptor"), true},
		{"a graph driver has none", engine.GraphDriver, "/v1.48/images/json", has("Descriptor"), false},
	}
	for _, test := range tests {
		t.Run(test.reason, func(t *testing.T) {
			e := fakeengine.Start(t, fakeengine.Options{Store: test.store})
			e.Import("", fakeengine.Made("nameless"))
			var list []object
			raw(t, e, test.path, &list)
			equal(t, test.path, test.check(list[0]), test.want)
		})
	}
}

func field(name string) func(object) any { return func(o object) any { return o[name] } }

func has(name string) func(object) any {
	return func(o object) any { _, ok := o[name]; return ok }
}

func TestDiskUsage(t *testing.T) {
	e := fakeengine.Start(t, fakeengine.Options{})
	a, b := fakeengine.Made("a"), fakeengine.Made("b")
	e.Pull("x:1", a)
	e.Pull("x:2", b)
	total := a.Layers[0].Size + a.Layers[1].Size + b.Layers[1].Size
	for _, v := range []string{"1.41", "1.51", "1.52", "1.56"} {
		c, err := client.New(client.WithHost(e.Host()), client.WithAPIVersion(v))
		if err != nil {
			t.Fatal(err)
		}
		du, err := c.DiskUsage(context.Background(), client.DiskUsageOptions{Images: true, Verbose: true})
		if err != nil {
			t.Fatal(err)
		}
		equal(t, v+": each layer is counted once", du.Images.TotalSize, total)
		equal(t, v+": what is shared", du.Images.Items[0].SharedSize, a.Layers[0].Size)
	}
	var legacy, today object
	raw(t, e, "/v1.51/system/df", &legacy)
	raw(t, e, "/v1.53/system/df", &today)
	equal(t, "the old form", []any{has("LayersSize")(legacy), has("ImageUsage")(legacy)}, []any{true, false})
	equal(t, "today's form", []any{has("LayersSize")(today), has("ImageUsage")(today)}, []any{false, true})
}

func TestVersions(t *testing.T) {
	old := fakeengine.Start(t, fakeengine.Options{API: "1.39", MinAPI: "1.12"})
	late := fakeengine.Start(t, fakeengine.Options{API: "1.99", MinAPI: "1.90"})
	for what, e := range map[string]*fakeengine.Engine{"below what the client speaks": old, "above it": late} {
		if _, err := dial(t, e).Info(context.Background(), client.InfoOptions{}); err == nil {
			t.Errorf("an engine %s answered", what)
		}
	}
	e := fakeengine.Start(t, fakeengine.Options{API: "1.41", MinAPI: "1.12"})
	c := dial(t, e)
	if _, err := c.Info(context.Background(), client.InfoOptions{}); err != nil {
		t.Fatal(err)
	}
	equal(t, "negotiated", c.ClientVersion(), "1.41")
}

func TestServices(t *testing.T) {
	e := fakeengine.Start(t, fakeengine.Options{Manager: true})
	e.AddService(fakeengine.Service{Name: "web", Image: "x:2", Previous: "x:1"})
	got, err := dial(t, e).ServiceList(context.Background(), client.ServiceListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s := got.Items[0]
	equal(t, "images", []string{s.Spec.TaskTemplate.ContainerSpec.Image, s.PreviousSpec.TaskTemplate.ContainerSpec.Image}, []string{"x:2", "x:1"})
	worker := fakeengine.Start(t, fakeengine.Options{})
	if _, err := dial(t, worker).ServiceList(context.Background(), client.ServiceListOptions{}); !errdefs.IsUnavailable(err) {
		t.Errorf("a node that is no manager: %v", err)
	}
}

func TestChildrenKeepTheirParent(t *testing.T) {
	onBoth(t, func(t *testing.T, e *fakeengine.Engine, c *client.Client) {
		parent := e.Import("x:1", fakeengine.Made("parent"))
		child := fakeengine.Made("child")
		child.Parent = parent
		e.Import("x:2", child)
		equal(t, "by name", rmi(c, "x:1"), nil)
		equal(t, "the parent stays without a name", names(e, parent), []string(nil))
		if _, there := e.Held()[parent]; !there {
			t.Error("the parent is gone")
		}
		err := rmi(c, parent)
		equal(t, "by ID it is refused by a graph driver alone", errdefs.IsConflict(err), e.Held()[parent] == nil && len(e.Held()) == 2)
	})
}

func TestShortIDThatIsAName(t *testing.T) {
	onBoth(t, func(t *testing.T, e *fakeengine.Engine, c *client.Client) {
		id := e.Import("x:1", fakeengine.Made("x"))
		short := strings.TrimPrefix(id, "sha256:")[:6]
		wrong := e.Import(short, fakeengine.Made("of that name"))
		err := rmi(c, short)
		_, there := e.Held()[wrong]
		if there != errdefs.IsNotFound(err) {
			t.Errorf("removed: %v, error: %v", !there, err)
		}
		equal(t, "the name was meant, or neither", len(e.Held()), map[bool]int{true: 2, false: 1}[there])
	})
}

func TestADigestTakesItsRepositoryAlongInAContainerdStore(t *testing.T) {
	onBoth(t, func(t *testing.T, e *fakeengine.Engine, c *client.Client) {
		contents := fakeengine.Made("x")
		id := e.Pull("x:1", contents)
		e.Tag(id, "y:1")
		equal(t, "removal", rmi(c, "x@"+contents.Index), nil)
		want := map[int][]string{1: {"docker.io/library/y:1"}, 2: {"docker.io/library/x:1", "docker.io/library/y:1"}}
		equal(t, "left", names(e, id), want[len(names(e, id))])
	})
}

func TestPodman(t *testing.T) {
	e := fakeengine.Start(t, fakeengine.Options{Podman: true, API: "1.44"})
	id := e.Import("", fakeengine.Made("x"))
	var list []object
	raw(t, e, "/v1.44/images/json", &list)
	equal(t, "the ID", list[0]["Id"], any(strings.TrimPrefix(id, "sha256:")))
	equal(t, "no names", list[0]["RepoTags"], nil)
}

func TestLeases(t *testing.T) {
	onBoth(t, func(t *testing.T, e *fakeengine.Engine, _ *client.Client) {
		finish := e.Pulling("x:2", fakeengine.Made("y"))
		body := leases(t, e)
		for _, want := range []string{"moby/prune.images", "containerd.io/gc.expire"} {
			if !strings.Contains(body, want) {
				t.Errorf("no %s in %q", want, body)
			}
		}
		finish()
		if strings.Contains(leases(t, e), "moby/prune.images") {
			t.Error("the pull's lease outlived it")
		}
	})
}

func leases(t *testing.T, e *fakeengine.Engine) string {
	t.Helper()
	req, err := http.NewRequestWithContext(context.Background(), http.MethodPost,
		"http://containerd/containerd.services.leases.v1.Leases/List", strings.NewReader("\x00\x00\x00\x00\x00"))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/grpc")
	req.Header.Set("Containerd-Namespace", "moby")
	resp, err := overSocket(e.Leases(), true).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "status", resp.Trailer.Get("Grpc-Status"), "0")
	return string(body)
}

// Both kinds must take every household, and hold by each name the same contents.
func TestRandomIsTheSameForBothStores(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := fakeengine.Random(t)
		var tags [2][]string
		for i, s := range both {
			e := fakeengine.Start(t, fakeengine.Options{Store: s})
			w.Fill(e)
			for _, names := range e.Held() {
				tags[i] = append(tags[i], slices.DeleteFunc(names, func(n string) bool { return strings.Contains(n, "@") })...)
			}
			slices.Sort(tags[i])
		}
		if !slices.Equal(tags[0], tags[1]) {
			t.Fatalf("%v and %v", tags[0], tags[1])
		}
	})
}

func TestStoreSwitchChangesEveryID(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := fakeengine.Start(t, fakeengine.Options{})
		fakeengine.Random(t).Fill(e)
		before := e.Held()
		e.StoreSwitch()
		after := e.Held()
		if len(before) != len(after) {
			t.Fatalf("%d images became %d", len(before), len(after))
		}
		for id := range maps.Keys(before) {
			if _, ok := after[id]; ok {
				t.Fatalf("%s is there still", id)
			}
		}
	})
}
