package image

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseReference(t *testing.T) {
	d := SHA256([]byte("x"))
	long := mustDigest(t, sha512Of("x"))
	tests := []struct {
		text string
		want Reference
	}{
		{"nginx", Reference{Repository: "nginx"}},
		{"nginx:1.27", Reference{Repository: "nginx", Tag: "1.27"}},
		{"library/nginx", Reference{Repository: "library/nginx"}},
		{"team/web:v1", Reference{Repository: "team/web", Tag: "v1"}},
		{"localhost/web", Reference{Host: "localhost", Repository: "web"}},
		{"localhost:5000/web:v1", Reference{Host: "localhost:5000", Repository: "web", Tag: "v1"}},
		{"registry.example.org/a/b/c:v1", Reference{Host: "registry.example.org", Repository: "a/b/c", Tag: "v1"}},
		{"REGISTRY/web", Reference{Host: "REGISTRY", Repository: "web"}},
		{"[::1]:5000/web", Reference{Host: "[::1]:5000", Repository: "web"}},
		{"web@" + d.String(), Reference{Repository: "web", Digest: &d}},
		{"r.example.org/web:v1@" + d.String(), Reference{Host: "r.example.org", Repository: "web", Tag: "v1", Digest: &d}},
		{"web@" + long.String(), Reference{Repository: "web", Digest: &long}},
		{d.String(), Reference{Digest: &d}},
		{long.String(), Reference{Digest: &long}},
	}
	for _, test := range tests {
		got, err := ParseReference(test.text)
		if err != nil {
			t.Errorf("%s: %v", test.text, err)
		}
		if diff := cmp.Diff(test.want, got, cmp.Comparer(func(a, b Digest) bool { return a == b })); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.text, diff)
		}
	}
}

func TestParseReferenceRefuses(t *testing.T) {
	for _, text := range []string{
		"", " ", "Nginx", "nginx:", "nginx@", "nginx:v 1", "https://r.example.org/web", "a//b", "/web", "web@sha256:abc",
		"web@md5:d41d8cd98f00b204e9800998ecf8427e", "{{ .Values.image }}", "$(IMAGE)", strings.Repeat("a", 256),
	} {
		if got, err := ParseReference(text); err == nil {
			t.Errorf("ParseReference(%q) = %+v, want an error", text, got)
		}
	}
}

func (r Reference) text() string {
	text := r.Repository
	if r.Host != "" {
		text = r.Host + "/" + text
	}
	if r.Tag != "" {
		text += ":" + r.Tag
	}
	if r.Digest != nil && text != "" {
		text += "@"
	}
	if r.Digest != nil {
		text += r.Digest.String()
	}
	return text
}

func FuzzParseReference(f *testing.F) {
	for _, seed := range []string{"nginx", "localhost:5000/a/b:v1", "R/x@" + SHA256(nil).String(), SHA256(nil).String(), "[::1]/x", "a:b:c"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := ParseReference(text)
		if err != nil {
			return
		}
		if r.Repository == "" && (r.Digest == nil || r.Host != "" || r.Tag != "") {
			t.Fatalf("%q became %+v, which names nothing", text, r)
		}
		if r.text() != text {
			t.Fatalf("%q came back as %q", text, r.text())
		}
	})
}
