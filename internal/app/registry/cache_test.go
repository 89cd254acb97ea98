package registry_test

import (
	"testing"

	app "github.com/ebb-io/ebb/internal/app/registry"
	"github.com/ebb-io/ebb/internal/plan"
	"github.com/ebb-io/ebb/internal/store/blob/fault"
	"github.com/ebb-io/ebb/internal/store/blob/mem"
	"github.com/ebb-io/ebb/internal/store/registry/manifestcache"
	"github.com/ebb-io/ebb/internal/testkit/world"
)

// A run looks twice where a person is asked, and reads manifests once.
func TestRunUsesItsCache(t *testing.T) {
	cache, err := manifestcache.Open(t.TempDir(), manifestcache.DefaultLimit)
	if err != nil {
		t.Fatal(err)
	}
	store := mem.New()
	world.New(world.Mem(store)).Image("a", world.Tag("v1"))
	req := request()
	req.Cache = cache
	req.Approve = func(*plan.Plan) (bool, error) { return true, nil }
	counted := fault.New(store)
	if _, err := app.Run(t.Context(), counted, nil, req); err != nil {
		t.Fatal(err)
	}
	if reads := counted.Counts().Reads; reads != 3 { // the tag, twice, and the manifest
		t.Errorf("%d reads", reads)
	}
	if err := cache.Close(); err != nil {
		t.Error(err)
	}
}
