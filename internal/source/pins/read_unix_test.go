//go:build unix

package pins

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// within wants f to end.
func within(t *testing.T, what string, f func() error) error {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- f() }()
	select {
	case err := <-done:
		return err
	case <-time.After(5 * time.Second):
		t.Fatalf("%s: it waits still", what)
		return nil
	}
}

// TestKernelsFiles: a file that the kernel makes as it is read may never end, or
// give nothing for ever.
func TestKernelsFiles(t *testing.T) {
	if _, err := os.Stat("/proc/self/status"); err != nil {
		t.Skip("NOT TESTED: there is no /proc")
	}
	for _, path := range []string{
		"/proc/kmsg", "/proc/self/mem", "/proc/self/status", "/sys/kernel/mm/transparent_hugepage/enabled",
		"/sys/kernel/tracing/trace_pipe", "/sys/kernel/debug/tracing/trace_pipe",
	} {
		f, err := os.OpenFile(path, os.O_RDONLY|nonBlocking, 0)
		if err != nil {
			continue // this user or this machine has none
		}
		_ = f.Close()
		link := filepath.Join(t.TempDir(), "link")
		if err := os.Symlink(path, link); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{path, link} {
			err := within(t, name, func() error { _, err := readFile(name); return err })
			if err == nil || errors.Is(err, ErrRead) || !strings.Contains(err.Error(), "kernel") {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

func TestPipesAreNotRead(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for what, read := range map[string]func() ([]byte, error){
		"a pipe":                             func() ([]byte, error) { return readFile(pipe) },
		"what became one when it was opened": func() ([]byte, error) { return readOpened(pipe) },
	} {
		if err := within(t, what, func() error { _, err := read(); return err }); err == nil || errors.Is(err, ErrRead) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestReadingEnds where a file gives nothing and does not end either.
func TestReadingEnds(t *testing.T) {
	silent, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = write.Close() }()
	err = within(t, "silence", func() error { _, err := content(silent, 20*time.Millisecond); return err })
	if !errors.Is(err, ErrRead) || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error(err)
	}
}
