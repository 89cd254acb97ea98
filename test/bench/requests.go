package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/ebb-io/ebb/internal/testkit/objects"
	"github.com/ebb-io/ebb/test/bench/fixture"
)

// tally is what a contender's check asked of a bucket.
type tally struct {
	shape  fixture.Shape
	name   string
	asked  report
	sample sample
}

// onObjects is the shape of a fixture in a bucket: a quarter is garbage.
func onObjects(repositories, images int) fixture.Shape {
	return fixture.Shape{Repositories: repositories, Images: images, Layers: layers, Untagged: 4}
}

// tallies counts the requests of every contender that can read a bucket. They do not change from one time to the next.
func (b bench) tallies(ctx context.Context) ([]tally, error) {
	var all []tally
	for _, shape := range []fixture.Shape{onObjects(10, 40), onObjects(1, 400)} {
		for _, c := range b.contenders {
			if c.bucket == nil {
				continue
			}
			t, err := b.tally(ctx, shape, c)
			if err != nil {
				return nil, fmt.Errorf("%s on a bucket of %s: %w", c.name, describeShape(shape), err)
			}
			all = append(all, t)
		}
	}
	return all, nil
}

func (b bench) tally(ctx context.Context, shape fixture.Shape, c contender) (t tally, err error) {
	server, err := serveBucket(ctx, order{Shape: shape, Now: b.now})
	if err != nil {
		return t, err
	}
	t = tally{shape: shape, name: c.name}
	cmd, err := c.bucket(ctx, server.Bucket)
	if err == nil {
		t.sample, err = timed(cmd)
	}
	var stopped error
	t.asked, stopped = server.stop()
	return t, errors.Join(err, stopped)
}

// stockOnBucket is the command of the stock collector, with its configuration in dir.
func stockOnBucket(program, dir string) func(context.Context, objects.Bucket) (*exec.Cmd, error) {
	return func(ctx context.Context, bucket objects.Bucket) (*exec.Cmd, error) {
		config := map[string]any{"version": "0.1", "storage": map[string]any{"s3": bucket.Parameters("")}}
		raw, err := json.Marshal(config) // which is YAML too
		if err != nil {
			return nil, err
		}
		path := filepath.Join(dir, "bucket.yml")
		if err := os.WriteFile(path, raw, 0o600); err != nil {
			return nil, err
		}
		return exec.CommandContext(ctx, program, "garbage-collect", "--dry-run", "--delete-untagged", path), nil
	}
}

// renderTallies makes the table of requests, or nothing.
func renderTallies(all []tally) string {
	if len(all) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("\n| fixture in a bucket | command | contender | requests | LIST | GET | HEAD | in flight at most | time |\n")
	b.WriteString("|---|---|---|---:|---:|---:|---:|---:|---:|\n")
	for _, t := range all {
		n := t.asked.Counts
		fmt.Fprintf(&b, "| %s | check | %s | %d | %d | %d | %d | %d | %s |\n", describeShape(t.shape), t.name,
			t.asked.requests(), n[objects.List], n[objects.Get], n[objects.Head], t.asked.InFlight, seconds(t.sample.wall))
	}
	return b.String()
}
