package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"time"

	"github.com/ebb-io/ebb/internal/testkit/objects"
	"github.com/ebb-io/ebb/test/bench/fixture"
	"github.com/ebb-io/ebb/test/bench/scale"
)

// order is what a child serves, as JSON in its argument.
type order struct {
	Made    bool          // a registry that is made as it is read, of any size; else a fake that holds a fixture
	Shape   fixture.Shape //
	Now     time.Time     //
	Latency time.Duration // of every request of the fake
}

// report is what a child was asked, when it ends; nothing is counted of what is Made.
type report struct {
	Counts   map[string]int // requests by operation
	InFlight int            // at most
}

// requests is how many there were.
func (r report) requests() (n int) {
	for _, count := range r.Counts {
		n += count
	}
	return n
}

// bucketProcess is a server in a process of its own, so that its memory is nobody else's.
type bucketProcess struct {
	objects.Bucket
	cmd   *exec.Cmd
	stdin io.Closer
	out   *bufio.Reader
}

// serveBucket starts a child that serves a bucket until stop, or until this process is no more.
func serveBucket(ctx context.Context, o order) (*bucketProcess, error) {
	raw, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	cmd, err := self(ctx, "serve", string(raw))
	if err != nil {
		return nil, err
	}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	b := &bucketProcess{cmd: cmd, stdin: stdin, out: bufio.NewReader(stdout)}
	if err := b.read(&b.Bucket); err != nil {
		_, stopped := b.stop()
		return nil, fmt.Errorf("serve a bucket: %w", errors.Join(err, stopped))
	}
	return b, nil
}

func (b *bucketProcess) read(into any) error {
	line, err := b.out.ReadBytes('\n')
	if err != nil {
		return err
	}
	return json.Unmarshal(line, into)
}

// stop ends the child and tells what it was asked.
func (b *bucketProcess) stop() (report, error) {
	var said report
	err := errors.Join(b.stdin.Close(), b.read(&said), b.cmd.Wait())
	return said, err
}

// serve is the child's side: it says where the bucket is, waits until its standard input ends, and says what it was asked.
func serve(ctx context.Context, argument string) error {
	var o order
	if err := json.Unmarshal([]byte(argument), &o); err != nil {
		return err
	}
	bucket, handler, said, err := o.server(ctx)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	bucket.Endpoint = "http://" + listener.Addr().String()
	server := &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(listener) }() // it ends by Close alone
	out := json.NewEncoder(os.Stdout)
	if err := out.Encode(bucket); err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		return err
	}
	return errors.Join(out.Encode(said()), server.Close())
}

func (o order) server(ctx context.Context) (objects.Bucket, http.Handler, func() report, error) {
	fake := objects.New(ctx)
	if !o.Made {
		fake.SetLatency(o.Latency)
		err := fixture.Fill(ctx, fake.Store(""), o.Shape, o.Now)
		return fake.Bucket, fake, func() report { return report{fake.Counts(), fake.InFlight()} }, err
	}
	made, err := scale.New(o.Shape, o.Now)
	fake.Bucket.Name = scale.Bucket
	return fake.Bucket, made, func() report { return report{} }, err
}
