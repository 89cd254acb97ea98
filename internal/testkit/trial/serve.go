package trial

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/ebb-io/ebb/internal/demo/server"
	"github.com/ebb-io/ebb/internal/demo/server/client"
)

// Serve starts a real registry on a folder until the test ends.
func Serve(t testing.TB, dir string) client.Client {
	t.Helper()
	s := start(t, dir)
	t.Cleanup(func() { _ = s.Close() })
	return client.Client{Host: s.Addr()}
}

func start(t testing.TB, dir string) *server.Server {
	t.Helper()
	s, err := server.Start(t.Context(), dir, server.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Pullable finds which of the images a real registry on the folder serves
// whole. False stands for one that lacks only children of a sparse index. No
// bytes go over a connection, which is what takes the time.
func Pullable(t testing.TB, dir string, refs []Ref) map[Ref]bool {
	t.Helper()
	s := start(t, dir)
	defer func() { _ = s.Close() }()
	strict := client.Client{Host: s.Addr(), HTTP: &http.Client{Transport: direct{s.Handler()}}}
	sparse := strict
	sparse.Sparse = true
	found := map[Ref]bool{}
	for _, ref := range refs {
		if strict.PullWhole(t.Context(), ref.Repository, ref.Name) == nil {
			found[ref] = true
		} else if sparse.PullWhole(t.Context(), ref.Repository, ref.Name) == nil {
			found[ref] = false
		}
	}
	return found
}

// direct hands requests to a handler.
type direct struct{ http.Handler }

func (d direct) RoundTrip(request *http.Request) (*http.Response, error) {
	recorder := httptest.NewRecorder()
	d.ServeHTTP(recorder, request)
	return recorder.Result(), nil
}
