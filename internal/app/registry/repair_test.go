package registry_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	app "github.com/ebb-io/ebb/internal/app/registry"
	"github.com/ebb-io/ebb/internal/demo/server"
	"github.com/ebb-io/ebb/internal/execute/guard"
	"github.com/ebb-io/ebb/internal/repair"
	"github.com/ebb-io/ebb/internal/store/blob/fs"
	"github.com/ebb-io/ebb/internal/testkit/world"
)

// repairUnder repairs a folder under the guard of a real registry on it; planned
// is called before anything is written.
func repairUnder(t *testing.T, dir string, options server.Options, planned func(*server.Server)) (*app.Repaired, error) {
	t.Helper()
	s, err := server.Start(t.Context(), dir, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	g, err := guard.New(s.URL())
	if err != nil {
		t.Fatal(err)
	}
	driver, err := fs.OpenWritable(dir)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)
	return app.Repair(t.Context(), driver, nil, app.RepairRequest{
		Damages: app.Damages{MaxDeleteShare: 100, LeftoverAge: time.Hour, Now: now},
		Access:  app.Access{Guards: []*guard.Guard{g}}, Clock: func() time.Time { return now },
		Planned: func(*repair.Plan) { planned(s) },
	})
}

// broken writes a tag that leads nowhere beside what is whole.
func broken(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	w := town(dir, "apps/a", "apps/b")
	w.Tag("apps/a", "gone", world.Digest("nothing"))
	return dir
}

func TestRepairUnderGuard(t *testing.T) {
	result, err := repairUnder(t, broken(t), server.Options{ReadOnly: true}, func(*server.Server) {})
	if err != nil || slices.Contains(result.Done, false) || len(result.Done) != 1 || !result.Guarded {
		t.Errorf("%+v, %v", result, err)
	}
}

// A registry that can not be asked any more, or takes writes, ends a repair
// before it writes anything.
func TestRepairNeedsProof(t *testing.T) {
	for what, c := range map[string]struct {
		options server.Options
		planned func(*server.Server)
		want    error
	}{
		"gone before the first phase": {server.Options{ReadOnly: true}, func(s *server.Server) { _ = s.Close() }, guard.ErrUnproven},
		"takes writes":                {server.Options{}, func(*server.Server) {}, guard.ErrWritable},
	} {
		dir := broken(t)
		before := tree(t, dir)
		if _, err := repairUnder(t, dir, c.options, c.planned); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", what, err, c.want)
		}
		if after := tree(t, dir); before != after {
			t.Errorf("%s: something changed:\n%s\n\n%s", what, before, after)
		}
	}
}
