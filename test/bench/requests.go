package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/ebb-io/ebb/internal/testkit/objects"
	"github.com/ebb-io/ebb/test/bench/fixture"
)

// errand is what contenders are sent to a bucket for.
type errand struct {
	title string // for the table
	of    func(bucketCommands) bucketCommand
	like  string // title of the stock collector's errand to compare with, where it has none of this title
	twice bool   // only the second time counts
}

func errands() (check, again, run errand) {
	check = errand{title: "check", of: func(c bucketCommands) bucketCommand { return c.check }}
	again = errand{title: "second check", of: func(c bucketCommands) bucketCommand { return c.again }, like: check.title, twice: true}
	run = errand{title: "run", of: func(c bucketCommands) bucketCommand { return c.run }}
	return check, again, run
}

// visit is one errand to one bucket.
type visit struct {
	shape   fixture.Shape
	latency time.Duration // of every request
	errand
}

// tally is what a contender's visits asked of a bucket, and how long they took.
type tally struct {
	visit
	name    string
	asked   requests // by the last one
	samples series
}

// onObjects is the shape of a fixture in a bucket: a quarter is garbage.
func onObjects(repositories, images int) fixture.Shape {
	return fixture.Shape{Repositories: repositories, Images: images, Layers: layers, Untagged: 4}
}

// bucketCase is one table.
type bucketCase struct {
	name   string // for -cases
	visits []visit
	reps   func(contender) int
	render func(all []tally, machine string) string
}

// farAway is how long a request to a store in another building takes, about.
const farAway = 20 * time.Millisecond

func bucketCases(o options) []bucketCase {
	check, again, run := errands()
	several, one := onObjects(10, 40), onObjects(1, 400)
	return []bucketCase{
		{
			"objects",
			[]visit{{several, 0, check}, {several, 0, again}, {several, 0, run}, {one, 0, check}, {one, 0, again}},
			func(contender) int { return 1 }, // counts do not change from one time to the next
			renderCounts,
		},
		{
			"latency",
			[]visit{{several, farAway, check}, {several, farAway, again}},
			func(c contender) int {
				if c.name == "stock" {
					return 1 // it takes six minutes
				}
				return o.reps
			},
			renderLatency,
		},
	}
}

// tallies sends every contender on each errand that it can do.
func (b bench) tallies(ctx context.Context, of bucketCase) ([]tally, error) {
	var all []tally
	for _, v := range of.visits {
		for _, c := range b.contenders {
			command := v.of(c.bucket)
			if command == nil {
				continue
			}
			t := tally{visit: v, name: c.name}
			for range of.reps(c) {
				if err := b.visit(ctx, &t, command); err != nil {
					return nil, fmt.Errorf("%s of %s on a bucket of %s: %w", v.title, c.name, describeShape(v.shape), err)
				}
			}
			all = append(all, t)
		}
	}
	return all, nil
}

// visit serves a bucket for one errand.
func (b bench) visit(ctx context.Context, t *tally, of bucketCommand) (err error) {
	server, err := serveBucket(ctx, order{Shape: t.shape, Now: b.now, Latency: t.latency})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.stop()) }()
	times := 1
	if t.twice {
		times = 2
	}
	var s sample
	for range times {
		cmd, err := of(ctx, server.Bucket)
		if err != nil {
			return err
		}
		if s, err = timed(cmd); err != nil {
			return err
		}
		if t.asked, err = server.asked(); err != nil {
			return err
		}
	}
	t.samples = append(t.samples, s)
	return nil
}

// stockOn is what the stock collector did for the errand of a tally, if it was measured.
func stockOn(all []tally, t tally) (stock tally, ok bool) {
	for _, title := range []string{t.title, cmp.Or(t.like, t.title)} {
		for _, other := range all {
			if other.name == "stock" && other.shape == t.shape && other.title == title {
				return other, true
			}
		}
	}
	return stock, false
}

// stockOnBuckets are the commands of the stock collector, with its configuration in dir. It remembers nothing.
func stockOnBuckets(program, dir string) bucketCommands {
	collect := func(flags ...string) bucketCommand {
		return func(ctx context.Context, bucket objects.Bucket) (*exec.Cmd, error) {
			config := map[string]any{"version": "0.1", "storage": map[string]any{"s3": bucket.Parameters("")}}
			raw, err := json.Marshal(config) // which is YAML too
			if err != nil {
				return nil, err
			}
			path := filepath.Join(dir, "bucket.yml")
			args := append([]string{"garbage-collect", "--delete-untagged"}, flags...)
			return exec.CommandContext(ctx, program, append(args, path)...), os.WriteFile(path, raw, 0o600)
		}
	}
	return bucketCommands{check: collect("--dry-run"), run: collect()}
}

// ebbOnBuckets are Ebb's commands, with the cache of manifests in the folder cache where they have one.
func ebbOnBuckets(program, cache string) bucketCommands {
	registry := func(verb string, flags ...string) bucketCommand {
		return func(ctx context.Context, bucket objects.Bucket) (*exec.Cmd, error) {
			args := append([]string{"registry", verb, "--storage", bucket.URL(""), "--delete-untagged"}, flags...)
			cmd := exec.CommandContext(ctx, program, args...)
			cmd.Env = append(os.Environ(), "AWS_ACCESS_KEY_ID="+bucket.AccessKey, "AWS_SECRET_ACCESS_KEY="+bucket.SecretKey)
			return cmd, nil
		}
	}
	return bucketCommands{
		check: registry("check", "--cache", "off"),
		again: registry("check", "--cache", cache),
		run:   registry("run", "--cache", "off", "--offline", "--yes", "--max-delete-share", "100%"),
	}
}
