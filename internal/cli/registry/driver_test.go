package registry

import (
	"context"
	"errors"
	"io/fs"
	"testing"

	"github.com/ebb-io/ebb/internal/report"
	"github.com/ebb-io/ebb/internal/store/blob"
)

// versioned is a driver that answers so when it is asked for versions.
type versioned struct {
	blob.Reader
	kept bool
	err  error
}

func (v versioned) Versioned(context.Context) (bool, error) { return v.kept, v.err }

// What could not be asked is not taken for a no.
func TestVersions(t *testing.T) {
	for _, test := range []struct {
		reason, before string
		driver         blob.Reader
		want           string
	}{
		{"a folder has none", report.VersionsNot, struct{ blob.Reader }{}, report.VersionsNot},
		{"a bucket that keeps them", report.VersionsUnknown, versioned{kept: true}, report.VersionsKept},
		{"a bucket that does not", report.VersionsUnknown, versioned{}, report.VersionsNot},
		{"not allowed to ask", report.VersionsUnknown, versioned{err: fs.ErrPermission}, report.VersionsUnknown},
		{"a server that does not know", report.VersionsUnknown, versioned{err: errors.ErrUnsupported}, report.VersionsUnknown},
	} {
		j := jobOf(nil)
		j.storage.Versioned = test.before
		j.versions(t.Context(), test.driver)
		if got := j.storage.Versioned; got != test.want {
			t.Errorf("%s: %q, want %q", test.reason, got, test.want)
		}
	}
	for text, want := range map[string]string{"/folder": report.VersionsNot, "s3://bucket": report.VersionsUnknown} {
		if s, err := parseStorage(text, 0, nil); err != nil || s.Versioned != want {
			t.Errorf("%s: %q, %v; want %q before it is asked", text, s.Versioned, err, want)
		}
	}
}
