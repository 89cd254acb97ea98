package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/ebb-io/ebb/internal/testkit/objects"
)

// contender makes the command that one of those compared runs on a registry.
type contender struct {
	name  string
	check func(ctx context.Context, root string) (*exec.Cmd, error) // reads only
	run   func(ctx context.Context, root string) (*exec.Cmd, error) // deletes

	bucket bucketCommands
}

// bucketCommands are what a contender runs on a bucket; nil is what it can not.
type bucketCommands struct {
	check bucketCommand // reads only, and knows nothing yet
	again bucketCommand // reads only, and may use what it left on this machine the last time
	run   bucketCommand // deletes
}

type bucketCommand func(ctx context.Context, bucket objects.Bucket) (*exec.Cmd, error)

// contenders builds what must be built into dir and returns those asked for, in the order in which they take turns.
func contenders(ctx context.Context, names, dir string) ([]contender, error) {
	makers := []struct {
		name string
		make func(ctx context.Context, dir string) (contender, error)
	}{{"stock", newStock}, {"ebb", newEbb}, {"bare", newBare}}
	var all []contender
	for _, m := range makers {
		if !chosen(names, m.name) {
			continue
		}
		c, err := m.make(ctx, dir)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", m.name, err)
		}
		all = append(all, c)
	}
	return all, nil
}

func newStock(ctx context.Context, dir string) (contender, error) {
	program := filepath.Join(dir, "registry")
	err := goBuild(ctx, "tools/registry", program, "github.com/distribution/distribution/v3/cmd/registry")
	collect := func(flags ...string) func(context.Context, string) (*exec.Cmd, error) {
		return func(ctx context.Context, root string) (*exec.Cmd, error) {
			config, err := stockConfig(root)
			args := append([]string{"garbage-collect", "--delete-untagged"}, flags...)
			return exec.CommandContext(ctx, program, append(args, config)...), err
		}
	}
	return contender{
		name: "stock", check: collect("--dry-run"), run: collect(), bucket: stockOnBuckets(program, dir),
	}, err
}

// stockConfig writes the registry's configuration beside its folder.
func stockConfig(root string) (string, error) {
	path := root + ".yml"
	config := fmt.Sprintf("version: 0.1\nstorage: {filesystem: {rootdirectory: %q}}\n", root)
	return path, os.WriteFile(path, []byte(config), 0o600)
}

func newEbb(ctx context.Context, dir string) (contender, error) {
	program := filepath.Join(dir, "ebb")
	err := goBuild(ctx, ".", program, "./cmd/ebb")
	registry := func(verb string, flags ...string) func(context.Context, string) (*exec.Cmd, error) {
		return func(ctx context.Context, root string) (*exec.Cmd, error) {
			args := append([]string{"registry", verb, "--storage", root, "--delete-untagged"}, flags...)
			return exec.CommandContext(ctx, program, args...), nil
		}
	}
	return contender{
		name:  "ebb",
		check: registry("check"),
		run:   registry("run", "--offline", "--yes", "--max-delete-share", "100%"),

		bucket: ebbOnBuckets(program, filepath.Join(dir, "manifests")),
	}, err
}

func newBare(context.Context, string) (contender, error) {
	return contender{
		name:  "bare",
		check: func(ctx context.Context, root string) (*exec.Cmd, error) { return self(ctx, "walk", root) },
		run:   func(ctx context.Context, root string) (*exec.Cmd, error) { return self(ctx, "reclaim", root) },
	}, nil
}

// goBuild builds a package in a folder of this repository, as both are released: without cgo and symbols.
func goBuild(ctx context.Context, folder, output, pkg string) error {
	top, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return fmt.Errorf("find the top of the repository: %w", err)
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-buildvcs=false", "-trimpath", "-ldflags", "-s -w", "-o", output, pkg)
	cmd.Dir = filepath.Join(strings.TrimSpace(string(top)), folder)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w: %s", pkg, err, tail(string(out)))
	}
	return nil
}
