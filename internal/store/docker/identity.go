package docker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/moby/moby/api/types/system"
	"github.com/moby/moby/client"
	"github.com/moby/moby/client/pkg/versions"

	"github.com/ebb-io/ebb/internal/engine"
)

// snapshotter is how an engine says that containerd keeps its images.
const snapshotter = "io.containerd.snapshotter.v1"

// meet agrees on a version and asks the engine who it is.
func (e *Engine) meet(ctx context.Context) error {
	ping, err := e.api.Ping(ctx, client.PingOptions{NegotiateAPIVersion: true})
	if ping.APIVersion != "" {
		if old := tooOld(ping.APIVersion); old != nil {
			return old
		}
	}
	if err != nil {
		return err
	}
	version, err := e.api.ServerVersion(ctx, client.ServerVersionOptions{})
	if err != nil {
		return wrongVersion(e.api.ClientVersion(), err)
	}
	e.what.Version, e.what.API = version.Version, e.api.ClientVersion()
	first, err := e.info(ctx)
	if err != nil {
		return err
	}
	e.skew = clockSkew(first, e.now())
	second, err := e.info(ctx)
	if err != nil {
		return err
	}
	e.what = identify(e.what, second)
	if first.ID != second.ID {
		e.what.ID = hostID(second) // podman invents one for each answer
	}
	e.lease = leasesOf(second, e.local, e.what)
	return nil
}

// info asks for the engine's description. One that names no data folder is not
// an engine's.
func (e *Engine) info(ctx context.Context) (system.Info, error) {
	got, err := e.api.Info(ctx, client.InfoOptions{})
	if err != nil {
		return system.Info{}, fmt.Errorf("info: %w", err)
	}
	if got.Info.DockerRootDir == "" || got.Info.Name == "" || got.Info.Driver == "" {
		return system.Info{}, errors.New("info: the answer names no host, driver or data folder")
	}
	return got.Info, nil
}

// identify completes an engine's description. What it was called when it was
// opened stays.
func identify(e engine.Engine, info system.Info) engine.Engine {
	e.ID, e.Name = info.ID, info.Name
	e.Driver, e.Root = info.Driver, info.DockerRootDir
	e.Store = engine.GraphDriver
	if slices.Contains(info.DriverStatus, [2]string{"driver-type", snapshotter}) {
		e.Store = engine.Containerd
	}
	e.Manager = info.Swarm.ControlAvailable
	if e.ID == "" {
		e.ID = hostID(info)
	}
	return e
}

// hostID is an engine's ID where it has none that lasts.
func hostID(info system.Info) string { return info.Name + ":" + info.DockerRootDir }

// again asks who answers now. Another engine, or another image store, than the
// one that was opened makes what is remembered and locked another's.
func (e *Engine) again(ctx context.Context) (engine.Engine, error) {
	info, err := e.info(ctx)
	if err != nil {
		return engine.Engine{}, err
	}
	now := identify(e.what, info)
	if e.what.ID == hostID(info) {
		now.ID = e.what.ID
	}
	if now.Key() != e.what.Key() {
		return engine.Engine{}, fmt.Errorf("another engine or image store answers than before: %s, not %s", now.Key(), e.what.Key())
	}
	return now, nil
}

// clockSkew is by how much the engine's clock is ahead.
func clockSkew(info system.Info, now time.Time) time.Duration {
	at, err := time.Parse(time.RFC3339Nano, info.SystemTime)
	if err != nil {
		return 0
	}
	// Within a second it is the answer's way, and no skew.
	if skew := at.Sub(now); skew.Abs() > time.Second {
		return skew
	}
	return 0
}

func tooOld(version string) error {
	if versions.LessThan(version, client.MinAPIVersion) {
		return fmt.Errorf("the API %s is too old: upgrade the engine to one with API %s (Docker 19.03) or newer", version, client.MinAPIVersion)
	}
	return nil
}

// wrongVersion says which side to upgrade when the engine refuses our version
// of the API.
func wrongVersion(ours string, err error) error {
	switch text := err.Error(); {
	case strings.Contains(text, "is too old"):
		return fmt.Errorf("the engine is too new for API %s: upgrade ebb-host, or lift DOCKER_API_VERSION: %w", ours, err)
	case strings.Contains(text, "is too new"):
		return fmt.Errorf("the engine is too old for API %s: upgrade the engine, or lower DOCKER_API_VERSION: %w", ours, err)
	}
	return fmt.Errorf("version: %w", err)
}
