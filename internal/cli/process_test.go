package cli_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ebb-io/ebb/internal/testkit/world"
)

// process is an ebb that is started as a process of its own.
type process struct {
	*exec.Cmd
	stdout, stderr bytes.Buffer
}

func newProcess(t *testing.T, args ...string) *process {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &process{Cmd: exec.CommandContext(t.Context(), self, args...)}
	p.Args[0] = "ebb" // by which TestMain knows what to be
	p.Stdout, p.Stderr = &p.stdout, &p.stderr
	p.Env = append(os.Environ(), clockVar+"="+now.Format(time.RFC3339))
	return p
}

func (p *process) exitCode(t *testing.T) int {
	t.Helper()
	err := p.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return p.ProcessState.ExitCode()
}

func (p *process) start(t *testing.T) {
	t.Helper()
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
}

func (p *process) signal(t *testing.T, s os.Signal) {
	t.Helper()
	if err := p.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}

func machinesWorld(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "registry")
	machines(world.New(world.Folder(dir), world.At(now)))
	return dir
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

const oldRepository = "docker/registry/v2/repositories/vi/prod/old"

func TestReaderGoesAway(t *testing.T) {
	for _, test := range []struct {
		name    string
		args    []string
		deletes bool
	}{
		{"check", []string{"registry", "check", "-o", "json"}, false},
		{"run", []string{"registry", "run", "--offline", "--yes"}, true},
		{"verify", []string{"registry", "verify"}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := machinesWorld(t)
			args := append(test.args, "--storage", dir)
			if test.name != "verify" {
				args = append(args, "--owners", "testdata/owners.yaml")
			}
			read, write, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := read.Close(); err != nil {
				t.Fatal(err)
			}
			p := newProcess(t, args...)
			p.Stdout = write
			p.start(t)
			if code := p.exitCode(t); code != 0 || p.stderr.String() != "" {
				t.Errorf("exit code %d, said %q; want 0 and nothing", code, p.stderr.String())
			}
			if exists(filepath.Join(dir, oldRepository)) == test.deletes {
				t.Errorf("deleted: %v, want %v", !test.deletes, test.deletes)
			}
			if exists(filepath.Join(dir, "docker/registry/v2/.ebb-lock")) {
				t.Error("the lock is left behind")
			}
		})
	}
}

func TestOutputCanNotBeWritten(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("this system has no /dev/full")
	}
	defer func() { _ = full.Close() }()
	for _, test := range []struct {
		args    []string
		deletes bool
	}{
		{[]string{"registry", "check", "-o", "json"}, false},
		{[]string{"registry", "run", "--offline", "--yes"}, true},
	} {
		t.Run(test.args[1], func(t *testing.T) {
			dir := machinesWorld(t)
			p := newProcess(t, append(test.args, "--storage", dir, "--owners", "testdata/owners.yaml")...)
			p.Stdout = full
			p.start(t)
			if code := p.exitCode(t); code != 1 || !strings.Contains(p.stderr.String(), "ebb: write to standard output: ") {
				t.Errorf("exit code %d, said %q; want 1 and why", code, p.stderr.String())
			}
			if exists(filepath.Join(dir, oldRepository)) == test.deletes {
				t.Errorf("deleted: %v, want %v", !test.deletes, test.deletes)
			}
		})
	}
}

func TestSignal(t *testing.T) {
	for _, test := range []struct {
		signal syscall.Signal
		code   int
	}{{syscall.SIGINT, 130}, {syscall.SIGTERM, 143}, {syscall.SIGHUP, 129}} {
		t.Run(test.signal.String(), func(t *testing.T) {
			dir := machinesWorld(t)
			asked, address := hang(t)
			p := newProcess(t, "registry", "run", "--storage", dir, "--owners", "testdata/owners.yaml", "--registry", address, "--yes")
			p.start(t)
			<-asked
			p.signal(t, test.signal)
			if code := p.exitCode(t); code != test.code {
				t.Errorf("exit code %d, want %d", code, test.code)
			}
			if want := "ebb: stopped by signal: " + test.signal.String() + "\n"; p.stderr.String() != want {
				t.Errorf("said %q, want %q", p.stderr.String(), want)
			}
			if exists(filepath.Join(dir, "docker/registry/v2/.ebb-lock")) {
				t.Error("the lock is left behind")
			}
			if !exists(filepath.Join(dir, oldRepository)) {
				t.Error("something was deleted")
			}
		})
	}
}

