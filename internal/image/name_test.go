package image

import (
	"strings"
	"testing"
)

func TestParseName(t *testing.T) {
	d := SHA256([]byte("x"))
	at := "@" + d.String()
	tests := []struct {
		reason, text, repository, tag string
		digested                      bool
		familiar                      string
	}{
		{"Docker Hub is meant", "nginx", "docker.io/library/nginx", "", false, "nginx"},
		{"no tag is added", "team/web", "docker.io/team/web", "", false, "team/web"},
		{"its old host too", "index.docker.io/library/nginx:1", "docker.io/library/nginx", "1", false, "nginx:1"},
		{"in full", "docker.io/library/nginx:1.27", "docker.io/library/nginx", "1.27", false, "nginx:1.27"},
		{"a tag is no port", "myhost:5000", "docker.io/library/myhost", "5000", false, "myhost:5000"},
		{"a port is no tag", "myhost:5000/web", "myhost:5000/web", "", false, "myhost:5000/web"},
		{"port and tag", "127.0.0.1:5000/infra/traefik:v3.1.2", "127.0.0.1:5000/infra/traefik", "v3.1.2", false, "127.0.0.1:5000/infra/traefik:v3.1.2"},
		{"an IPv6 host", "[::1]:5000/web:1", "[::1]:5000/web", "1", false, "[::1]:5000/web:1"},
		{"localhost is a host", "localhost/web:1", "localhost/web", "1", false, "localhost/web:1"},
		{"unless Docker Hub is named", "docker.io/localhost/web:1", "docker.io/localhost/web", "1", false, "docker.io/localhost/web:1"},
		{"a folder with a dot reads as a host", "docker.io/my.team/web", "docker.io/my.team/web", "", false, "docker.io/my.team/web"},
		{"deeper than library", "library/a/b", "docker.io/library/a/b", "", false, "library/a/b"},
		{"a host may be in upper case", "Registry.Example.org/web:1", "Registry.Example.org/web", "1", false, "Registry.Example.org/web:1"},
		{"a digest alone", "traefik" + at, "docker.io/library/traefik", "", true, "traefik" + at},
		{"tag and digest are both kept", "traefik:v3.1.2" + at, "docker.io/library/traefik", "v3.1.2", true, "traefik:v3.1.2" + at},
		{"an engine's mark for no name reads as a name", "moby-dangling" + at, "docker.io/library/moby-dangling", "", true, "moby-dangling" + at},
		{"a repository that looks like an ID", "library/sha256:abc", "docker.io/library/sha256", "abc", false, "library/sha256:abc"},
		{"a tag in upper case", "minio/minio:RELEASE.2024-10-02T17-50-41Z", "docker.io/minio/minio", "RELEASE.2024-10-02T17-50-41Z", false, "minio/minio:RELEASE.2024-10-02T17-50-41Z"},
	}
	for _, test := range tests {
		t.Run(test.reason, func(t *testing.T) {
			n, err := ParseName(test.text)
			if err != nil {
				t.Fatal(err)
			}
			want := Name{Repository: test.repository, Tag: test.tag, Digested: test.digested}
			if test.digested {
				want.Digest = d
			}
			if n != want {
				t.Errorf("ParseName(%s) = %+v, want %+v", test.text, n, want)
			}
			if n.Familiar() != test.familiar {
				t.Errorf("%s is written %s, want %s", n, n.Familiar(), test.familiar)
			}
			checkName(t, n)
		})
	}
}

func TestParseNameRefuses(t *testing.T) {
	hex := strings.Repeat("0a", 32)
	for text, reason := range map[string]string{
		"":                              "nothing",
		"<none>":                        "what old engines list for no name",
		"<none>:<none>":                 "what old engines list for no name",
		"traefik:<none>":                "no tag",
		"traefik@<none>":                "no digest",
		"sha256:" + hex:                 "an ID",
		"sha256:abc":                    "a short ID",
		"sha512:" + hex + hex:           "an ID",
		hex:                             "an ID without its algorithm",
		"Traefik:1":                     "upper case",
		"team/Web":                      "upper case",
		"traefik:":                      "no tag",
		"traefik@sha256:abc":            "half a digest",
		"traefik@md5:" + hex[:32]:       "a digest that Ebb does not know",
		"https://traefik":               "an address",
		"traefik:v3.1.2 ":               "a blank",
		"traefik:${TAG}":                "a variable that nobody filled in",
		"traefik:１":                     "a digit of another alphabet",
		strings.Repeat("a", 256):        "too long",
		"t:" + strings.Repeat("a", 129): "a tag that is too long",
	} {
		if n, err := ParseName(text); err == nil {
			t.Errorf("%s: ParseName(%q) = %+v, want an error", reason, text, n)
		} else if !strings.Contains(err.Error(), "image name") {
			t.Errorf("%s: the error %q does not say what it is about", reason, err)
		}
	}
}

func TestNamesCompareAsTheirTexts(t *testing.T) {
	a, b := name(t, "traefik:v2"), name(t, "traefik:v3")
	if a.Compare(b) >= 0 || b.Compare(a) <= 0 || a.Compare(name(t, "docker.io/library/traefik:v2")) != 0 {
		t.Error("names are not in the order of their texts")
	}
}

func TestNameVersion(t *testing.T) {
	d := SHA256([]byte("x")).String()
	if v, ok := name(t, "traefik:v3.1.2@"+d).Version(); !ok || v.String() != "v3.1.2" {
		t.Errorf("version of a tag with a digest: %s, %v", v, ok)
	}
	for _, text := range []string{"traefik", "traefik:latest", "traefik@" + d} {
		if v, ok := name(t, text).Version(); ok {
			t.Errorf("%s has version %s", text, v)
		}
	}
}

func name(t *testing.T, text string) Name {
	t.Helper()
	n, err := ParseName(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// checkName requires that both ways to write a name mean it.
func checkName(t *testing.T, n Name) {
	t.Helper()
	for _, text := range []string{n.String(), n.Familiar()} {
		if back, err := ParseName(text); err != nil || back != n {
			t.Errorf("%+v is written %q, which reads as %+v: %v", n, text, back, err)
		}
	}
}

func FuzzParseName(f *testing.F) {
	d := SHA256([]byte("x")).String()
	for _, text := range []string{
		"nginx", "nginx:1.27", "myhost:5000", "localhost/web", "docker.io/localhost/web", "docker.io/library/sha256:a",
		"traefik:v3@" + d, "moby-dangling@" + d, d, "<none>:<none>", "index.docker.io/a/b", "[::1]:5000/web", "A/b",
		"docker.io/library/" + d[7:] + ":1", "docker.io/sha512:abc", "docker.io/docker.io/a", "docker.io/A.b/c",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if n, err := ParseName(text); err == nil {
			checkName(t, n)
		}
	})
}
