package docker

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	moby "github.com/moby/moby/api/types/image"
)

const id = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

func TestImageLists(t *testing.T) {
	for _, c := range []struct{ list, names, reason string }{
		{`[{"Id":"` + id + `","RepoTags":null}]`, "", "podman writes an ID without its algorithm"},
		{`[{"Id":"sha256:` + id + `","RepoTags":["<none>:<none>"],"RepoDigests":["<none>@<none>"]}]`, "", "an old API has words for no name"},
		{`[{"Id":"sha256:` + id + `","RepoTags":["a@sha256:` + id + `"]}]`, "a@sha256:" + id, "a containerd store lists a digest as a tag"},
		{`[{"Id":"sha256:` + id + `","RepoTags":["b:1"]},{"Id":"` + id + `","RepoTags":["a:1","b:1"]}]`, "a:1 b:1", "listed twice: all names of both"},
		{`[{"Id":"","RepoTags":["a:1"]}]`, "error", "no ID"},
		{`[{"RepoTags":["a:1"]}]`, "error", "no ID at all"},
		{`[{"Id":"sha256:` + id + `","RepoTags":["a:1","Not A Name"]}]`, "error", "without that name it would look free to go"},
		{`[{"Id":"sha256:` + id + `","RepoTags":["a"]}]`, "error", "a name without a tag"},
	} {
		var list []moby.Summary
		if err := json.Unmarshal([]byte(c.list), &list); err != nil {
			t.Fatal(err)
		}
		got := ""
		if images, err := merge(list); err != nil {
			got = "error"
		} else {
			var names []string
			for _, i := range images {
				for _, n := range i.Names {
					names = append(names, n.Familiar())
				}
			}
			got = strings.Join(names, " ")
		}
		if got != c.names {
			t.Errorf("%s: got %q", c.reason, got)
		}
	}
}

func TestEngineIsFoundInDockersOrder(t *testing.T) {
	home := t.TempDir()
	write(t, filepath.Join(home, ".docker", "config.json"), `{"currentContext":"box"}`)
	writeContext(t, home, "box", "tcp://box:2375")
	writeContext(t, home, "far", "ssh://far")
	for _, c := range []struct {
		host, context, dockerHost, dockerContext, want, reason string
	}{
		{"/run/a.sock", "box", "tcp://b:1", "box", "unix:///run/a.sock", "--host is first, and a path is a socket"},
		{"", "box", "tcp://b:1", "", "tcp://box:2375", "then --context"},
		{"", "", "tcp://b:1", "box", "tcp://b:1", "then DOCKER_HOST"},
		{"", "", "", "box", "tcp://box:2375", "then DOCKER_CONTEXT"},
		{"", "", "", "", "tcp://box:2375", "then the current context"},
		{"", "default", "", "", "unix://" + rootSocket, "the context default is the socket"},
		{"", "none", "", "", "error", "a context that is not there"},
		{"", "far", "", "", "error", "ssh in a context"},
		{"ssh://x", "", "", "", "error", "ssh"},
		{"npipe:////./pipe/docker", "", "", "", "error", "another scheme"},
		{"tcp://", "", "", "", "error", "no host"},
		{"tcp://u:secret@h", "", "", "", "error", "a password"},
	} {
		env := func(k string) (string, bool) {
			v := map[string]string{"DOCKER_HOST": c.dockerHost, "DOCKER_CONTEXT": c.dockerContext}[k]
			return v, v != ""
		}
		at, err := find(Options{Host: c.host, Context: c.context, Env: env, Home: home})
		got := at.host
		if err != nil {
			got = "error"
		}
		if got != c.want || err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: got %s, %v", c.reason, got, err)
		}
	}
}

func TestTLSWithoutItsFilesIsAnError(t *testing.T) {
	env := func(k string) (string, bool) { return "1", k == "DOCKER_TLS_VERIFY" }
	if at, err := find(Options{Host: "tcp://a:2376", Env: env, Home: t.TempDir()}); err == nil {
		t.Errorf("got %+v: it would speak in the clear", at)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func FuzzLeases(f *testing.F) {
	f.Add([]byte{0, 0, 0, 0, 0})
	f.Add([]byte("\x00\x00\x00\x00\x0b\x0a\x09\x0a\x01a\x12\x04\x08\x01\x10\x02"))
	f.Fuzz(func(t *testing.T, body []byte) {
		leases, err := unframe(body)
		for _, l := range leases {
			if err == nil && l.id == "" {
				t.Error("a lease without an ID")
			}
		}
	})
}

func FuzzNames(f *testing.F) {
	f.Add("a:1")
	f.Add("<none>:<none>")
	f.Add("a@sha256:" + id)
	f.Fuzz(func(t *testing.T, s string) {
		got, err := parseNames([]string{s})
		if err == nil && len(got) == 0 && !strings.Contains(s, "<none>") {
			t.Errorf("%q is lost", s)
		}
		for _, n := range got {
			again, err := parseNames([]string{n.String()})
			if err != nil || !slices.Equal(again, got) {
				t.Errorf("%q: %v, %v", s, again, err)
			}
		}
	})
}

func writeContext(t *testing.T, home, name, host string) {
	t.Helper()
	sum := sha256.Sum256([]byte(name))
	raw, err := json.Marshal(map[string]any{"Name": name, "Endpoints": map[string]any{"docker": map[string]any{"Host": host}}})
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(home, ".docker", "contexts", "meta", hex.EncodeToString(sum[:]), "meta.json"), string(raw))
}