// hang is a registry that never answers, and tells of the first request.
func hang(t *testing.T) (asked chan struct{}, address string) {
	t.Helper()
	asked = make(chan struct{}, 100)
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		<-r.Context().Done()
	}))
	t.Cleanup(s.Close)
	return asked, s.URL
}

// TestSecondSignalKills stops a process that can not look at its context,
// because it waits for a pipe that nobody writes to.
func TestSecondSignalKills(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "owners.yaml")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Skip("no pipes in the file system:", err)
	}
	p := newProcess(t, "registry", "check", "--storage", machinesWorld(t), "--owners", pipe)
	p.start(t)
	writer, err := os.OpenFile(pipe, os.O_WRONLY, 0) // returns when ebb reads
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = writer.Close() }()
	p.endsAtSecondSignal(t)
}

// TestSecondSignalEndsFlush: a first one lets the registry's cache be flushed to
// the end, so that it is said that this goes on.
func TestSecondSignalEndsFlush(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = silent.Close() }()
	p := newProcess(t, "registry", "run", "--storage", machinesWorld(t), "--owners", "testdata/owners.yaml", "--offline", "--yes",
		"--flush-redis", "redis://"+silent.Addr().String()+"?read_timeout=1h")
	read, stderr := io.Pipe()
	p.Stderr = stderr
	p.start(t)
	waitFor(t, read, "ebb: flushing the registry's cache in Redis\n")
	go func() { _, _ = io.Copy(io.Discard, read) }()
	p.endsAtSecondSignal(t)
}

func (p *process) endsAtSecondSignal(t *testing.T) {
	t.Helper()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = p.Wait()
	}()
	p.signal(t, syscall.SIGINT)
	select {
	case <-ended:
		t.Fatalf("the first signal ended it: %s", p.ProcessState)
	case <-time.After(100 * time.Millisecond):
	}
	for again := time.NewTicker(50 * time.Millisecond); ; {
		select {
		case <-ended:
			again.Stop()
			if status, _ := p.ProcessState.Sys().(syscall.WaitStatus); !status.Signaled() {
				t.Errorf("it ended with %s, want by the signal", p.ProcessState)
			}
			return
		case <-again.C:
			_ = p.Process.Signal(syscall.SIGINT)
		case <-time.After(10 * time.Second):
			_ = p.Process.Kill()
			t.Fatal("it goes on")
		}
	}
}

// TestSignalAtTheQuestion ends a run that waits for an answer.
func TestSignalAtTheQuestion(t *testing.T) {
	dir := machinesWorld(t)
	p := newProcess(t, "registry", "run", "--storage", dir, "--owners", "testdata/owners.yaml", "--offline")
	p.Env = append(p.Env, terminalVar+"=in,err")
	answer, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = write.Close() }()
	p.Stdin = answer
	read, stderr := io.Pipe()
	p.Stderr = stderr
	p.start(t)
	waitFor(t, read, "Type yes to delete: ")
	p.signal(t, syscall.SIGINT)
	go func() { _, _ = io.Copy(io.Discard, read) }()
	if code := p.exitCode(t); code != 130 {
		t.Errorf("exit code %d, want 130", code)
	}
	if !exists(filepath.Join(dir, oldRepository)) {
		t.Error("something was deleted")
	}
}

func waitFor(t *testing.T, r io.Reader, text string) {
	t.Helper()
	var seen []byte
	buffer := make([]byte, 1<<10)
	for !strings.Contains(string(seen), text) {
		n, err := r.Read(buffer)
		seen = append(seen, buffer[:n]...)
		if err != nil {
			t.Fatalf("%v after %q", err, seen)
		}
	}
}
