package image

import (
	"cmp"
	"crypto/sha512"
	"encoding/hex"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func mustDigest(t testing.TB, s string) Digest {
	t.Helper()
	d, err := ParseDigest(s)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func sha512Of(content string) string {
	sum := sha512.Sum512([]byte(content))
	return "sha512:" + hex.EncodeToString(sum[:])
}

func TestParseDigest(t *testing.T) {
	hex64 := strings.Repeat("0123456789abcdef", 4)
	tests := []struct {
		text   string
		ok     bool
		reason string
	}{
		{"sha256:" + hex64, true, "the usual one"},
		{"sha512:" + hex64 + hex64, true, "registries take sha512"},
		{"sha384:" + hex64 + hex64[:32], true, "and sha384"},
		{"sha256:" + strings.Repeat("0", 64), true, "32 zero bytes are a digest like others"},
		{"sha256:" + strings.ToUpper(hex64), false, "upper case would be a second name of one blob"},
		{"sha256:" + hex64[:63], false, "too short"},
		{"sha256:" + hex64 + "0", false, "too long"},
		{"sha256:" + hex64[:63] + "g", false, "not hexadecimal"},
		{"sha256:", false, "nothing behind the colon"},
		{"sha512:" + hex64, false, "sha512 with the length of sha256"},
		{"md5:d41d8cd98f00b204e9800998ecf8427e", false, "no algorithm of the specification"},
		{hex64, false, "no algorithm"},
		{"", false, "nothing"},
		{"SHA256:" + hex64, false, "algorithms are in lower case"},
		{" sha256:" + hex64, false, "a space in front"},
	}
	for _, test := range tests {
		d, err := ParseDigest(test.text)
		if (err == nil) != test.ok {
			t.Errorf("ParseDigest(%q): %v: %s", test.text, err, test.reason)
		}
		if test.ok && d.String() != test.text {
			t.Errorf("%q came back as %q", test.text, d)
		}
	}
}

func TestDigestParts(t *testing.T) {
	for _, text := range []string{SHA256([]byte("x")).String(), sha512Of("x")} {
		d := mustDigest(t, text)
		algorithm, encoded, _ := strings.Cut(text, ":")
		if d.Algorithm() != algorithm || d.Hex() != encoded || d.Short() != algorithm+":"+encoded[:12] {
			t.Errorf("%s: %s, %s, %s", text, d.Algorithm(), d.Hex(), d.Short())
		}
		if !d.Matches([]byte("x")) || d.Matches([]byte("y")) {
			t.Errorf("%s does not tell its content from another", text)
		}
	}
}

func TestDigestIsComparable(t *testing.T) {
	text := sha512Of("x")
	if mustDigest(t, text) != mustDigest(t, strings.Clone(text)) {
		t.Error("the same sha512 digest twice must be one key")
	}
	if mustDigest(t, text) == mustDigest(t, sha512Of("y")) || mustDigest(t, text) == SHA256([]byte("x")) {
		t.Error("different digests must be different keys")
	}
}

func TestPropertyDigestsSortAsTheirStrings(t *testing.T) {
	gen := rapid.OneOf(
		rapid.Map(rapid.String(), func(s string) Digest { return SHA256([]byte(s)) }),
		rapid.Map(rapid.String(), func(s string) Digest { d, _ := ParseDigest(sha512Of(s)); return d }),
	)
	rapid.Check(t, func(t *rapid.T) {
		a, b := gen.Draw(t, "a"), gen.Draw(t, "b")
		if got, want := a.Compare(b), cmp.Compare(a.String(), b.String()); got != want {
			t.Fatalf("%s and %s compare as %d, want %d", a, b, got, want)
		}
	})
}

func FuzzParseDigest(f *testing.F) {
	for _, seed := range []string{SHA256(nil).String(), sha512Of(""), "sha256:", "sha256:zz", "a:b", ":"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := ParseDigest(text)
		if err != nil {
			return
		}
		if d.String() != text || d.Algorithm()+":"+d.Hex() != text {
			t.Fatalf("%q came back as %q", text, d)
		}
		if again := mustDigest(t, d.String()); again != d {
			t.Fatalf("%q read twice is two digests", text)
		}
		_, _ = d.Short(), d.Subject()
	})
}
