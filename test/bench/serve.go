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

// bucketProcess is a server in a process of its own, so that its memory is nobody else's.
type bucketProcess struct {
	objects.Bucket
	cmd   *exec.Cmd
	stdin io.WriteCloser
	out   *bufio.Reader
}

// serveBucket starts a child that serves a bucket until stop, or until this process is no more.
func serveBucket(ctx context.Context, o order) (*bucketProcess, error) {
	argument, err := o.argument()
	if err != nil {
		return nil, err
	}
	cmd, err := self(ctx, "serve", argument)
	if err != nil {
		return nil, err
	}
	return startServer(cmd)
}

func (o order) argument() (string, error) {
	raw, err := json.Marshal(o)
	return string(raw), err
}

func startServer(cmd *exec.Cmd) (*bucketProcess, error) {
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
		return nil, fmt.Errorf("serve a bucket: %w", errors.Join(err, b.stop()))
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

// asked tells what the child was asked since it began, or since the last call.
func (b *bucketProcess) asked() (requests, error) {
	var r requests
	if _, err := io.WriteString(b.stdin, "\n"); err != nil {
		return r, err
	}
	return r, b.read(&r)
}

// stop ends the child.
func (b *bucketProcess) stop() error { return errors.Join(b.stdin.Close(), b.cmd.Wait()) }

// serve is the child's side: it says where the bucket is and, for every line of its standard input, what it was asked,
// and ends with its standard input.
func serve(ctx context.Context, argument string) error {
	var o order
	if err := json.Unmarshal([]byte(argument), &o); err != nil {
		return err
	}
	bucket, handler, err := o.server(ctx)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	bucket.Endpoint = "http://" + listener.Addr().String()
	counted := &counter{handler: handler}
	server := &http.Server{Handler: counted, ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(listener) }() // it ends by Close alone
	out := json.NewEncoder(os.Stdout)
	if err := out.Encode(bucket); err != nil {
		return err
	}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		if err := out.Encode(counted.take()); err != nil {
			return err
		}
	}
	return errors.Join(lines.Err(), server.Close())
}

func (o order) server(ctx context.Context) (objects.Bucket, http.Handler, error) {
	fake := objects.New(ctx)
	if !o.Made {
		fake.SetLatency(o.Latency)
		return fake.Bucket, fake, fixture.Fill(ctx, fake.Store(""), o.Shape, o.Now)
	}
	made, err := scale.New(o.Shape, o.Now)
	fake.Bucket.Name = scale.Bucket
	return fake.Bucket, made, err
}
