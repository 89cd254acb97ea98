// Package guard proves over HTTP that a registry takes no writes and serves
// this very storage.
//
// It changes nothing: its probe is a manifest that no registry accepts, since
// it names a blob that does not exist. It refuses to call anything proven that
// did not answer exactly as a read-only registry does.
package guard

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
)

var (
	// ErrWritable says that the registry takes writes.
	ErrWritable = errors.New("the registry takes writes")
	// ErrUnproven says that the registry's answers prove nothing.
	ErrUnproven = errors.New("it is not proven that the registry takes no writes")
)

// Known is an image that the storage holds, by which the registry is told from
// another.
type Known struct {
	Repository string
	Digest     string
}

// Guard asks one registry.
type Guard struct {
	url       string
	base      string // scheme and host
	registry  name.Registry
	transport http.RoundTripper
}

// withoutSecrets leaves out of an address, sound or not, who asks and what for.
func withoutSecrets(address string) string {
	address, _, _ = strings.Cut(address, "?")
	address, _, _ = strings.Cut(address, "#")
	scheme, rest, ok := strings.Cut(address, "://")
	if !ok {
		scheme, rest = "", address
	}
	rest = rest[strings.LastIndex(rest, "@")+1:]
	if scheme == "" {
		return rest
	}
	return scheme + "://" + rest
}

// New makes a guard for a registry's address, such as "https://host:5000".
func New(address string) (*Guard, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return nil, fmt.Errorf("registry address %q: want http://host or https://host, with a port if needed", withoutSecrets(address))
	}
	if u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("registry address %q: give host and port alone; credentials come from docker login", withoutSecrets(address))
	}
	if strings.Trim(u.Path, "/") != "" && strings.Trim(u.Path, "/") != "v2" {
		return nil, fmt.Errorf("registry address %q: a registry has no path", withoutSecrets(address))
	}
	options := []name.Option{}
	if u.Scheme == "http" {
		options = append(options, name.Insecure)
	}
	registry, err := name.NewRegistry(u.Host, options...)
	if err != nil {
		return nil, fmt.Errorf("registry address %q: %w", withoutSecrets(address), err)
	}
	return &Guard{url: address, base: u.Scheme + "://" + u.Host, registry: registry, transport: fresh()}, nil
}

// fresh uses no connection twice: minutes lie between two proofs, in which a
// registry may be started anew.
func fresh() http.RoundTripper {
	t, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		return http.DefaultTransport
	}
	t = t.Clone()
	t.DisableKeepAlives = true
	return t
}

// patience is how long one proof may take: a registry that does not answer must
// not hold the lock for ever.
const patience = 30 * time.Second

// Prove asks for a known image and tries a write. It returns an error that
// wraps ErrWritable or ErrUnproven. Credentials come from Docker's
// configuration.
func (g *Guard) Prove(ctx context.Context, known Known) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	client, err := g.client(ctx, known.Repository)
	if err != nil {
		return fmt.Errorf("registry %s: %w: %w", g.url, ErrUnproven, err)
	}
	if err := g.serves(ctx, client, known); err != nil {
		return fmt.Errorf("registry %s: %w: %w", g.url, ErrUnproven, err)
	}
	if err := g.refusesWrites(ctx, client, known.Repository); err != nil {
		return fmt.Errorf("registry %s: %w", g.url, err)
	}
	return nil
}

// Serves asks for images that the storage holds; a registry that does not
// answer for one of them serves another storage. It returns an error that
// wraps ErrUnproven. A full copy of the storage can not be told from it.
func (g *Guard) Serves(ctx context.Context, known []Known) error {
	for _, k := range known {
		if err := g.servesOne(ctx, k); err != nil {
			return fmt.Errorf("registry %s: %w: %w", g.url, ErrUnproven, err)
		}
	}
	return nil
}

func (g *Guard) servesOne(ctx context.Context, known Known) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	client, err := g.client(ctx, known.Repository)
	if err != nil {
		return err
	}
	return g.serves(ctx, client, known)
}

