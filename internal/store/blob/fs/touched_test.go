package fs

import (
	"errors"
	iofs "io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestTouched(t *testing.T) {
	root := lay(t, "dir/", "file", "link -> dir", "gone -> nowhere")
	at := time.Date(2020, time.May, 4, 3, 2, 1, 0, time.UTC)
	if err := os.Chtimes(filepath.Join(root, "dir"), at, at); err != nil {
		t.Fatal(err)
	}
	d := writable(t, root)
	if got, err := d.Touched(t.Context(), "dir"); err != nil || !got.Equal(at) {
		t.Errorf("touched at %v, %v; want %v", got, err, at)
	}
	for _, path := range []string{"file", "link", "absent", "absent/dir"} {
		if _, err := d.Touched(t.Context(), path); !errors.Is(err, iofs.ErrNotExist) {
			t.Errorf("%s: %v, want that there is no such directory", path, err)
		}
	}
	if _, err := d.Touched(t.Context(), "gone/dir"); err == nil || errors.Is(err, iofs.ErrNotExist) {
		t.Errorf("behind a link that leads nowhere: %v", err)
	}
	if _, err := d.Touched(t.Context(), "../x"); !errors.Is(err, iofs.ErrInvalid) {
		t.Errorf("outside: %v", err)
	}
}
