// Package blob is the smallest contract between Ebb and the place where a
// registry keeps its files. Paths are relative to the storage's root, with
// forward slashes and without a leading one; every function answers a path that
// CheckPath refuses with an error that wraps fs.ErrInvalid.
//
// It knows nothing of registries, images or plans. Reading and deleting are
// separate interfaces, so that a dry run can be given a driver that is not
// able to write. The suite in blobtest is the contract's exact wording.
package blob

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// Entry is a file as a driver shows it.
type Entry struct {
	Path    string
	Size    int64     // bytes
	ModTime time.Time // UTC; the zero value where it is not known
	Link    string    // where it really is, if a walk found it behind a symbolic link; see Follow
}

// Reader shows what a storage holds.
type Reader interface {
	// Walk shows the files below dir that the visitor asks for, in no order.
	// It returns an error that wraps fs.ErrNotExist where there is no such
	// directory, and the context's error; all else that goes wrong is told to
	// the visitor and the walk goes on.
	Walk(ctx context.Context, dir string, v Visitor) error

	// Read streams a file's content to w. It returns an error that wraps
	// fs.ErrNotExist where there is no such file, and w's own error unchanged.
	Read(ctx context.Context, path string, w io.Writer) (Entry, error)

	// Stat shows a file without its content. It returns an error that wraps
	// fs.ErrNotExist where there is no such file (a directory is no file).
	Stat(ctx context.Context, path string) (Entry, error)
}

// Deleter removes files.
type Deleter interface {
	// Delete removes files, and directories written with a slash at their
	// end if they are empty. Files go first, then directories, the deepest
	// first. It never removes what it was not given, and never follows a
	// symbolic link in the last place of a path.
	//
	// The answer has an error for each path, in the same order, or is nil
	// where all went well. That a path is absent already is no error. A
	// directory that is not empty yields ErrNotEmpty; a driver without real
	// directories may take every one for absent. Delete finishes the
	// batch it was given; when ctx ended before it began, nothing is removed.
	// Whoever must be able to stop hands over no more than goes in a moment.
	Delete(ctx context.Context, paths []string) []error
}

// Volume is what a driver can do besides, when it stands on a file system.
type Volume interface {
	// Sync returns when every deletion so far will outlive a power cut.
	Sync(ctx context.Context) error
	// Free is the room for new files, in bytes.
	Free(ctx context.Context) (int64, error)
}

// Folders shows directories, where a driver has real ones.
type Folders interface {
	// Touched is when something was last made in a directory or taken from it,
	// in UTC. It returns an error that wraps fs.ErrNotExist where there is no
	// such directory, and never follows a symbolic link in the last place.
	Touched(ctx context.Context, dir string) (time.Time, error)
}

// Remote is what a driver is besides, when it keeps objects on a server. Each
// call is a request or more, some of which may be on their way at once. A walk
// lists every key below its root whatever the visitor skips: one that asks for
// all costs no more than one that asks for little. Folders are not real: Delete
// takes each for absent, Missing is told of none, and nothing tells that one
// still holds something. Times may be in whole seconds, and one file's in finer
// ones where another call tells them.
type Remote interface {
	// InFlight is how many requests may be on their way at once: as many
	// callers have enough to do.
	InFlight() int
}

// Versions tells of a driver whose storage may keep what is deleted.
type Versions interface {
	// Versioned tells whether old versions are kept, so that deleting frees
	// nothing. An error says that it can not be told: it wraps
	// fs.ErrPermission where that is not allowed, errors.ErrUnsupported where
	// the server does not know versions.
	Versioned(ctx context.Context) (bool, error)
}

// Metered counts what a driver asks of its server.
type Metered interface {
	// Requests is how many were sent so far, every attempt counted.
	Requests() int64
}

// Writer changes files, which only a repair does.
type Writer interface {
	// Put makes or replaces a file in one step: a reader sees the old content
	// or the new, after a crash too. The directories it needs are made.
	Put(ctx context.Context, path string, data []byte) error
}

// Unfinished is an upload in parts that was begun and neither finished nor
// given up: no file, but its parts take room.
type Unfinished struct {
	Path string // of the file that it would become
	ID   string
	Size int64 // bytes of the parts so far
	// Touched is when its newest part came or, without one, when it was begun,
	// in UTC; zero: that is not known.
	Touched time.Time
}

// Multipart shows the uploads in parts of a driver that has them.
type Multipart interface {
	// Unfinished are those below dir, in no order. An error means that there
	// may be more.
	Unfinished(ctx context.Context, dir string) ([]Unfinished, error)
}

// Aborter gives up uploads in parts.
type Aborter interface {
	// Abort frees their parts. It answers as Delete does; one that is absent
	// by now is no error.
	Abort(ctx context.Context, uploads []Unfinished) []error
}

