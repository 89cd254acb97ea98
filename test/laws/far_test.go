package laws

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	app "github.com/ebb-io/ebb/internal/app/registry"
	"github.com/ebb-io/ebb/internal/store/blob"
	"github.com/ebb-io/ebb/internal/store/blob/fault"
	"github.com/ebb-io/ebb/internal/store/blob/mem"
)

// folders are a store whose folders are as real as a file system's: one that
// holds something can not be deleted, and one without the file that is asked for
// is shown.
type folders struct{ *mem.Store }

func (f folders) Walk(ctx context.Context, dir string, v blob.Visitor) error {
	enter := v.Enter
	v.Enter = func(dir string) blob.Step {
		step := enter(dir)
		if leaf, only := step.Leaf(); only {
			if _, err := f.Stat(ctx, dir+"/"+leaf); err != nil {
				v.Missing(dir)
				return blob.Skip()
			}
		}
		return step
	}
	return f.Store.Walk(ctx, dir, v)
}

func (f folders) Delete(ctx context.Context, paths []string) []error {
	errs := make([]error, len(paths))
	copy(errs, f.Store.Delete(ctx, paths))
	for i, path := range paths {
		if strings.HasSuffix(path, "/") && errs[i] == nil && f.holds(path) {
			errs[i] = blob.ErrNotEmpty
		}
	}
	return errs
}

func (f folders) holds(dir string) bool {
	holds := errors.New("it holds something")
	err := f.Store.Walk(context.Background(), strings.TrimSuffix(dir, "/"), blob.Visitor{
		Enter: func(string) blob.Step { return blob.List() }, File: func(blob.Entry) { holds = nil },
	})
	return err == nil && holds == nil
}

// far is a driver as one of an object store is.
func far(store *mem.Store, faults ...fault.Fault) *fault.Remote {
	return fault.NewRemote(store, 4, faults...)
}

// observed is a driver behind faults, whichever it is.
type observed interface {
	app.Driver
	Ops() []fault.Op
	Fired() bool
	Deleted() []string
	Counts() fault.Counts
}

// on is the sample's storage behind faults, near or far as was drawn.
func (s sample) on(faults ...fault.Fault) observed { return s.placed(s.store, faults...) }

// placed is a store in the sample's place.
func (s sample) placed(store *mem.Store, faults ...fault.Fault) observed {
	if s.far {
		return far(store, faults...)
	}
	return fault.New(folders{store}, faults...)
}

// A storage that is read flat has the same plan, and after a run the same files,
// as one that is read folder by folder.
func TestFarIsAsNear(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSample(t, true)
		near, away := s.store.Clone(), s.store.Clone()
		if diff := cmp.Diff(describe(check(t, folders{near}, s)), describe(check(t, far(away), s))); diff != "" {
			t.Fatalf("the plan differs (-near +far):\n%s", diff)
		}
		run(t, folders{near}, s)
		run(t, far(away), s)
		if diff := cmp.Diff(near.Paths(), away.Paths()); diff != "" {
			t.Fatalf("after a run (-near +far):\n%s", diff)
		}
	})
}
