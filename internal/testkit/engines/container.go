package engines

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/mount"
	"github.com/moby/moby/client"
)

// sleeper does nothing until it is told to end.
const sleeper = `package main

import (
	"os"
	"os/signal"
	"syscall"
)

func main() {
	end := make(chan os.Signal, 1)
	signal.Notify(end, syscall.SIGTERM)
	<-end
}
`

// ImportSleeper makes an image like Import, of which containers can run: they
// do nothing until they are stopped.
func (e API) ImportSleeper(t testing.TB, name, content string) string {
	t.Helper()
	return e.importTar(t, name, map[string]string{"content": content, "sleep": buildSleeper(t)})
}

// buildSleeper has the go command build a static program of two megabytes, which
// it caches.
func buildSleeper(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	source, program := filepath.Join(dir, "main.go"), filepath.Join(dir, "sleep")
	if err := os.WriteFile(source, []byte(sleeper), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", program, source)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build a program that sleeps: %v: %s", err, out)
	}
	data, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// Create makes a container of an image, without a network, and returns its ID.
// It can be started when its image is one of ImportSleeper.
func (e API) Create(t testing.TB, name, image string) string {
	t.Helper()
	return e.create(t, name, container.Config{Image: image}, nil)
}

// CreateLabelled makes a container like Create, with labels as compose gives
// them.
func (e API) CreateLabelled(t testing.TB, name, image string, labels map[string]string) string {
	t.Helper()
	return e.create(t, name, container.Config{Image: image, Labels: labels}, nil)
}

// CreateMounting makes a container like Create, with another image mounted into
// it, which engines can since API 1.48.
func (e API) CreateMounting(t testing.TB, name, image, mounted string) string {
	t.Helper()
	return e.create(t, name, container.Config{Image: image}, []mount.Mount{{Type: mount.TypeImage, Source: mounted, Target: "/mounted"}})
}

func (e API) create(t testing.TB, name string, config container.Config, mounts []mount.Mount) string {
	t.Helper()
	config.Cmd = []string{"/sleep"}
	made, err := e.Client.ContainerCreate(t.Context(), client.ContainerCreateOptions{
		Name:   name,
		Config: &config,
		HostConfig: &container.HostConfig{
			NetworkMode: "none",
			Mounts:      mounts,
			SecurityOpt: []string{"seccomp=unconfined"}, // our runc is built without it
		},
	})
	if err != nil {
		t.Fatalf("create a container of %s: %v", config.Image, err)
	}
	return made.ID
}

// Run makes a container and starts it.
func (e API) Run(t testing.TB, name, image string) string {
	t.Helper()
	id := e.Create(t, name, image)
	e.Start(t, id)
	return id
}

// Start starts a container by its name or ID.
func (e API) Start(t testing.TB, id string) {
	t.Helper()
	if _, err := e.Client.ContainerStart(t.Context(), id, client.ContainerStartOptions{}); err != nil {
		t.Fatalf("start container %s: %v", id, err)
	}
}

// Stop stops a container by its name or ID.
func (e API) Stop(t testing.TB, id string) {
	t.Helper()
	if _, err := e.Client.ContainerStop(t.Context(), id, client.ContainerStopOptions{}); err != nil {
		t.Fatalf("stop container %s: %v", id, err)
	}
}

// Remove removes a container, running or not, by its name or ID.
func (e API) Remove(t testing.TB, id string) {
	t.Helper()
	if _, err := e.Client.ContainerRemove(t.Context(), id, client.ContainerRemoveOptions{Force: true}); err != nil {
		t.Fatalf("remove container %s: %v", id, err)
	}
}
