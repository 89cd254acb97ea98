package engines

import (
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"github.com/moby/moby/client"
)

// Proxy puts a socket in front of the engine on which the calls that fail picks
// are answered with 500, as by an engine with a broken container, and returns
// the socket's path. While the engine is away there is no answer. The path of a call has the API's version in it, such as
// /v1.41/containers/json.
func (e *Engine) Proxy(t testing.TB, fail func(*http.Request) bool) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "ebb")
	if err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(dir, "proxy.sock")
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", e.Socket)
	}}
	behind := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: client.DummyHost})
	behind.Transport, behind.FlushInterval = transport, -1 // events are passed on as they come
	behind.ErrorLog = log.New(io.Discard, "", 0)
	behind.ErrorHandler = func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) }
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if fail(r) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = w.Write([]byte(`{"message":"this call fails in this test"}`))
			return
		}
		behind.ServeHTTP(w, r)
	})}
	go func() { _ = server.Serve(listener) }() // it ends by Close
	t.Cleanup(func() {
		_ = server.Close()
		transport.CloseIdleConnections()
		_ = os.RemoveAll(dir)
	})
	return socket
}
