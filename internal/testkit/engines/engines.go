// Package engines starts real Docker engines for tests, each on a socket and
// folders of its own: Debian's of 2022 with a graph driver, and today's with
// the containerd image store.
//
// It refuses to touch an engine that it did not start, and to pretend: where an
// engine can't be started a test is skipped with a word on what is missing, and
// on continuous integration it fails. An engine runs in namespaces of its own,
// so that mounts and processes go with it, however the test ends.
package engines

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/moby/moby/client"

	"github.com/ebb-io/ebb/internal/engine"
)

// started is how long an engine may take to answer on a machine that is busy.
const started = 2 * time.Minute

// API is what tests do with any engine, real or not.
type API struct {
	Kind   engine.StoreKind
	Client *client.Client // speaks the newest API that both know
}

// Engine is a Docker engine that runs until the test ends.
type Engine struct {
	API

	Socket     string // path of the API's Unix socket
	Containerd string // path of the socket of the engine's own containerd
	Root       string // the data folder

	dir     string
	program string
	runc    string // empty: as the engine finds it
	process *process
}

// Host is the engine's address as Docker's clients write it.
func (e *Engine) Host() string { return "unix://" + e.Socket }

// StartNew runs today's engine with the containerd image store. The first call
// on a machine builds it, which takes two minutes or so.
func StartNew(t testing.TB) *Engine {
	t.Helper()
	return Start(t, engine.Containerd)
}

// StartNewGraph runs today's engine with a graph driver, as one is that was
// upgraded from an older one.
func StartNewGraph(t testing.TB) *Engine {
	t.Helper()
	return start(t, os.TempDir(), today(t, engine.GraphDriver))
}

// Start runs the engine that has this kind of image store.
func Start(t testing.TB, kind engine.StoreKind) *Engine {
	t.Helper()
	return StartIn(t, os.TempDir(), kind)
}

// StartIn runs an engine with its folders in this one, such as OwnDisk.
func StartIn(t testing.TB, parent string, kind engine.StoreKind) *Engine {
	t.Helper()
	if kind == engine.Containerd {
		return start(t, parent, today(t, kind))
	}
	need(t, "dockerd", "containerd", "runc")
	return start(t, parent, &Engine{API: API{Kind: kind}, program: "dockerd"})
}

func today(t testing.TB, kind engine.StoreKind) *Engine {
	t.Helper()
	need(t, "containerd", "gcc")
	return &Engine{
		API:     API{Kind: kind},
		program: build(t, "dockerd", "CGO_ENABLED=0", "GOFLAGS=-tags=exclude_graphdriver_btrfs"),
		runc:    build(t, "runc", "CGO_ENABLED=1"),
	}
}

// StartPodman runs Podman with Docker's API, whose image store is as a graph
// driver.
func StartPodman(t testing.TB) *Engine {
	t.Helper()
	need(t, "podman", "runc")
	return start(t, os.TempDir(), &Engine{API: API{Kind: engine.GraphDriver}, program: podman})
}

const podman = "podman"

// Each runs a test on one engine after another, as subtests named by the kind
// of image store.
func Each(t *testing.T, test func(*testing.T, *Engine)) {
	t.Helper()
	for _, kind := range []engine.StoreKind{engine.GraphDriver, engine.Containerd} {
		t.Run(string(kind), func(t *testing.T) { test(t, Start(t, kind)) })
	}
}

func start(t testing.TB, parent string, e *Engine) *Engine {
	t.Helper()
	// A socket's path has 107 bytes at most: t.TempDir may be longer.
	dir, err := os.MkdirTemp(parent, "ebb")
	if err != nil {
		t.Fatal(err)
	}
	e.dir, e.Root = dir, filepath.Join(dir, "root")
	e.Socket = filepath.Join(dir, "docker.sock")
	e.Containerd = filepath.Join(dir, "exec", "containerd", "containerd.sock")
	if e.Client, err = client.New(client.WithHost(e.Host())); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.end(t) })
	e.run(t)
	return e
}

// Restart ends the engine and starts it again on the same data. What ran in
// containers does not run afterwards.
func (e *Engine) Restart(t testing.TB) {
	t.Helper()
	e.process.stop()
	e.run(t)
}

