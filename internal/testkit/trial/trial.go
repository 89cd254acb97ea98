// Package trial tries Ebb's registry side on the storages of tests: it runs
// checks and runs as a shell would, and proves what is left by two means that
// share no code with Ebb: a reading of the files of its own, and a real
// distribution server.
//
// It decides nothing and mends nothing, and refuses to be used outside tests.
package trial

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	app "github.com/ebb-io/ebb/internal/app/registry"
	"github.com/ebb-io/ebb/internal/plan"
	"github.com/ebb-io/ebb/internal/policy"
	"github.com/ebb-io/ebb/internal/refs"
	"github.com/ebb-io/ebb/internal/source/manifests"
	"github.com/ebb-io/ebb/internal/source/rules"
	"github.com/ebb-io/ebb/internal/store/blob"
	"github.com/ebb-io/ebb/internal/store/registry"
)

// Question is what a plan is made from, beside the storage.
type Question struct {
	Owners refs.Set
	Policy policy.Policy
	Now    time.Time
}

// Ask is a question under the default policy.
func Ask(owners refs.Set, now time.Time) Question {
	return Question{Owners: owners, Policy: policy.Default(), Now: now}
}

func (q Question) request() app.Request {
	return app.Request{
		Owners: func(context.Context) (refs.Set, error) { return q.Owners, nil },
		Policy: q.Policy, Now: q.Now,
	}
}

// Check plans.
func (q Question) Check(ctx context.Context, reader blob.Reader) (*plan.Plan, error) {
	return app.Check(ctx, registry.New(reader, nil), q.request())
}

// Run plans and deletes, with nobody to ask and no registry to prove.
func (q Question) Run(ctx context.Context, driver app.Driver) (*app.Result, error) {
	return app.Run(ctx, driver, nil, app.RunRequest{
		Request: q.request(), Clock: func() time.Time { return q.Now },
	})
}

// Owners reads objects as kubectl writes them under owner rules; without any,
// under the rules that hold by default.
func Owners(t testing.TB, objects string, configs ...rules.Config) refs.Set {
	t.Helper()
	compiled := rules.Default()
	if len(configs) > 0 {
		var err error
		if compiled, err = rules.Compile(configs); err != nil {
			t.Fatal(err)
		}
	}
	collector := rules.NewCollector(compiled)
	file := filepath.Join(t.TempDir(), "owners.yaml")
	if err := os.WriteFile(file, []byte(objects), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := manifests.Load([]string{file}, collector); err != nil {
		t.Fatal(err)
	}
	return collector.Set()
}
