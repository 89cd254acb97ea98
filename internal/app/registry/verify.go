package registry

import (
	"context"

	"github.com/ebb-io/ebb/internal/inventory"
	"github.com/ebb-io/ebb/internal/store/registry"
)

// Verified is what a verification looked at and found.
type Verified struct {
	Repositories, Tags, Images, Blobs int
	Bytes                             int64 // of all blobs
	Problems                          []inventory.Problem
}

// Verify checks that every tag leads to a manifest, every manifest to its
// content, that links hold their digest and sizes agree; deep also hashes all
// content. It looks at what is there and never at a cache.
func Verify(ctx context.Context, store *registry.Store, deep bool) (*Verified, error) {
	inv, empty, err := look(ctx, store.WithCache(nil))
	if err != nil {
		return nil, err
	}
	if empty != nil {
		return &Verified{}, empty
	}
	found, err := store.VerifyLinks(ctx, inv)
	if err != nil {
		return nil, err
	}
	if deep {
		contents, err := store.VerifyContents(ctx, inv)
		if err != nil {
			return nil, err
		}
		found = append(found, contents...)
	}
	return summarize(inv, found), nil
}

func summarize(inv *inventory.Inventory, found []inventory.Problem) *Verified {
	v := &Verified{Repositories: len(inv.Repositories), Images: inv.Images(), Blobs: inv.Contents.Blobs()}
	for i := range inv.Repositories {
		v.Tags += len(inv.Repositories[i].Tags)
	}
	for i := range inv.Contents.Blobs() {
		v.Bytes += max(inv.Contents.At(inventory.ID(i)).Size, 0)
	}
	v.Problems = inventory.SortProblems(append(found, newTo(found, inv.Problems)...))
	return v
}

// newTo leaves out what was found again with more detail.
func newTo(found, problems []inventory.Problem) []inventory.Problem {
	type key struct {
		path string
		code inventory.ProblemCode
	}
	seen := map[key]bool{}
	for _, p := range found {
		seen[key{p.Path, p.Code}] = true
	}
	var rest []inventory.Problem
	for _, p := range problems {
		if !seen[key{p.Path, p.Code}] {
			rest = append(rest, p)
		}
	}
	return rest
}
