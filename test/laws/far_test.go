package laws

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	app "github.com/ebb-io/ebb/internal/app/registry"
	"github.com/ebb-io/ebb/internal/store/blob/fault"
)

// far is a driver as one of an object store is: walks list everything, folders
// are not real, and each call is a request.
type far struct{ *fault.Driver }

func (far) InFlight() int { return 4 }

// Delete takes every folder for absent.
func (f far) Delete(ctx context.Context, paths []string) []error {
	var files []string
	var at []int
	for i, path := range paths {
		if !strings.HasSuffix(path, "/") {
			files, at = append(files, path), append(at, i)
		}
	}
	failed := f.Driver.Delete(ctx, files)
	if failed == nil {
		return nil
	}
	errs := make([]error, len(paths))
	for i, err := range failed {
		errs[at[i]] = err
	}
	return errs
}

// on is the sample's storage behind faults, near or far as was drawn.
func (s sample) on(faults ...fault.Fault) app.Driver { return s.placed(fault.New(s.store, faults...)) }

func (s sample) placed(d *fault.Driver) app.Driver {
	if s.far {
		return far{d}
	}
	return d
}

// A storage that is read flat has the same plan, and after a run the same files,
// as one that is read folder by folder.
func TestFarIsAsNear(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSample(t, true)
		near, away := s.store.Clone(), s.store.Clone()
		if diff := cmp.Diff(describe(check(t, near, s)), describe(check(t, far{fault.New(away)}, s))); diff != "" {
			t.Fatalf("the plan differs (-near +far):\n%s", diff)
		}
		run(t, near, s)
		run(t, far{fault.New(away)}, s)
		if diff := cmp.Diff(near.Paths(), away.Paths()); diff != "" {
			t.Fatalf("after a run (-near +far):\n%s", diff)
		}
	})
}
