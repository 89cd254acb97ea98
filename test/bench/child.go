package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"time"

	"github.com/ebb-io/ebb/test/bench/bare"
	"github.com/ebb-io/ebb/test/bench/fixture"
)

// childCommand as first argument makes this program do one piece of work and end.
//
// The bare contenders are measured as processes, as the others are. Fixtures are written, and buckets served, by a child
// for another reason: Linux counts into a process's peak memory that of its parent at the time of exec, so the parent must stay small.
const childCommand = "child"

// layers of its own that each image of a fixture has.
const layers = 4

func child(ctx context.Context, args []string) error {
	if len(args) < 2 {
		return fmt.Errorf("%s needs a task and what it is for", childCommand)
	}
	switch task, root := args[0], args[1]; task {
	case "fixture":
		return writeFixture(ctx, root, args[2:])
	case "walk":
		_, err := bare.Walk(root, false)
		return err
	case "reclaim":
		return reclaim(root)
	case "serve":
		return serve(ctx, root)
	case "weigh":
		return weigh(ctx, args[1:])
	default:
		return fmt.Errorf("unknown task %q", task)
	}
}

func writeFixture(ctx context.Context, root string, args []string) error {
	var n [3]int64
	if len(args) != len(n) {
		return fmt.Errorf("fixture needs %d numbers", len(n))
	}
	for i, arg := range args {
		var err error
		if n[i], err = strconv.ParseInt(arg, 10, 64); err != nil {
			return err
		}
	}
	shape := fixture.Shape{Repositories: int(n[0]), Images: int(n[1]), Layers: layers}
	return fixture.Write(ctx, root, shape, time.Unix(n[2], 0))
}

func reclaim(root string) error {
	reg, err := bare.Walk(root, true)
	if err != nil {
		return err
	}
	_, err = reg.Delete()
	return err
}

// weigh runs a command and prints its peak memory in bytes, for a process that is too large to be its parent.
func weigh(ctx context.Context, command []string) error {
	s, err := timed(exec.CommandContext(ctx, command[0], command[1:]...))
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(os.Stdout, s.maxRSS)
	return err
}

// self is a command that runs this program as a child.
func self(ctx context.Context, args ...string) (*exec.Cmd, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return exec.CommandContext(ctx, program, append([]string{childCommand}, args...)...), nil
}
