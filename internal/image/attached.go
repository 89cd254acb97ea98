package image

import (
	"regexp"
	"strings"
)

// Subject is the image that a tag describes, in the form that such tags carry:
// "sha256-<hex>". A longer digest is cut to 64 hexadecimal digits.
type Subject string

// attached is cosign's scheme (".sig", ".att", ".sbom") and, without a suffix,
// the fallback tag of the OCI distribution specification's referrers.
var attached = regexp.MustCompile(`^(sha(?:256|512)-[0-9a-f]{64})(?:[0-9a-f]{64})?(?:\.(?:sig|att|sbom))?$`)

// AttachedTo reads the subject from a tag that describes another image. It is
// false for an ordinary tag.
func AttachedTo(tag string) (Subject, bool) {
	if len(tag) < len("sha256-")+subjectDigits {
		return "", false
	}
	match := attached.FindStringSubmatch(tag)
	if match == nil {
		return "", false
	}
	return Subject(match[1]), true
}

// IsFallback tells whether a tag of the subject is the referrers' fallback tag,
// which names an index of them, and not one of cosign's, which name an artifact.
func (s Subject) IsFallback(tag string) bool { return !strings.Contains(tag, ".") }

// subjectDigits is how much of a digest such a tag can carry.
const subjectDigits = 64

// Subject is the digest in the form that tags carry.
func (d Digest) Subject() Subject {
	encoded := d.Hex()
	if len(encoded) > subjectDigits {
		encoded = encoded[:subjectDigits]
	}
	return Subject(d.Algorithm() + "-" + encoded)
}
