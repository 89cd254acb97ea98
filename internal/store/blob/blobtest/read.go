package blobtest

import (
	"bytes"
	"context"
	"errors"
	iofs "io/fs"
	"testing"

	"github.com/ebb-io/ebb/internal/store/blob"
)

var readTests = map[string]func(*testing.T, Fixture){
	"content":        readContent,
	"large":          readLarge,
	"absent":         readAbsent,
	"directory":      readDirectory,
	"hostile names":  readHostile,
	"refused":        readRefused,
	"cancelled":      readCancelled,
	"failing writer": readFailingWriter,
	"too large":      readTooLarge,
	"stat":           statFile,
}

func readContent(t *testing.T, f Fixture) {
	f.Put("a/empty", nil, moment)
	f.Put("a/five", []byte("12345"), moment)
	for path, want := range map[string]string{"a/empty": "", "a/five": "12345"} {
		var got bytes.Buffer
		entry, err := f.Reader.Read(t.Context(), path, &got)
		if err != nil || got.String() != want {
			t.Errorf("read %s: %q, %v", path, got.String(), err)
		}
		f.sameEntry(t, blob.Entry{Path: path, Size: int64(len(want)), ModTime: moment}, entry)
	}
}

// Sizes around what a driver may use as a buffer.
func readLarge(t *testing.T, f Fixture) {
	for _, size := range []int{1, 511, 4096, 32<<10 - 1, 32 << 10, 64<<10 - 1, 64 << 10, 64<<10 + 1, 1<<20 + 7} {
		want := make([]byte, size)
		for i := range want {
			want[i] = byte(i * 31 >> 3)
		}
		f.Put("large", want, moment)
		var got bytes.Buffer
		entry, err := f.Reader.Read(t.Context(), "large", &got)
		if err != nil || !bytes.Equal(got.Bytes(), want) || entry.Size != int64(size) {
			t.Errorf("%d bytes: read %d, entry says %d, %v", size, got.Len(), entry.Size, err)
		}
	}
}

func readAbsent(t *testing.T, f Fixture) {
	f.put("a/one")
	for _, path := range []string{"b", "a/two", "b/one", "a/one/two", "a/on"} {
		f.notThere(t, path)
	}
}

func readDirectory(t *testing.T, f Fixture) {
	f.put("a/b/one")
	f.notThere(t, "a")
	f.notThere(t, "a/b")
}

func (f Fixture) notThere(t *testing.T, path string) {
	t.Helper()
	if _, err := f.Reader.Read(t.Context(), path, &bytes.Buffer{}); !errors.Is(err, iofs.ErrNotExist) {
		t.Errorf("read %q: %v, want one that wraps fs.ErrNotExist", path, err)
	}
	if _, err := f.Reader.Stat(t.Context(), path); !errors.Is(err, iofs.ErrNotExist) {
		t.Errorf("stat %q: %v, want one that wraps fs.ErrNotExist", path, err)
	}
}

func readHostile(t *testing.T, f Fixture) {
	for _, name := range hostile {
		path := "h/" + name
		f.put(path)
		got, entry, err := blob.ReadFile(t.Context(), f.Reader, path, 1<<10)
		if err != nil || string(got) != path || entry.Path != path {
			t.Errorf("read %q: %q, entry %q, %v", path, got, entry.Path, err)
		}
	}
}

func readRefused(t *testing.T, f Fixture) {
	f.put("a/b")
	for _, path := range append([]string{"", "a/b/"}, refused...) {
		if _, err := f.Reader.Read(t.Context(), path, &bytes.Buffer{}); !errors.Is(err, iofs.ErrInvalid) {
			t.Errorf("read %q: %v, want one that wraps fs.ErrInvalid", path, err)
		}
		if _, err := f.Reader.Stat(t.Context(), path); !errors.Is(err, iofs.ErrInvalid) {
			t.Errorf("stat %q: %v, want one that wraps fs.ErrInvalid", path, err)
		}
	}
}

func readCancelled(t *testing.T, f Fixture) {
	f.put("a/one")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := f.Reader.Read(ctx, "a/one", &bytes.Buffer{}); !errors.Is(err, context.Canceled) {
		t.Errorf("read: %v", err)
	}
	if _, err := f.Reader.Stat(ctx, "a/one"); !errors.Is(err, context.Canceled) {
		t.Errorf("stat: %v", err)
	}
}

type failingWriter struct{ err error }

func (w failingWriter) Write([]byte) (int, error) { return 0, w.err }

func readFailingWriter(t *testing.T, f Fixture) {
	f.put("a/one")
	full := errors.New("the writer is full")
	if _, err := f.Reader.Read(t.Context(), "a/one", failingWriter{full}); !errors.Is(err, full) {
		t.Errorf("read: %v, want the writer's error unchanged", err)
	}
}

func readTooLarge(t *testing.T, f Fixture) {
	f.Put("a", []byte("12345"), moment)
	if got, _, err := blob.ReadFile(t.Context(), f.Reader, "a", 5); err != nil || string(got) != "12345" {
		t.Errorf("at the limit: %q, %v", got, err)
	}
	if _, _, err := blob.ReadFile(t.Context(), f.Reader, "a", 4); !errors.Is(err, blob.ErrTooLarge) {
		t.Errorf("over the limit: %v", err)
	}
}

func statFile(t *testing.T, f Fixture) {
	f.Put("a/five", []byte("12345"), moment)
	entry, err := f.Reader.Stat(t.Context(), "a/five")
	if err != nil {
		t.Fatal(err)
	}
	f.sameEntry(t, blob.Entry{Path: "a/five", Size: 5, ModTime: moment}, entry)
}
