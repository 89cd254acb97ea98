package trial

import (
	"testing"

	"github.com/ebb-io/ebb/internal/demo/server"
	"github.com/ebb-io/ebb/internal/demo/server/client"
)

// Serve starts a real registry on a folder until the test ends.
func Serve(t testing.TB, dir string) client.Client {
	t.Helper()
	s, err := server.Start(t.Context(), dir, server.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return client.Client{Host: s.Addr()}
}

// Pullable finds which of the images a real registry on the folder serves
// whole. False stands for one that lacks only children of a sparse index.
func Pullable(t testing.TB, dir string, refs []Ref) map[Ref]bool {
	t.Helper()
	s, err := server.Start(t.Context(), dir, server.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	found := map[Ref]bool{}
	for _, ref := range refs {
		c := client.Client{Host: s.Addr()}
		if c.PullWhole(t.Context(), ref.Repository, ref.Name) == nil {
			found[ref] = true
			continue
		}
		c.Sparse = true
		if c.PullWhole(t.Context(), ref.Repository, ref.Name) == nil {
			found[ref] = false
		}
	}
	return found
}
