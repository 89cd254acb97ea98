package docker_test

import (
	"errors"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ebb-io/ebb/internal/store/docker"
)

// TestSocketWithoutAnEngine: who can not reach it hears what to do, where that
// is known.
func TestSocketWithoutAnEngine(t *testing.T) {
	dir := t.TempDir()
	listen := func(name string) *net.UnixListener {
		l, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(dir, name), Net: "unix"})
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	left := listen("left.sock")
	left.SetUnlinkOnClose(false)
	if err := left.Close(); err != nil {
		t.Fatal(err)
	}
	deaf := listen("deaf.sock")
	defer func() { _ = deaf.Close() }()
	go func() {
		for {
			conn, err := deaf.Accept()
			if err != nil {
				return
			}
			_ = conn.Close()
		}
	}()
	for name, want := range map[string]string{
		"none.sock": "no good answer: no such file or directory: is Docker running? Else name its address with -H or DOCKER_HOST",
		"left.sock": "no good answer: connection refused: is Docker running?",
		"deaf.sock": "no good answer: error during connect: ",
	} {
		host := "unix://" + filepath.Join(dir, name)
		_, err := docker.Open(t.Context(), docker.Options{Host: host})
		if !errors.Is(err, docker.ErrAway) || !strings.HasPrefix(err.Error(), "docker engine "+host+": "+want) {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
		if err := docker.Check(docker.Options{Host: host}); err != nil {
			t.Errorf("%s: it can be chosen all the same: %v", name, err)
		}
	}
}
