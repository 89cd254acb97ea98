package registry

import (
	"context"
	"net/url"
	"strings"

	app "github.com/ebb-io/ebb/internal/app/registry"
	"github.com/ebb-io/ebb/internal/cli"
	"github.com/ebb-io/ebb/internal/registryconfig"
	"github.com/ebb-io/ebb/internal/report"
	"github.com/ebb-io/ebb/internal/store/blob"
)

// storage is where a registry keeps its files.
type storage struct {
	name     string // as a person writes it on a command line
	identity string // the same for two names of one storage
	report.Store
	place
	doubt string                 // what may be wrong where it is empty, as a question
	own   *registryconfig.Config // nil where the registry's configuration is not known
}

// place is what differs between a folder and a bucket.
type place interface {
	// open is for reading: what it returns has no method that writes.
	open(ctx context.Context) (blob.Reader, error)
	openWritable(ctx context.Context) (app.MendingDriver, error)
	// explain says of an error what to do about it.
	explain(err error) error
}

// parseStorage reads a path, a file URL, an S3 URL, or where the registry's own
// configuration names one. The variables of environ, as NAME=value, fill in what
// the text leaves open.
func parseStorage(text string, pace float64, environ []string) (storage, error) {
	scheme, _, isURL := strings.Cut(text, ":")
	switch {
	case text == "":
		return storage{}, errNoStorage()
	case strings.HasPrefix(text, "s3:"):
		return parseBucket(text, pace, environ)
	case strings.HasPrefix(text, configScheme):
		return parseOwn(strings.TrimPrefix(text, configScheme), pace, environ)
	case strings.HasPrefix(text, "file:"):
		return parseFileURL(text)
	case isURL && strings.Contains(text, "://"):
		return storage{}, cli.Usagef("storage %s: %s:// is no kind of storage: name a folder, an s3:// URL or config:PATH", withoutSecrets(text), scheme)
	}
	return parseFolder(text)
}

// withoutSecrets leaves of an address what is none: its kind, host and path.
func withoutSecrets(address string) string {
	scheme, _, _ := strings.Cut(address, ":")
	u, err := url.Parse(address)
	if err != nil {
		return scheme + "://…"
	}
	return (&url.URL{Scheme: scheme, Host: u.Host, Path: u.Path}).String()
}

func errNoStorage() error {
	return cli.Usagef("--storage is missing: name the folder that holds docker/registry/v2, an s3:// URL or config:PATH (or set EBB_STORAGE)")
}

// named is a document's storage as messages name it.
func named(other report.Store) string {
	if s, err := parseStorage(other.URL, 0, nil); err == nil {
		return s.URL
	}
	return withoutSecrets(other.URL)
}

// is tells whether a document's storage is this one, under whatever name. It
// counts what the document says, and nothing that today's variables add to it.
func (s storage) is(other report.Store) bool {
	theirs, err := parseStorage(other.URL, 0, nil)
	return err == nil && theirs.identity == s.identity
}
