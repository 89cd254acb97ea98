package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/ebb-io/ebb/test/bench/fixture"
)

// round is one case: a fixture and what is done to it.
type round struct {
	name    string // for -cases
	title   string // for the table
	shape   fixture.Shape
	deletes bool // each measurement needs a fixture of its own
}

// result holds the measurements of one case by contender.
type result struct {
	round   round
	samples map[string]series
}

func rounds(o options) []round {
	wide := fixture.Shape{Repositories: o.repositories, Images: o.images, Layers: layers}
	single := fixture.Shape{Repositories: 1, Images: o.single, Layers: layers}
	all := []round{
		{name: "check", title: "check", shape: wide},
		{name: "single", title: "check", shape: single},
		{name: "run", title: "run", shape: wide, deletes: true},
	}
	var asked []round
	for _, r := range all {
		if chosen(o.cases, r.name) {
			asked = append(asked, r)
		}
	}
	return asked
}

// measure makes the fixtures, lets the contenders take turns and returns a table for each case.
//
// Fixtures are removed at the end alone: where much has just been deleted, some file systems are slow to create.
func measure(ctx context.Context, o options) (tables []table, err error) {
	dir, err := os.MkdirTemp(o.dir, "ebb-bench-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, removeAll(dir)) }()
	all, err := contenders(ctx, o.contenders, dir)
	if err != nil {
		return nil, err
	}
	b := bench{options: o, dir: dir, now: time.Now(), contenders: all}
	machine := describeMachine(dir)
	for _, r := range rounds(o) {
		res, err := b.measure(ctx, r)
		if err != nil {
			return nil, fmt.Errorf("%s of %s: %w", r.title, describeShape(r.shape), err)
		}
		tables = append(tables, table{r.name, render(res, machine)})
	}
	for _, c := range bucketCases(o) {
		if !chosen(o.cases, c.name) {
			continue
		}
		counts, err := b.tallies(ctx, c)
		if err != nil {
			return nil, err
		}
		tables = append(tables, table{c.name, c.render(counts, machine)})
	}
	return tables, nil
}

// removeAll takes the fixtures away in parallel, as there may be millions of files.
func removeAll(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for _, e := range entries {
		group.Go(func() error { return os.RemoveAll(filepath.Join(dir, e.Name())) })
	}
	return errors.Join(group.Wait(), os.Remove(dir))
}

type bench struct {
	options
	dir        string
	now        time.Time
	contenders []contender
}

func (b bench) measure(ctx context.Context, r round) (result, error) {
	res := result{round: r, samples: map[string]series{}}
	if r.deletes {
		return res, b.measureDeletes(ctx, r, res.samples)
	}
	root := filepath.Join(b.dir, r.name)
	if err := b.fixture(ctx, root, r.shape); err != nil {
		return res, err
	}
	for turn := -1; turn < b.reps; turn++ { // turn -1 only warms the cache
		for _, c := range b.contenders {
			if turn < 0 && c.name == "stock" {
				continue // slow, and the others leave the same cache
			}
			if err := take(ctx, c.name, c.check, root, res.samples, turn >= 0); err != nil {
				return res, err
			}
		}
	}
	return res, nil
}

// measureDeletes gives each measurement a fixture of its own, and makes all of them before the first is used.
func (b bench) measureDeletes(ctx context.Context, r round, into map[string]series) error {
	root := func(rep int, c contender) string {
		return filepath.Join(b.dir, fmt.Sprintf("%s-%s-%d", r.name, c.name, rep))
	}
	use := func(do func(root string, c contender) error) error {
		for rep := range b.reps {
			for _, c := range b.contenders {
				if err := do(root(rep, c), c); err != nil {
					return err
				}
			}
		}
		return nil
	}
	err := use(func(root string, _ contender) error { return b.fixture(ctx, root, r.shape) })
	if err != nil {
		return err
	}
	return use(func(root string, c contender) error { return take(ctx, c.name, c.run, root, into, true) })
}

type command func(ctx context.Context, root string) (*exec.Cmd, error)

func take(ctx context.Context, name string, of command, root string, into map[string]series, count bool) error {
	cmd, err := of(ctx, root)
	if err != nil {
		return err
	}
	s, err := timed(cmd)
	if err != nil {
		return err
	}
	if count {
		into[name] = append(into[name], s)
	}
	return nil
}

// fixture writes a fresh one, by a child, and waits until it is on the disk so that nobody else pays for that.
func (b bench) fixture(ctx context.Context, root string, shape fixture.Shape) error {
	cmd, err := self(ctx, "fixture", root,
		strconv.Itoa(shape.Repositories), strconv.Itoa(shape.Images), strconv.FormatInt(b.now.Unix(), 10))
	if err != nil {
		return err
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("fixture: %w: %s", err, tail(string(out)))
	}
	syscall.Sync()
	return nil
}