// Kill ends the engine without a warning, as a power cut would; Restart starts
// it again.
func (e *Engine) Kill() { e.process.kill() }

func (e *Engine) run(t testing.TB) {
	t.Helper()
	if err := errors.Join(e.forget(), e.settings()); err != nil {
		t.Fatal(err)
	}
	e.process = newProcess(e.dir, e.arguments())
	if err := e.process.start(); err != nil {
		t.Fatalf("%s: %v", e.program, err)
	}
	if err := e.answers(); err != nil {
		t.Fatalf("%s: %v: it said:\n%s", e.program, err, e.process.log.String())
	}
	if err := e.check(); err != nil {
		t.Fatalf("%s: %v", e.program, err)
	}
}

// forget removes what a machine's start removes too: the process numbers in it
// mean others now, and the engine would take itself for another that runs.
func (e *Engine) forget() error {
	return errors.Join(os.RemoveAll(filepath.Join(e.dir, "exec")), os.RemoveAll(filepath.Join(e.dir, "pid")))
}

// settings are empty, so that the machine's own are not read.
func (e *Engine) settings() error {
	return os.WriteFile(filepath.Join(e.dir, "daemon.json"), []byte(e.features()), 0o600)
}

func (e *Engine) features() string {
	switch {
	case e.Kind == engine.Containerd:
		return `{"features": {"containerd-snapshotter": true}}`
	case e.runc != "":
		return `{"features": {"containerd-snapshotter": false}, "storage-driver": "overlay2"}`
	}
	return "{}"
}

func (e *Engine) arguments() []string {
	if e.program == podman {
		return []string{
			podman, "--root", e.Root, "--runroot", filepath.Join(e.dir, "exec"), "--tmpdir", filepath.Join(e.dir, "tmp"),
			"--cgroup-manager", "cgroupfs", "--events-backend", "file", "--runtime", "runc",
			"system", "service", "--time", "0", e.Host(),
		}
	}
	args := []string{
		e.program,
		"--config-file", filepath.Join(e.dir, "daemon.json"),
		"--host", e.Host(),
		"--data-root", e.Root,
		"--exec-root", filepath.Join(e.dir, "exec"),
		"--pidfile", filepath.Join(e.dir, "pid"),
		"--exec-opt", "native.cgroupdriver=cgroupfs",
		"--bridge=none", "--iptables=false", "--ip6tables=false", "--ip-forward=false", "--userland-proxy=false",
	}
	if e.runc != "" {
		args = append(args, "--add-runtime", "ours="+e.runc, "--default-runtime", "ours")
	}
	return args
}

func (e *Engine) answers() error {
	for deadline := time.Now().Add(started); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if e.process.gone() {
			return errors.New("it ended at once")
		}
		if _, err := e.Client.Ping(context.Background(), client.PingOptions{NegotiateAPIVersion: true}); err == nil {
			return nil
		}
	}
	return fmt.Errorf("no answer within %s", started)
}

// check makes sure that it is the image store that was asked for.
func (e *Engine) check() error {
	info, err := e.Client.Info(context.Background(), client.InfoOptions{})
	if err != nil {
		return err
	}
	kind := engine.GraphDriver
	for _, pair := range info.Info.DriverStatus {
		if pair[0] == "driver-type" && pair[1] == "io.containerd.snapshotter.v1" {
			kind = engine.Containerd
		}
	}
	if kind != e.Kind {
		return fmt.Errorf("its image store is %s (%s), not %s", kind, info.Info.Driver, e.Kind)
	}
	return nil
}

// end stops the engine, removes its folders and makes sure that nothing is left.
func (e *Engine) end(t testing.TB) {
	t.Helper()
	_ = e.Client.Close()
	if e.process != nil {
		e.process.stop()
		if t.Failed() {
			t.Logf("%s said:\n%s", e.program, e.process.log.String())
		}
	}
	if left := mounted(t, e.dir); len(left) > 0 {
		t.Errorf("%s left mounts: %s", e.program, strings.Join(left, ", "))
		for _, at := range left {
			_ = syscall.Unmount(at, 0) // else the folder can't be removed, nor what it shows be spared
		}
		return
	}
	if err := os.RemoveAll(e.dir); err != nil {
		t.Errorf("remove what %s left: %v", e.program, err)
	}
}
