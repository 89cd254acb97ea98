// Package blobtest is the contract of package blob, sentence by sentence, as
// one suite that every driver runs.
//
// It does not know how a driver works: what it needs arranged it leaves to the
// fixture. It makes no claim about speed or the order of a walk.
package blobtest

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/ebb-io/ebb/internal/store/blob"
)

// Fixture is an empty storage, and the means to look at it past the driver.
type Fixture struct {
	Reader  blob.Reader  // nil: reading is tested elsewhere
	Deleter blob.Deleter // nil: the driver only reads
	Volume  blob.Volume  // nil: there is no file system
	Locker  blob.Locker  // nil: the driver does not lock
	Writer  blob.Writer  // nil: the driver does not put; what is put is looked at through Reader

	// Multipart, Aborter and Begin are nil where there are no uploads in parts.
	Multipart blob.Multipart
	Aborter   blob.Aborter
	// Begin begins an upload in parts past the driver, with one part of data.
	Begin func(path string, data []byte)

	// Rival is another driver of the same storage, as another process has it.
	Rival blob.Locker

	// Put makes or replaces a file, and the directories it needs.
	Put func(path string, data []byte, modTime time.Time)
	// Remove removes a file past the driver.
	Remove func(path string)
	// Exists tells whether there is a file, or a directory where the driver
	// has real ones.
	Exists func(path string) bool
	// Mkdir makes an empty directory; nil where there are no real ones.
	Mkdir func(path string)

	// Stamped says that the storage gives files a time of its own instead of
	// the one that Put was given.
	Stamped bool
	// Patient says that a lock file that was just written may have a holder, so
	// that it is only taken over or removed when it has been silent for long.
	Patient bool
	// Later sets the storage's clock on; nil where the driver is not patient.
	Later func(by time.Duration)
}

// Run tests a driver. It calls fresh for every test.
func Run(t *testing.T, fresh func(t *testing.T) Fixture) {
	t.Helper()
	groups := map[string]map[string]func(*testing.T, Fixture){
		"walk": walkTests, "read": readTests, "delete": deleteTests,
		"volume": volumeTests, "lock": lockTests,
		"write": writeTests, "multipart": multipartTests,
	}
	has := map[string]func(Fixture) bool{
		"walk":   func(f Fixture) bool { return f.Reader != nil },
		"read":   func(f Fixture) bool { return f.Reader != nil },
		"delete": func(f Fixture) bool { return f.Deleter != nil },
		"volume": func(f Fixture) bool { return f.Volume != nil },
		"lock":   func(f Fixture) bool { return f.Locker != nil },
		"write":  func(f Fixture) bool { return f.Writer != nil },

		"multipart": func(f Fixture) bool { return f.Multipart != nil },
	}
	for group, tests := range groups {
		if !has[group](fresh(t)) {
			continue
		}
		for name, test := range tests {
			t.Run(group+"/"+name, func(t *testing.T) { test(t, fresh(t)) })
		}
	}
}

// moment is a time that every driver can keep exactly.
var moment = time.Date(2024, 2, 29, 23, 59, 58, 0, time.UTC)

func (f Fixture) put(paths ...string) {
	for _, path := range paths {
		f.Put(path, []byte(path), moment)
	}
}

// Seen is what a visitor was told, sorted.
type Seen struct {
	Entered []string
	Files   []string
	Missing []string
	Links   []string // "link -> target"
	Failed  []string

	Entries map[string]blob.Entry
	Errors  map[string]error
}

// Walk gathers what a walk tells. A nil guide lists everything.
func Walk(ctx context.Context, r blob.Reader, dir string, guide func(string) blob.Step) (Seen, error) {
	var mu sync.Mutex
	s := Seen{Entries: map[string]blob.Entry{}, Errors: map[string]error{}}
	add := func(list *[]string, path string) {
		mu.Lock()
		defer mu.Unlock()
		*list = append(*list, path)
	}
	err := r.Walk(ctx, dir, blob.Visitor{
		Enter: func(dir string) blob.Step {
			add(&s.Entered, dir)
			if guide == nil {
				return blob.List()
			}
			return guide(dir)
		},
		File: func(e blob.Entry) {
			add(&s.Files, e.Path)
			mu.Lock()
			defer mu.Unlock()
			s.Entries[e.Path] = e
		},
		Missing: func(dir string) { add(&s.Missing, dir) },
		Link:    func(link, target string) { add(&s.Links, link+" -> "+target) },
		Fail: func(path string, err error) {
			add(&s.Failed, path)
			mu.Lock()
			defer mu.Unlock()
			s.Errors[path] = err
		},
	})
	for _, list := range [][]string{s.Entered, s.Files, s.Missing, s.Links, s.Failed} {
		slices.Sort(list)
	}
	return s, err
}
