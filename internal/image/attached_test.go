package image

import (
	"strings"
	"testing"
)

func TestAttachedTo(t *testing.T) {
	hex64 := strings.Repeat("0123456789abcdef", 4)
	tests := []struct {
		tag    string
		want   Subject
		reason string
	}{
		{"sha256-" + hex64, Subject("sha256-" + hex64), "the fallback tag of referrers"},
		{"sha256-" + hex64 + ".sig", Subject("sha256-" + hex64), "cosign's signature"},
		{"sha256-" + hex64 + ".att", Subject("sha256-" + hex64), "cosign's attestation"},
		{"sha256-" + hex64 + ".sbom", Subject("sha256-" + hex64), "cosign's bill of materials"},
		{"sha512-" + hex64, Subject("sha512-" + hex64), "a longer digest cut to what fits"},
		{"sha512-" + hex64 + ".sig", Subject("sha512-" + hex64), "with cosign's suffix"},
		{"sha256-" + hex64 + ".txt", "", "a suffix that nobody writes"},
		{"sha256-" + hex64[:63], "", "too short for a digest"},
		{"sha256-" + hex64 + "0", "", "too long for one"},
		{"sha256-" + strings.ToUpper(hex64), "", "digests are in lower case"},
		{"x-sha256-" + hex64, "", "something in front"},
		{"sha1-" + hex64, "", "another algorithm"},
		{"latest", "", "an ordinary tag"},
		{"", "", "none"},
	}
	for _, test := range tests {
		got, ok := AttachedTo(test.tag)
		if got != test.want || ok != (test.want != "") {
			t.Errorf("AttachedTo(%q) = %q, %v, want %q: %s", test.tag, got, ok, test.want, test.reason)
		}
	}
}

// TestSubjectMeetsItsTag: the tag that a client writes for a digest leads back
// to that digest.
func TestSubjectMeetsItsTag(t *testing.T) {
	for _, text := range []string{SHA256([]byte("x")).String(), sha512Of("x")} {
		d := mustDigest(t, text)
		written := d.Algorithm() + "-" + d.Hex()[:64]
		for _, suffix := range []string{"", ".sig"} {
			if got, ok := AttachedTo(written + suffix); !ok || got != d.Subject() {
				t.Errorf("%s is attached to %q, want %q", written+suffix, got, d.Subject())
			}
		}
	}
}

func FuzzAttachedTo(f *testing.F) {
	for _, seed := range []string{"sha256-" + strings.Repeat("a", 64), "sha512-" + strings.Repeat("0", 128) + ".sig", "latest", "sha256-"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, tag string) {
		subject, ok := AttachedTo(tag)
		if ok != (subject != "") {
			t.Fatalf("%q: %q, %v", tag, subject, ok)
		}
		if !ok {
			return
		}
		if !strings.HasPrefix(tag, string(subject)) || len(subject) != len("sha256-")+subjectDigits {
			t.Fatalf("%q is attached to %q", tag, subject)
		}
	})
}
