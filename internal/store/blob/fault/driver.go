package fault

import (
	"context"
	"io"
	"sync"

	"github.com/ebb-io/ebb/internal/store/blob"
)

// Reader wraps a driver that only reads.
type Reader struct {
	*script
	inner blob.Reader
}

// NewReader wraps a driver that only reads.
func NewReader(inner blob.Reader, faults ...Fault) *Reader {
	return &Reader{script: newScript(faults), inner: inner}
}

// Objects is a driver without a file system below it.
type Objects interface {
	blob.Reader
	blob.Deleter
	blob.Locker
}

// ObjectStore wraps a driver that has no blob.Volume.
type ObjectStore struct {
	*Reader
	inner    Objects
	deleting sync.Mutex // deletions that are counted go one by one
}

// NewObjectStore wraps a driver that has no blob.Volume.
func NewObjectStore(inner Objects, faults ...Fault) *ObjectStore {
	return &ObjectStore{Reader: NewReader(inner, faults...), inner: inner}
}

// Files is a driver with all there is.
type Files interface {
	Objects
	blob.Volume
}

// Driver wraps a driver that has everything.
type Driver struct {
	*ObjectStore
	volume blob.Volume
}

// New wraps a driver that has everything.
func New(inner Files, faults ...Fault) *Driver {
	return &Driver{ObjectStore: NewObjectStore(inner, faults...), volume: inner}
}

// Remote wraps a driver that has everything and stands for an object store.
type Remote struct {
	*Driver
	inFlight int
}

// NewRemote wraps a driver that has everything, of which it says that it is a
// blob.Remote with so many requests in flight.
func NewRemote(inner Files, inFlight int, faults ...Fault) *Remote {
	return &Remote{Driver: New(inner, faults...), inFlight: inFlight}
}

// InFlight is blob.Remote's.
func (r *Remote) InFlight() int { return r.inFlight }

// Stat is blob.Reader's.
func (r *Reader) Stat(ctx context.Context, path string) (blob.Entry, error) {
	if err := r.read(Stat, path); err != nil {
		return blob.Entry{}, err
	}
	return r.inner.Stat(ctx, path)
}

// Read is blob.Reader's.
func (r *Reader) Read(ctx context.Context, path string, w io.Writer) (blob.Entry, error) {
	if err := r.read(Read, path); err != nil {
		return blob.Entry{}, err
	}
	return r.inner.Read(ctx, path, w)
}

// Walk is blob.Reader's. A listing or a leaf that shall fail is told to Fail
// and not asked of the wrapped driver.
func (r *Reader) Walk(ctx context.Context, dir string, v blob.Visitor) error {
	if err := r.other(&r.counts.Walks); err != nil {
		return err
	}
	if err := r.read(Listing, dir); err != nil {
		v.Fail(dir, err)
		return nil
	}
	enter := v.Enter
	v.Enter = func(dir string) blob.Step {
		step := enter(dir)
		if err := r.step(dir, step); err.err != nil {
			v.Fail(err.path, err.err)
			return blob.Skip()
		}
		return step
	}
	return r.inner.Walk(ctx, dir, v)
}

type failure struct {
	path string
	err  error
}

func (r *Reader) step(dir string, step blob.Step) failure {
	if step.Skipped() {
		return failure{}
	}
	if leaf, only := step.Leaf(); only {
		path := dir + "/" + leaf
		return failure{path, r.read(Leaf, path)}
	}
	return failure{dir, r.read(Listing, dir)}
}

// Sync is blob.Volume's.
func (d *Driver) Sync(ctx context.Context) error {
	if err := d.other(&d.counts.Syncs); err != nil {
		return err
	}
	return d.volume.Sync(ctx)
}

// Free is blob.Volume's.
func (d *Driver) Free(ctx context.Context) (int64, error) {
	if err := d.other(new(int)); err != nil {
		return 0, err
	}
	return d.volume.Free(ctx)
}