// Locker keeps two runs apart.
type Locker interface {
	// Lock takes the lock file at path or returns a *LockedError. A lock
	// whose holder is known to be gone is taken over.
	Lock(ctx context.Context, path string) (Lock, error)
	// Unlock removes the lock file at path whoever made it. It returns an
	// error that wraps fs.ErrNotExist where there is none, and a *LockedError
	// where the holder is known to be alive.
	Unlock(ctx context.Context, path string) error
}

// Lock is a lock that is held.
type Lock interface {
	// Beat tells others that the holder lives. It returns an error that
	// wraps ErrLockLost when the lock is no longer this holder's.
	Beat(ctx context.Context) error
	// Release gives the lock back and removes its file. It returns an error
	// that wraps ErrLockLost, and removes nothing, when the lock is no longer
	// this holder's. A second call does nothing.
	Release(ctx context.Context) error
}

// LockedError says that somebody else holds the lock.
type LockedError struct {
	Path  string
	Since time.Time // the holder's last sign of life
}

func (e *LockedError) Error() string {
	return fmt.Sprintf("lock %s is held, its last sign of life was at %s", e.Path, e.Since.UTC().Format(time.RFC3339))
}

var (
	// ErrNotEmpty says that a directory still holds something.
	ErrNotEmpty = errors.New("directory is not empty")
	// ErrLockLost says that a held lock was taken away.
	ErrLockLost = errors.New("lock is lost")
	// ErrTooLarge says that a file is larger than its reader was ready for.
	ErrTooLarge = errors.New("file is too large")
)

// Visitor is told what a walk finds. Its functions are called from many
// goroutines at once. All but Follow are required.
type Visitor struct {
	// First and Last are a hint: of the names directly in the walk's root only
	// those between the two, both included, are wanted. Others may be shown all
	// the same. Empty: no bound.
	First, Last string
	// Enter is asked about every directory below the walk's root before it is
	// read.
	Enter func(dir string) Step
	// Follow is asked about a symbolic link to a directory, the walk's root
	// included, before Enter is: false leaves it alone. Nil follows all. The
	// target is a path of this storage, or an absolute one outside of it.
	Follow func(link, target string) bool
	// File is told of every file in a listed directory, and of the one file
	// that Only asked for.
	File func(Entry)
	// Missing is told of a directory that lacks the file that Only asked for.
	// Drivers without real directories never call it.
	Missing func(dir string)
	// Link is told, instead of a listing, of a symbolic link to a directory
	// that the storage's walk reaches by another name too. Both are paths of
	// this storage.
	Link func(link, target string)
	// Fail is told of a path that could not be listed or looked at: whatever
	// is there stays unknown, even if the error wraps fs.ErrNotExist because
	// it vanished meanwhile. A symbolic link that leads nowhere is told
	// without asking Enter: it may as well be a file.
	Fail func(path string, err error)
}

// Step is what a walk does with a directory.
type Step struct {
	op   op
	leaf string
}

type op uint8

const (
	opList op = iota
	opSkip
	opOnly
)

// List reads the directory: its files are shown, its directories asked about.
func List() Step { return Step{op: opList} }

// Skip leaves the directory alone; a driver with real directories does not
// open it.
func Skip() Step { return Step{op: opSkip} }

// Only looks at a single file of the directory without listing it.
func Only(name string) Step { return Step{op: opOnly, leaf: name} }

// Skipped tells whether nothing below the directory is wanted.
func (s Step) Skipped() bool { return s.op == opSkip }

// Leaf is the file name that Only was given, and whether it was Only.
func (s Step) Leaf() (string, bool) { return s.leaf, s.op == opOnly }

// ReadFile reads a whole file of at most limit bytes; a larger one yields
// ErrTooLarge.
func ReadFile(ctx context.Context, r Reader, path string, limit int64) ([]byte, Entry, error) {
	var buffer bytes.Buffer
	entry, err := ReadInto(ctx, r, path, limit, &buffer)
	if err != nil {
		return nil, entry, err
	}
	return buffer.Bytes(), entry, nil
}

// ReadInto is ReadFile into a buffer, which may be used again.
func ReadInto(ctx context.Context, r Reader, path string, limit int64, buffer *bytes.Buffer) (Entry, error) {
	return r.Read(ctx, path, &limited{Buffer: buffer, limit: limit})
}

type limited struct {
	*bytes.Buffer
	limit int64
}

func (l *limited) Write(p []byte) (int, error) {
	if int64(l.Len()+len(p)) > l.limit {
		return 0, ErrTooLarge
	}
	return l.Buffer.Write(p)
}
