package registry

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/ebb-io/ebb/internal/inventory"
	"github.com/ebb-io/ebb/internal/store/blob"
)

// readUnfinished finds the uploads in parts that an object store keeps beside
// its objects. Nothing else depends on them: where they can not be listed, they
// stay.
func (s *scan) readUnfinished(ctx context.Context) error {
	store, ok := s.reader.(blob.Multipart)
	if !ok {
		return nil
	}
	found, err := store.Unfinished(ctx, base)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		s.report(base, inventory.PartsUnseen, err.Error())
		return nil
	}
	for _, u := range found {
		s.unfinished = append(s.unfinished, inventory.Unfinished{
			Path: u.Path, ID: u.ID, Repository: repositoryOf(u.Path), Upload: uploadOf(u.Path),
			Size: u.Size, Touched: inventory.TimeOf(u.Touched),
		})
	}
	slices.SortFunc(s.unfinished, func(a, b inventory.Unfinished) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.ID, b.ID))
	})
	return nil
}

// repositoryOf is empty for what lies outside of all repositories.
func repositoryOf(path string) string {
	if !strings.HasPrefix(path, repositories+"/") {
		return ""
	}
	return placeOf(path).repository
}

// uploadOf is empty for what belongs to no upload of a repository.
func uploadOf(path string) string {
	if repositoryOf(path) == "" {
		return ""
	}
	rest, inside := strings.CutPrefix(placeOf(path).part, uploadsDir+"/")
	if !inside {
		return ""
	}
	id, _, _ := strings.Cut(rest, "/")
	return id
}
