// Package server runs a real distribution registry inside the process, on a
// loopback port and a folder, for the demo and for tests. Many can run at
// once: it uses none of the library's process-wide state (health checks,
// metrics, tracing, log level), but for the figures that one with Redis gives
// to expvar.
//
// It refuses everything that a registry for others would need: it has no TLS,
// no credentials and removes no uploads. The only storage that it knows of
// itself is a folder; a test may bring another driver.
package server

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/distribution/distribution/v3/configuration"
	"github.com/distribution/distribution/v3/registry/handlers"
	_ "github.com/distribution/distribution/v3/registry/storage/driver/filesystem" // the only storage it knows
)

// Options is how a registry behaves; the zero value takes pushes and refuses
// deletions, as the stock configuration does.
type Options struct {
	ReadOnly bool   // maintenance: pulls go on, all else answers 405
	Delete   bool   // tags and manifests can be deleted over the API
	Addr     string // host:port to listen on; 127.0.0.1 and a free port by default
	Redis    string // host:port of a Redis server in which it remembers what blobs there are
	Caches   string // address of another registry, of which this is a pull-through cache

	// Driver is the storage driver, "filesystem" by default, and Parameters is
	// what it is configured with. The program must have linked it in.
	Driver     string
	Parameters map[string]any
}

// Server is a registry that runs.
type Server struct {
	app      *handlers.App
	http     *http.Server
	listener net.Listener
	served   chan struct{}
	forget   func() bool

	busy   sync.RWMutex // held for reading by every request
	closed bool
}

// Start serves the registry whose storage is at dir, which need not exist,
// until Close is called or ctx ends. With another driver dir is only a name for
// errors.
func Start(ctx context.Context, dir string, options Options) (*Server, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", orDefault(options.Addr))
	if err != nil {
		return nil, fmt.Errorf("registry on %s: %w", dir, err)
	}
	s := &Server{listener: listener, served: make(chan struct{})}
	quiet := silence(ctx)
	if err := s.open(quiet, dir, options); err != nil {
		_ = listener.Close()
		return nil, fmt.Errorf("registry on %s: %w", dir, err)
	}
	s.http = &http.Server{
		Handler:           s.Handler(),
		BaseContext:       func(net.Listener) context.Context { return quiet },
		ReadHeaderTimeout: time.Minute,
		ErrorLog:          log.New(io.Discard, "", 0),
	}
	go s.serve()
	s.forget = context.AfterFunc(ctx, func() { _ = s.shut() })
	return s, nil
}

// Addr is the host and port that the registry listens on.
func (s *Server) Addr() string { return s.listener.Addr().String() }

// URL is the registry's address with its scheme.
func (s *Server) URL() string { return "http://" + s.Addr() }

// Handler serves the registry's requests without a connection. After Close it
// answers 503 and touches nothing.
func (s *Server) Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.busy.RLock()
		defer s.busy.RUnlock()
		if s.closed {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		s.app.ServeHTTP(w, r.WithContext(silence(r.Context())))
	})
}

// Close cuts every connection and returns when no request is under way, so
// that nothing is written to the folder any more. It may be called again.
func (s *Server) Close() error {
	s.forget()
	return s.shut()
}

func (s *Server) shut() error {
	err := s.http.Close()
	<-s.served
	s.busy.Lock()
	defer s.busy.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	if shutdown := s.app.Shutdown(); err == nil {
		err = shutdown
	}
	if err != nil {
		return fmt.Errorf("close registry at %s: %w", s.Addr(), err)
	}
	return nil
}

func (s *Server) serve() {
	defer close(s.served)
	_ = s.http.Serve(s.listener) // it ends by Close alone
}

// open makes the library's application, which panics on what it can't use.
func (s *Server) open(ctx context.Context, dir string, options Options) (err error) {
	defer func() {
		if reason := recover(); reason != nil {
			err = fmt.Errorf("start: %v", reason)
		}
	}()
	s.app = handlers.NewApp(ctx, configure(dir, options))
	return nil
}

func configure(dir string, options Options) *configuration.Configuration {
	driver, parameters := "filesystem", configuration.Parameters{"rootdirectory": dir}
	if options.Driver != "" {
		driver, parameters = options.Driver, options.Parameters
	}
	config := &configuration.Configuration{Storage: configuration.Storage{
		driver:     parameters,
		"delete":   {"enabled": options.Delete},
		"redirect": {"disable": true}, // blobs come from here, where they can be counted and cut
		"maintenance": {
			"uploadpurging": map[any]any{"enabled": false},
			"readonly":      map[any]any{"enabled": options.ReadOnly},
		},
	}}
	// What a parsed configuration has; with zeros any page is too large.
	config.Catalog.MaxEntries, config.Tags.MaxTags = 1000, 1000
	config.Proxy.RemoteURL = options.Caches
	if options.Redis != "" {
		config.Storage["cache"] = configuration.Parameters{"blobdescriptor": "redis"}
		config.Redis.Options.Addrs = []string{options.Redis}
	}
	config.HTTP.Secret = "a registry on a loopback port" // signs upload locations
	return config
}

func orDefault(addr string) string {
	if addr == "" {
		return "127.0.0.1:0"
	}
	return addr
}
