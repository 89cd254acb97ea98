package fs

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ebb-io/ebb/internal/store/blob"
	"github.com/ebb-io/ebb/internal/store/blob/blobtest"
	"github.com/ebb-io/ebb/internal/store/blob/fault"
)

// on is a fixture for what is at root; the drivers are for the caller to add.
func on(t *testing.T, root string) blobtest.Fixture {
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	return blobtest.Fixture{
		Put: func(path string, data []byte, modTime time.Time) {
			path = filepath.Join(root, path)
			must(os.MkdirAll(filepath.Dir(path), 0o755))
			must(os.WriteFile(path, data, 0o644))
			must(os.Chtimes(path, modTime, modTime))
		},
		Remove: func(path string) { must(os.Remove(filepath.Join(root, path))) },
		Exists: func(path string) bool { _, err := os.Lstat(filepath.Join(root, path)); return err == nil },
		Mkdir:  func(path string) { must(os.MkdirAll(filepath.Join(root, path), 0o755)) },
	}
}

func writable(t *testing.T, root string) *Writable {
	t.Helper()
	w, err := OpenWritable(root)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func TestConformanceReading(t *testing.T) {
	blobtest.Run(t, func(t *testing.T) blobtest.Fixture {
		root := t.TempDir()
		f := on(t, root)
		d, err := Open(root)
		if err != nil {
			t.Fatal(err)
		}
		f.Reader = d
		return f
	})
}

func TestConformanceWriting(t *testing.T) {
	blobtest.Run(t, func(t *testing.T) blobtest.Fixture {
		root := t.TempDir()
		f, w := on(t, root), writable(t, root)
		f.Reader, f.Deleter, f.Volume, f.Locker, f.Writer, f.Rival = w, w, w, w, w, writable(t, root)
		return f
	})
}

func TestConformanceNetwork(t *testing.T) {
	blobtest.Run(t, func(t *testing.T) blobtest.Fixture {
		root := t.TempDir()
		f, w, rival := on(t, root), writable(t, root), writable(t, root)
		w.isRemote = func(int) (bool, error) { return true, nil }
		rival.isRemote = w.isRemote
		f.Locker, f.Rival = w, rival
		return f
	})
}

func TestConformanceFault(t *testing.T) {
	blobtest.Run(t, func(t *testing.T) blobtest.Fixture {
		root := t.TempDir()
		f := on(t, root)
		f.Reader = fault.NewReader(writable(t, root))
		return f
	})
}

// A dry run gets a driver for which deleting does not compile.
func TestReaderCannotWrite(t *testing.T) {
	d, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	var reader any = d
	if _, ok := reader.(blob.Deleter); ok {
		t.Error("the reading driver deletes")
	}
	if _, ok := reader.(blob.Locker); ok {
		t.Error("the reading driver locks")
	}
	if _, ok := reader.(blob.Writer); ok {
		t.Error("the reading driver writes")
	}
}
