package cli_test

import (
	"slices"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/ebb-io/ebb/internal/engine"
	"github.com/ebb-io/ebb/internal/testkit/fakeengine"
)

// scriptTB lets a script start what wants a test.
type scriptTB struct{ *testscript.TestScript }

func (scriptTB) Helper()                               {}
func (s scriptTB) Cleanup(f func())                    { s.Defer(f) }
func (s scriptTB) Errorf(format string, values ...any) { s.Fatalf(format, values...) }

// fakeEngine starts a Docker engine, which lives as long as the script:
// engine graphdriver|containerd. DOCKER_HOST leads to it.
//
// It is a box whose traefik and cloudflared were updated for years, beside an
// image of its own and a database that nobody pins.
func fakeEngine(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 1 || !slices.Contains([]string{"graphdriver", "containerd"}, args[0]) {
		ts.Fatalf("usage: engine graphdriver|containerd")
	}
	e := fakeengine.Start(scriptTB{ts}, fakeengine.Options{
		Store: engine.StoreKind(args[0]), ID: "TEST:BOX", Name: "box-7", Now: func() time.Time { return now.AddDate(0, -1, 0) },
	})
	for _, name := range []string{
		"traefik:v2.10.7", "traefik:v2.11.0", "traefik:v3.0.4", "traefik:v3.1.0", "traefik:v3.1.2", "traefik:v3.2.0",
		"cloudflare/cloudflared:2024.4.0", "cloudflare/cloudflared:2024.6.1", "cloudflare/cloudflared:2024.8.3", "cloudflare/cloudflared:2024.9.1",
		"postgres:16",
	} {
		e.Pull(name, fakeengine.Made(name))
	}
	e.Import("traefik:v2.9.0", fakeengine.Made("local"))
	e.AddContainer(fakeengine.Container{Name: "proxy", From: "traefik:v3.1.2"})
	e.AddContainer(fakeengine.Container{Name: "tunnel", From: "cloudflare/cloudflared:2024.9.1"})
	e.AddContainer(fakeengine.Container{Name: "old-tunnel", From: "cloudflare/cloudflared:2024.6.1", State: "exited"})
	ts.Setenv("DOCKER_HOST", e.Host())
}
