package main

import (
	"bytes"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"
)

// sample is one measurement of a process.
type sample struct {
	wall   time.Duration
	cpu    time.Duration // of all threads, in user and kernel mode
	maxRSS int64         // bytes
}

// timed runs a command to its end. Its output goes nowhere, as of a job whose log nobody reads.
func timed(cmd *exec.Cmd) (sample, error) {
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	began := time.Now()
	err := cmd.Run()
	s := sample{wall: time.Since(began)}
	if err != nil {
		return s, fmt.Errorf("%s: %w: %s", strings.Join(cmd.Args, " "), err, tail(stderr.String()))
	}
	usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		return s, errors.New("this system does not tell a process's peak memory")
	}
	s.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	s.maxRSS = usage.Maxrss * 1024 // Linux counts in KiB
	return s, nil
}

// tail keeps the end of an output, where the reason of a failure stands.
func tail(s string) string {
	const most = 2000
	return strings.TrimSpace(s[max(0, len(s)-most):])
}

// series are the samples of one contender in one case.
type series []sample

// medianWall is the upper of the two middle values where their number is even; so are the other medians.
func (s series) medianWall() time.Duration {
	return median(s, func(x sample) time.Duration { return x.wall })
}

func (s series) medianCPU() time.Duration {
	return median(s, func(x sample) time.Duration { return x.cpu })
}

func (s series) medianRSS() int64 {
	return median(s, func(x sample) int64 { return x.maxRSS })
}

func (s series) rangeWall() (least, most time.Duration) {
	byWall := func(a, b sample) int { return int(a.wall - b.wall) }
	return slices.MinFunc(s, byWall).wall, slices.MaxFunc(s, byWall).wall
}

func median[T int64 | time.Duration](s series, of func(sample) T) T {
	values := make([]T, 0, len(s))
	for _, x := range s {
		values = append(values, of(x))
	}
	slices.Sort(values)
	return values[len(values)/2]
}
