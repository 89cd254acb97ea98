package cli_test

import (
	"crypto/rand"
	"net/http"
	"os"
	"slices"
	"strings"
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

// engineKey is where a script keeps its engine.
type engineKey struct{}

// fakeEngine starts a Docker engine, which lives as long as the script:
// engine graphdriver|containerd. DOCKER_HOST leads to it.
//
// It is a box whose traefik and cloudflared were updated for years, beside an
// image of its own and a database that nobody pins.
func fakeEngine(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 1 || !slices.Contains([]string{"graphdriver", "containerd"}, args[0]) {
		ts.Fatalf("usage: engine graphdriver|containerd")
	}
	id := "TEST:" + rand.Text() // locks are by ID, and scripts run beside each other
	ts.Defer(func() { _ = os.Remove("/run/lock/ebb-" + strings.ReplaceAll(id, ":", "-") + ".lock") })
	started := time.Now()
	e := fakeengine.Start(scriptTB{ts}, fakeengine.Options{
		Store: engine.StoreKind(args[0]), ID: id, Name: "box-7", Now: func() time.Time { return now.AddDate(0, -1, 0).Add(time.Since(started)) },
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
	*ts.Value(engineKey{}).(**fakeengine.Engine) = e
}

// docker does with the script's engine what a person or a fault does:
// docker pull|rmi IMAGE, docker tag IMAGE NAME, docker run NAME IMAGE,
// docker refuse|break FULLNAME, docker hang [KIND OF CALL], docker heal,
// docker hide, which takes containerd's socket away.
func docker(ts *testscript.TestScript, _ bool, args []string) {
	e := *ts.Value(engineKey{}).(**fakeengine.Engine)
	switch verb := args[0]; verb {
	case "pull":
		e.Pull(args[1], fakeengine.Made(args[1]))
	case "rmi":
		ts.Check(e.Rmi(args[1]))
	case "tag":
		e.Tag(args[1], args[2])
	case "run":
		e.AddContainer(fakeengine.Container{Name: args[1], From: args[2]})
	case "refuse":
		e.Fail(onDelete(e, args[1], fakeengine.Fault{Status: http.StatusConflict, Message: "conflict: unable to delete it: a container is being made from it"}))
	case "break":
		e.Fail(onDelete(e, args[1], fakeengine.Fault{Status: http.StatusInternalServerError, Message: "input/output error"}))
	case "hang":
		kind := fakeengine.Kind(strings.Join(args[1:], " "))
		e.Fail(func(c fakeengine.Call) *fakeengine.Fault {
			if kind != "" && c.Kind != kind {
				return nil
			}
			return &fakeengine.Fault{Hang: make(chan struct{})}
		})
	case "hide":
		ts.Check(os.Remove(e.Leases()))
	case "heal":
		e.Fail(nil)
	default:
		ts.Fatalf("docker: there is no %s", verb)
	}
}

// onDelete is a fault that the deletion of one image meets, by its full name or
// by its ID.
func onDelete(e *fakeengine.Engine, image string, fault fakeengine.Fault) func(fakeengine.Call) *fakeengine.Fault {
	return func(c fakeengine.Call) *fakeengine.Fault {
		if c.Kind != fakeengine.DeleteImage || c.Target != image && !slices.Contains(e.Held()[c.Target], image) {
			return nil
		}
		return &fault
	}
}
