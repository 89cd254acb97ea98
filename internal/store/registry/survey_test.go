package registry_test

import (
	"testing"

	"github.com/ebb-io/ebb/internal/store/blob/fault"
	"github.com/ebb-io/ebb/internal/store/blob/mem"
	"github.com/ebb-io/ebb/internal/store/registry"
	"github.com/ebb-io/ebb/internal/testkit/world"
)

// What a survey can not list it says, of whichever repository it is.
func TestSurveySaysWhatItDoesNotSee(t *testing.T) {
	store := mem.New()
	w := world.New(world.Mem(store))
	for _, name := range []string{"a", "b", "b/c"} {
		w.Image(name, world.ConfigText(name), world.Tag("v1"))
	}
	inv, err := registry.New(store, nil).Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string][]string{
		world.RepositoryPath("a") + "/_layers":            {"a"},
		world.RepositoryPath("a") + "/_manifests/tags/v1": {"a"},
		world.RepositoryPath("b"):                         {"b", "b/c"},
		world.RepositoryPath("b/c") + "/_manifests":       {"b/c"},
		world.Root + "/repositories":                      {"a", "b", "b/c"},
		world.Root + "/blobs":                             nil,
		world.Root + "/blobs/sha256":                      nil,
	} {
		reader := fault.NewReader(store, fault.FailReadWhere(func(o fault.Op) bool { return o.Kind == fault.Listing && o.Path == path }))
		survey, err := registry.New(reader, nil).Survey(t.Context(), inv)
		if err != nil {
			t.Fatal(err)
		}
		if len(survey.Problems) != 1 || survey.Problems[0].Path != path {
			t.Errorf("%s: problems %v", path, survey.Problems)
		}
		if len(survey.Unseen) != len(want) {
			t.Errorf("%s: unseen are %v, want %v", path, survey.Unseen, want)
		}
		for _, name := range want {
			if !survey.Unseen[name] {
				t.Errorf("%s: %s is taken for seen", path, name)
			}
		}
	}
}
