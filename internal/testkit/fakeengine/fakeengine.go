// Package fakeengine is a Docker engine for tests: HTTP on a unix socket, so
// that the real client and all of Ebb speak to it as to any other. It answers
// as engines with a graph driver and with a containerd store were seen to, each
// with its own rules for names, IDs and refusals, fails as it is asked to, and
// counts what it was asked.
//
// It does not pretend to hold contents, to run containers, to pull from
// anywhere, or to build. Force, prune and parents are not carried out but
// written down as violations: nothing of Ebb may ask for them. An image has one
// platform, and filters are those of images by reference and of events by type
// and action.
package fakeengine

import (
	"cmp"
	"context"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/ebb-io/ebb/internal/engine"
)

// Options are what an engine is; the zero value is today's with a graph driver.
type Options struct {
	Store   engine.StoreKind
	ID      string
	Name    string
	Version string
	API     string // the highest version; 1.56 when empty
	MinAPI  string // the lowest version; 1.40 when empty
	Root    string // DockerRootDir; a folder of its own, with its ID in it, when empty
	Manager bool   // of a Swarm
	// Podman answers in podman's forms: IDs without sha256:, null for no names,
	// its words for what is not there, and a Podman component in /version.
	Podman bool
	Now    func() time.Time
}

// TB is what the fake needs of a test; testing.T and rapid.T are such.
type TB interface {
	Helper()
	Cleanup(func())
	Fatalf(string, ...any)
	Errorf(string, ...any)
}

// Engine is a running fake. All its methods may be called at any time, also
// from its own hooks.
type Engine struct {
	mu         sync.Mutex
	opts       Options
	images     map[string]*held // by ID
	refs       map[string]string
	containers []*Container
	services   []Service
	pulls      []lease
	events     ring
	log        log
	socket     string
	leases     string
	order      uint64 // of lists; 0 is by ID
}

// Start starts an engine and ends it with the test, which fails if the engine
// was asked for what Ebb must never ask.
func Start(t TB, opts Options) *Engine {
	t.Helper()
	dir, err := os.MkdirTemp("", "engine")
	if err != nil {
		t.Fatalf("fake engine: %v", err)
	}
	opts = opts.filled()
	if opts.Root == "" {
		opts.Root = dir // as a real one, with the engine's ID in it
		if err := os.WriteFile(filepath.Join(dir, "engine-id"), []byte(opts.ID), 0o600); err != nil {
			t.Fatalf("fake engine: %v", err)
		}
	}
	e := &Engine{
		opts: opts, images: map[string]*held{}, refs: map[string]string{},
		socket: filepath.Join(dir, "docker.sock"), leases: filepath.Join(dir, "containerd.sock"),
	}
	e.events.watchers = map[chan message]struct{}{}
	stop := e.serve(t, e.socket, http.HandlerFunc(e.answer))
	stopLeases := e.serve(t, e.leases, http.HandlerFunc(e.answerLeases))
	t.Cleanup(func() {
		stop()
		stopLeases()
		_ = os.RemoveAll(dir)
		for _, v := range e.Violations() {
			t.Errorf("the engine was asked for what must never be asked: %s", v)
		}
	})
	return e
}

func (o Options) filled() Options {
	o.Store = cmp.Or(o.Store, engine.GraphDriver)
	o.ID = cmp.Or(o.ID, "FAKE:ENGINE")
	o.Name = cmp.Or(o.Name, "fake")
	o.Version = cmp.Or(o.Version, "29.0.0")
	o.API = cmp.Or(o.API, "1.56")
	o.MinAPI = cmp.Or(o.MinAPI, "1.40")
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

// serve listens on a socket until stop is called, which waits for nobody.
func (e *Engine) serve(t TB, socket string, h http.Handler) (stop func()) {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "unix", socket)
	if err != nil {
		t.Fatalf("fake engine: %v", err)
	}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	s := &http.Server{Handler: h, Protocols: protocols, ReadHeaderTimeout: time.Minute}
	go func() { _ = s.Serve(l) }()
	return func() { _ = s.Close() }
}

// Host is the engine's address, such as unix:///tmp/engine1/docker.sock.
func (e *Engine) Host() string { return "unix://" + e.socket }

// Leases is the path of containerd's socket.
func (e *Engine) Leases() string { return e.leases }
