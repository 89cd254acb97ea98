package registry_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/ebb-io/ebb/internal/image"
	"github.com/ebb-io/ebb/internal/inventory"
	"github.com/ebb-io/ebb/internal/store/blob/mem"
	"github.com/ebb-io/ebb/internal/store/registry"
	"github.com/ebb-io/ebb/internal/testkit/world"
)

// A name or a revision goes only while nothing can be served by it: registries
// of version 2 look at layer links too.
func TestMenderLooksWhereALayerLinkLeads(t *testing.T) {
	const repository = "team/r0"
	lost := "sha256:" + strings.Repeat("ab", 32)
	d, err := image.ParseDigest(lost)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		reason  string
		link    string // content of the layer link; "-": there is none
		removed bool
	}{
		{"there is no layer link", "-", true},
		{"it leads to the lost manifest itself", lost, true},
		{"it is empty, as a crash leaves it", "", true},
		{"it leads to another digest", "sha256:" + strings.Repeat("cd", 32), false},
		{"it leads nobody knows where", "hello", false},
	} {
		for _, kind := range []inventory.MendKind{inventory.DropTagLink, inventory.DropRevision} {
			store := mem.New()
			path := world.TagLink(repository, "v1")
			if kind == inventory.DropRevision {
				path = world.RevisionLink(repository, lost)
			}
			store.Put(path, []byte(lost), time.Now())
			if test.link != "-" {
				store.Put(world.LayerLink(repository, lost), []byte(test.link), time.Now())
			}
			step := inventory.Mend{Kind: kind, Repository: repository, Tag: "v1", Digest: d, Path: path}
			errs := registry.NewMender(store, store, store.Writable(), nil).Mend(t.Context(), []inventory.Mend{step})
			_, gone := store.Stat(t.Context(), path)
			if (errs[0] == nil) != test.removed || (gone != nil) != test.removed || !test.removed && !errors.Is(errs[0], registry.ErrThere) {
				t.Errorf("%s, kind %d: %v, and then %v", test.reason, kind, errs[0], gone)
			}
		}
	}
}
