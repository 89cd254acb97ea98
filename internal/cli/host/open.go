package host

import (
	"context"
	"os"
	"path/filepath"

	"github.com/ebb-io/ebb/internal/cli"
	"github.com/ebb-io/ebb/internal/store/docker"
	"github.com/ebb-io/ebb/internal/store/state"
)

// place is an engine with what Ebb remembers of it.
type place struct {
	engine *docker.Engine
	dir    *state.Dir
}

// open reaches the engine that is meant.
func (f *engineFlags) open(ctx context.Context, a *cli.App) (*place, error) {
	path, err := f.statePath(a)
	if err != nil {
		return nil, err
	}
	dir, err := state.Open(path)
	if err != nil {
		return nil, err
	}
	e, err := f.engine(ctx, a)
	if err != nil {
		return nil, err
	}
	return &place{e, dir}, nil
}

func (f *engineFlags) engine(ctx context.Context, a *cli.App) (*docker.Engine, error) {
	return docker.Open(ctx, f.options(a))
}

func (f *engineFlags) options(a *cli.App) docker.Options {
	home, _ := a.Env("HOME")
	return docker.Options{Host: f.host, Context: f.context, Env: a.Env, Home: home}
}

// check finds mistakes in them without asking any engine.
func (f *engineFlags) check(a *cli.App) error {
	if err := docker.Check(f.options(a)); err != nil {
		return &cli.UsageError{Err: err}
	}
	_, err := f.statePath(a)
	return err
}

// close ends the connections. There is nothing to lose with them.
func (p *place) close() { _ = p.engine.Close() }

// statePath is the folder that was asked for, or where such files belong.
func (f *engineFlags) statePath(a *cli.App) (string, error) {
	if f.state != "" {
		return filepath.Abs(f.state)
	}
	if os.Geteuid() == 0 {
		return "/var/lib/ebb", nil
	}
	if dir, _ := a.Env("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "ebb"), nil
	}
	if home, _ := a.Env("HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, ".local", "state", "ebb"), nil
	}
	return "", cli.Usagef("there is no home folder in which to remember what was seen: give --state DIR")
}
