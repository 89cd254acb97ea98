// Package image knows what images are called and what they are made of:
// digests, references, names, versions, manifests, and the tags that describe
// another image.
//
// It is pure: it parses values and refuses to read, fetch or decide anything.
package image

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"unique"

	_ "crypto/sha512" // sha384 and sha512 digests are valid in the OCI image specification

	"github.com/opencontainers/go-digest"
)

// Digest names content by its hash. It is a small comparable value: a sha256
// sum stands in it, any other digest is interned. The zero value is the
// sha256 digest of 32 zero bytes; "no digest" is said beside it, never by it.
type Digest struct {
	sum   [sha256.Size]byte
	other unique.Handle[string]
}

// ParseDigest reads "algorithm:hex" as the OCI image specification writes it.
func ParseDigest(s string) (Digest, error) {
	if hexSum, ok := strings.CutPrefix(s, "sha256:"); ok {
		return parseSHA256(hexSum)
	}
	if err := digest.Digest(s).Validate(); err != nil {
		return Digest{}, fmt.Errorf("digest %q: %w", s, err)
	}
	return Digest{other: unique.Make(s)}, nil
}

// JoinDigest is ParseDigest for the two parts around the colon.
func JoinDigest(algorithm, encoded string) (Digest, error) {
	if algorithm == "sha256" {
		return parseSHA256(encoded)
	}
	return ParseDigest(algorithm + ":" + encoded)
}

func parseSHA256(hexSum string) (Digest, error) {
	var d Digest
	if len(hexSum) != hex.EncodedLen(len(d.sum)) || hasUpper(hexSum) {
		return Digest{}, errHex(hexSum)
	}
	if _, err := hex.Decode(d.sum[:], []byte(hexSum)); err != nil {
		return Digest{}, errHex(hexSum)
	}
	return d, nil
}

// hasUpper tells whether a text holds a capital letter, which no digest may.
// In ASCII a letter has the bit 0x40, and a small one 0x20 as well.
func hasUpper(s string) bool {
	var found byte
	for i := range len(s) {
		found |= s[i] &^ (s[i] << 1) & 0x40
	}
	return found != 0
}

func errHex(s string) error {
	return fmt.Errorf("digest %q: want 64 lower-case hex digits", "sha256:"+s)
}

// SHA256 is the sha256 digest of content.
func SHA256(content []byte) Digest { return Digest{sum: sha256.Sum256(content)} }

// Matches tells whether content has this digest. It is false for an algorithm
// that this program can not compute.
func (d Digest) Matches(content []byte) bool {
	if d.isSHA256() {
		return d.sum == sha256.Sum256(content)
	}
	algorithm := digest.Algorithm(d.Algorithm())
	return algorithm.Available() && algorithm.FromBytes(content).String() == d.String()
}

// String writes the digest as "algorithm:hex".
func (d Digest) String() string {
	if d.isSHA256() {
		return "sha256:" + hex.EncodeToString(d.sum[:])
	}
	return d.other.Value()
}

// Algorithm is the part before the colon.
func (d Digest) Algorithm() string {
	if d.isSHA256() {
		return "sha256"
	}
	algorithm, _, _ := strings.Cut(d.other.Value(), ":")
	return algorithm
}

// Hex is the part behind the colon.
func (d Digest) Hex() string {
	if d.isSHA256() {
		return hex.EncodeToString(d.sum[:])
	}
	_, encoded, _ := strings.Cut(d.other.Value(), ":")
	return encoded
}

// Short is the form for people: the algorithm and twelve hex digits.
func (d Digest) Short() string { return d.Algorithm() + ":" + d.Hex()[:12] }

// Compare orders digests as their strings are ordered.
func (d Digest) Compare(o Digest) int {
	if d.isSHA256() && o.isSHA256() {
		return bytes.Compare(d.sum[:], o.sum[:])
	}
	return cmp.Compare(d.String(), o.String())
}

func (d Digest) isSHA256() bool { return d.other == unique.Handle[string]{} }

// MarshalText writes the digest as String does.
func (d Digest) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads the digest as ParseDigest does.
func (d *Digest) UnmarshalText(text []byte) (err error) {
	*d, err = ParseDigest(string(text))
	return err
}