// ProveReadOnly tries a write, of a registry that was recognized before.
func (g *Guard) ProveReadOnly(ctx context.Context, repository string) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	client, err := g.client(ctx, repository)
	if err != nil {
		return fmt.Errorf("registry %s: %w: %w", g.url, ErrUnproven, err)
	}
	if err := g.refusesWrites(ctx, client, repository); err != nil {
		return fmt.Errorf("registry %s: %w", g.url, err)
	}
	return nil
}

// client proves on its way that /v2/ answers as a registry does.
func (g *Guard) client(ctx context.Context, repository string) (*http.Client, error) {
	auth, err := authn.Resolve(ctx, authn.DefaultKeychain, g.registry)
	if err != nil {
		return nil, err
	}
	scopes := []string{g.registry.Repo(repository).Scope(transport.PushScope)}
	t, err := transport.NewWithContext(ctx, g.registry, auth, g.transport, scopes)
	if err != nil {
		return nil, err
	}
	return &http.Client{Transport: t, CheckRedirect: stay}, nil
}

// stay follows no redirection: it would turn a write into a read.
func stay(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// accept is every manifest type, so that the registry serves what it has.
const accept = "application/vnd.oci.image.manifest.v1+json, application/vnd.oci.image.index.v1+json, " +
	"application/vnd.docker.distribution.manifest.v2+json, application/vnd.docker.distribution.manifest.list.v2+json"

func (g *Guard) serves(ctx context.Context, client *http.Client, known Known) error {
	answer, err := g.do(ctx, client, http.MethodHead, known.Repository, known.Digest, nil)
	if err != nil {
		return err
	}
	if answer.status != http.StatusOK || answer.digest != known.Digest {
		return fmt.Errorf("it does not serve %s@%s, which this storage holds (status %d): is it another registry's storage?",
			known.Repository, known.Digest, answer.status)
	}
	return nil
}

// probeTag is the tag that the refused manifest asks for.
const probeTag = "ebb-write-probe"

func (g *Guard) refusesWrites(ctx context.Context, client *http.Client, repository string) error {
	answer, err := g.do(ctx, client, http.MethodPut, repository, probeTag, probe())
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w", ErrUnproven, err)
	case answer.status == http.StatusMethodNotAllowed && answer.unsupported:
		return fmt.Errorf("%w: it refuses a push as a pull-through cache does, which writes what is pulled: stop it and say --offline", ErrUnproven)
	case answer.status == http.StatusMethodNotAllowed:
		return nil
	case answer.status == http.StatusBadRequest, answer.status < http.StatusBadRequest:
		return fmt.Errorf("%w (status %d): set storage.maintenance.readonly.enabled and restart it", ErrWritable, answer.status)
	}
	return fmt.Errorf("%w: a write was answered with status %d, read-only would be 405", ErrUnproven, answer.status)
}

// answer is what matters of a response.
type answer struct {
	status int
	digest string
	// unsupported says that the registry itself, and not its routes, refuses
	// the operation: distribution's read-only mode has no such route, and its
	// pull-through cache answers with an error document.
	unsupported bool
}

func (g *Guard) do(ctx context.Context, client *http.Client, method, repository, reference string, body []byte) (answer, error) {
	address := fmt.Sprintf("%s/v2/%s/manifests/%s", g.base, repository, reference)
	request, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	request.Header.Set("Accept", accept)
	if body != nil {
		request.Header.Set("Content-Type", probeType)
	}
	response, err := client.Do(request)
	if err != nil {
		return answer{}, err
	}
	defer func() { _ = response.Body.Close() }() // nothing more is wanted from it
	text, err := io.ReadAll(io.LimitReader(response.Body, 1<<16))
	return answer{
		status: response.StatusCode, digest: response.Header.Get("Docker-Content-Digest"),
		unsupported: bytes.Contains(text, []byte(`"UNSUPPORTED"`)),
	}, err
}

const probeType = "application/vnd.oci.image.manifest.v1+json"

// probe is a sound manifest of a config that no registry has: the digest of no
// content is not all zeros.
func probe() []byte {
	missing := map[string]any{
		"mediaType": "application/vnd.oci.image.config.v1+json",
		"digest":    "sha256:" + strings.Repeat("0", 64),
		"size":      2,
	}
	body, _ := json.Marshal(map[string]any{ // of plain values it can not fail
		"schemaVersion": 2, "mediaType": probeType, "config": missing, "layers": []any{},
	})
	return body
}
