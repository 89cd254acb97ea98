// Package redis starts real Redis servers for tests, each on a free loopback
// port, with a folder that goes with the test and nothing on disk.
//
// It refuses to pretend: without redis-server a test is skipped with a word on
// how to install it, and on continuous integration it fails.
package redis

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// Server is a Redis server that runs until the test ends.
type Server struct {
	Addr   string        // host:port
	Client *redis.Client // with the rights that the server starts with
}

// URL is the server's address for database 0.
func (s Server) URL() string { return "redis://" + s.Addr + "/0" }

// Start runs redis-server, with settings each word by itself.
func Start(t testing.TB, settings ...string) Server {
	t.Helper()
	program := find(t)
	for range 5 { // the port may be taken before the server has it
		if s, ok := start(t, program, settings); ok {
			return s
		}
	}
	t.Fatal("redis-server does not start")
	return Server{}
}

// Sentinel runs a sentinel with a configuration file, which it rewrites.
func Sentinel(t testing.TB, config string) Server {
	t.Helper()
	program := find(t)
	for range 5 {
		if s, ok := start(t, program, nil, config, "--sentinel"); ok {
			return s
		}
	}
	t.Fatal("a sentinel does not start")
	return Server{}
}

func find(t testing.TB) string {
	t.Helper()
	program, err := exec.LookPath("redis-server")
	switch {
	case err == nil:
		return program
	case os.Getenv("CI") != "":
		t.Fatal("redis-server is not installed, and continuous integration needs it: apt-get install redis-server")
	}
	t.Skip("NOT TESTED: this needs a real Redis server: apt-get install redis-server (on macOS: brew install redis)")
	return ""
}

func start(t testing.TB, program string, settings []string, first ...string) (Server, bool) {
	t.Helper()
	addr := freeAddr(t)
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	args := append(first, "--port", port, "--bind", "127.0.0.1", "--dir", dir, "--logfile", filepath.Join(dir, "log"), "--daemonize", "no")
	if len(first) == 0 {
		args = append(args, "--save", "", "--appendonly", "no")
	}
	args = append(args, settings...)
	command := exec.CommandContext(t.Context(), program, args...)
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { defer close(ended); _ = command.Wait() }()
	client := redis.NewClient(&redis.Options{Addr: addr, DisableIdentity: true})
	t.Cleanup(func() {
		_ = client.Close()
		_ = command.Process.Kill()
		<-ended
	})
	return Server{Addr: addr, Client: client}, answers(client, ended)
}

// answers waits until the server does, or has ended.
func answers(client *redis.Client, ended <-chan struct{}) bool {
	for range 1000 {
		err := client.Ping(context.Background()).Err()
		if err == nil || redis.HasErrorPrefix(err, "NOAUTH") {
			return true
		}
		select {
		case <-ended:
			return false
		case <-time.After(10 * time.Millisecond):
		}
	}
	return false
}

func freeAddr(t testing.TB) string {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	return listener.Addr().String()
}
