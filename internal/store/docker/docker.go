// Package docker shows a Docker engine as values and changes it by one name or
// image at a time, through the engine's own API. Podman's compatible socket is
// such an engine too.
//
// It refuses to decide, to force, to prune, to delete parents, and to guess: an
// answer that is not plausible, or that did not come in full, is an error.
package docker

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/client"

	"github.com/ebb-io/ebb/internal/engine"
)

var (
	// ErrIncomplete is every error of a view of the engine: what it shows is not
	// all there is, so that nothing may be deleted by it.
	ErrIncomplete = errors.New("the view of the engine is incomplete")
	// ErrAway says that no engine answers, or none that this program can talk with.
	ErrAway = errors.New("no good answer")
	// ErrNotFound is the engine's own word that it has no such image.
	ErrNotFound = engine.ErrNotFound
	// ErrConflict is the engine's refusal to delete what is in use.
	ErrConflict = engine.ErrConflict
)

// How long the engine may take to answer.
const (
	listTimeout   = time.Minute
	sizeTimeout   = 30 * time.Second // sizes are for people: nothing waits for them long
	deleteTimeout = 10 * time.Minute // a big image on a slow disk
)

// Options say which engine, and how its calls are seen.
type Options struct {
	Host    string // --host
	Context string // --context, the name of a Docker context
	Env     func(string) (string, bool)
	Home    string // the user's home folder
	// Meter is told of every request before it is sent; nil: nobody is.
	Meter func(method, path string)
}

// Engine is an engine that answered.
type Engine struct {
	api   *client.Client
	what  engine.Engine
	local bool          // it answers on a unix socket
	skew  time.Duration // the engine's clock is ahead by that
	lease leaseService
	now   func() time.Time
}

// Open finds the engine, agrees on a version of its API and asks it who it is.
// An engine that can not be talked with is ErrAway.
func Open(ctx context.Context, opts Options) (*Engine, error) {
	at, api, err := choose(opts)
	if err != nil {
		return nil, err
	}
	e := &Engine{api: api, local: strings.HasPrefix(at.host, "unix://"), now: time.Now}
	e.what.Host = at.host
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	if err := e.meet(ctx); err != nil {
		_ = api.Close()
		return nil, fmt.Errorf("docker engine %s: %w: %w", at.host, ErrAway, advise(at.host, err))
	}
	return e, nil
}

// Check is why no engine can be chosen, whether one answers or not: a mistake
// in the options or in what they lead to.
func Check(opts Options) error {
	_, api, err := choose(opts)
	if err != nil {
		return err
	}
	return api.Close()
}

func choose(opts Options) (endpoint, *client.Client, error) {
	if opts.Env == nil {
		opts.Env = func(string) (string, bool) { return "", false }
	}
	at, err := find(opts)
	if err != nil {
		return endpoint{}, nil, err
	}
	api, err := newClient(at, opts)
	if err != nil {
		return endpoint{}, nil, fmt.Errorf("docker engine %s: %w", at.host, err)
	}
	return at, api, nil
}

// advise says of a socket that can not be reached what to do.
func advise(host string, err error) error {
	path, ok := strings.CutPrefix(host, "unix://")
	if !ok || !client.IsErrConnectionFailed(err) {
		return err
	}
	conn, dialled := net.DialTimeout("unix", path, time.Second)
	if dialled == nil {
		return errors.Join(err, conn.Close())
	}
	switch {
	case errors.Is(dialled, syscall.EACCES):
		return fmt.Errorf("%w: use sudo, or join the group docker", syscall.EACCES)
	case errors.Is(dialled, syscall.ENOENT):
		return fmt.Errorf("%w: is Docker running? Else name its address with -H or DOCKER_HOST", syscall.ENOENT)
	case errors.Is(dialled, syscall.ECONNREFUSED):
		return fmt.Errorf("%w: is Docker running?", syscall.ECONNREFUSED)
	}
	return err
}

// Close closes the connections.
func (e *Engine) Close() error { return e.api.Close() }

// Engine is who answered when it was opened.
func (e *Engine) Engine() engine.Engine { return e.what }

func newClient(at endpoint, opts Options) (*client.Client, error) {
	transport := &http.Transport{TLSClientConfig: at.tls, MaxIdleConnsPerHost: inspects, IdleConnTimeout: time.Minute}
	scheme := "http"
	if at.tls != nil {
		scheme = "https"
	}
	with := []client.Opt{
		client.WithScheme(scheme), // left to itself it takes any transport with a TLS configuration for https
		client.WithHTTPClient(&http.Client{Transport: transport, CheckRedirect: noRedirect}),
		client.WithHost(at.host),
		client.WithUserAgent("ebb-host"),
		client.WithHTTPResponseHook(tellOpened),
	}
	if opts.Meter != nil {
		with = append(with, client.WithHTTPRequestHook(func(r *http.Request) error {
			opts.Meter(r.Method, r.URL.Path)
			return nil
		}))
	}
	if v, _ := opts.Env("DOCKER_API_VERSION"); v != "" {
		if err := tooOld(v); err != nil {
			return nil, fmt.Errorf("DOCKER_API_VERSION: %w", err)
		}
		with = append(with, client.WithAPIVersion(v))
	}
	return client.New(with...)
}

func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// incomplete makes an error of a view one that forbids to delete.
func incomplete(format string, a ...any) error {
	return fmt.Errorf("%w: %w", ErrIncomplete, fmt.Errorf(format, a...))
}

// The words of engines for what they do not have, in one line: Docker begins with
// them, podman ends with them.
var (
	noImage     = regexp.MustCompile(`(?i)^error response from daemon: (no such image: .*|.*: (no such image|image not known))$`)
	noContainer = regexp.MustCompile(`(?i)^error response from daemon: (no such container: .*|.*: no such container)$`)
)

// notFound tells whether the engine itself said that it has no such image or
// container. Any proxy can answer 404, and an engine does for a path that it
// does not know.
func notFound(err error, words *regexp.Regexp) bool {
	return errdefs.IsNotFound(err) && words.MatchString(err.Error())
}
