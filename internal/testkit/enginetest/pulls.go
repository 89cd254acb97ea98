package enginetest

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/moby/moby/client"

	"github.com/ebb-io/ebb/internal/engine"
)

// pulls are how an engine tells what was pulled from what was not.
func pulls() []fact {
	return []fact{
		{name: "the engine names its containerd from API 1.46 on", test: containerdNamed},
		{name: "a pull leaves a lease with a graph driver, until the image goes", test: pullLease},
		{name: "a containerd store knows where an image was pulled from, from API 1.53 on", test: identity, only: engine.Containerd},
	}
}

func containerdNamed(t *testing.T, l look) {
	info, err := l.Client.Info(t.Context(), client.InfoOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if l.before(46) {
		equal(t, "named", true, info.Info.Containerd == nil)
		return
	}
	equal(t, "the socket", l.Containerd, info.Info.Containerd.Address)
	equal(t, "the namespace", "moby", info.Info.Containerd.Namespaces.Containers)
}

func pullLease(t *testing.T, l look) {
	repository, _ := l.Pull(t, "pulls/lease:1", "lease", ByTag)
	id := l.id(t, repository+":1")
	imported := l.Import(t, "example.org/pulls/lease:1", "no lease")
	equal(t, "after a pull", !l.containerd(), l.leased(t, id))
	equal(t, "after an import", false, l.leased(t, imported))
	l.Restart(t)
	equal(t, "after a restart", !l.containerd(), l.leased(t, id))
	l.gone(t, id, id)
	equal(t, "after a removal", false, l.leased(t, id))
}

// leased tells whether the engine's containerd holds the lease of an image that
// was pulled. The answer's one message names leases in the clear.
func (l look) leased(t *testing.T, id string) bool {
	t.Helper()
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	transport := &http.Transport{Protocols: protocols, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", l.Containerd)
	}}
	defer transport.CloseIdleConnections()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost,
		"http://containerd/containerd.services.leases.v1.Leases/List", strings.NewReader("\x00\x00\x00\x00\x00"))
	if err != nil {
		t.Fatal(err)
	}
	r.Header = http.Header{"Content-Type": {"application/grpc"}, "Te": {"trailers"}, "Containerd-Namespace": {"moby"}}
	answer, err := transport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "status of the leases", "0", answer.Trailer.Get("Grpc-Status"))
	return strings.Contains(string(body), "moby-image-"+id)
}

func identity(t *testing.T, l look) {
	repository, _ := l.Pull(t, "pulls/identity:1", "identity", ByTag)
	l.tag(t, repository+":1", "example.org/pulls/identity:2")
	imported := l.Import(t, "example.org/pulls/identity:1", "no identity")
	equal(t, "of a pull, without the port", []string{"127.0.0.1/pulls/identity"}, l.origins(t, repository+":1"))
	equal(t, "of an import", []string(nil), l.origins(t, imported))
}

// origins are where the engine says that an image was pulled from.
func (l look) origins(t *testing.T, image string) []string {
	t.Helper()
	i, err := l.Client.ImageInspect(t.Context(), image)
	if err != nil {
		t.Fatal(err)
	}
	if i.Identity == nil {
		return nil
	}
	var origins []string
	for _, p := range i.Identity.Pull {
		origins = append(origins, p.Repository)
	}
	return origins
}
