package registry

import (
	"context"
	"slices"

	"github.com/ebb-io/ebb/internal/image"
	"github.com/ebb-io/ebb/internal/inventory"
	"github.com/ebb-io/ebb/internal/store/blob"
)

// renamed is a layer link whose content may name another digest than its path:
// distribution computes sha256 for whatever is uploaded, stores the content
// under it, and leaves a link from the digest that the client used.
type renamed struct {
	repository string
	digest     image.Digest
}

func mayBeRenamed(d image.Digest) bool { return d.Algorithm() != "sha256" }

// readRenamed reads the layer links whose path does not tell where the content
// lies. One that can not be read leaves in doubt what its repository needs.
func (s *scan) readRenamed(ctx context.Context) error {
	err := each(ctx, len(s.renamed), s.readers, func(ctx context.Context, i int) error {
		return s.readRename(ctx, s.renamed[i])
	})
	if err != nil {
		return err
	}
	for id, targets := range s.stored {
		slices.SortFunc(targets, func(a, b inventory.ID) int {
			return s.contents.Digest(a).Compare(s.contents.Digest(b))
		})
		s.stored[id] = slices.Compact(targets)
	}
	return nil
}

func (s *scan) readRename(ctx context.Context, link renamed) error {
	path := layerDir(link.repository, link.digest) + "/link"
	content, _, err := blob.ReadFile(ctx, s.reader, path, linkLimit)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil && !damaged(err) {
		s.failRead(link.repository, path, err)
		return nil
	}
	target, parseErr := image.ParseDigest(string(content))
	if err == nil {
		err = parseErr
	}
	if err != nil {
		s.locked(func() {
			s.report(path, inventory.LinkDamaged, err.Error())
			s.repository(link.repository).Doubtful = true
		})
		return nil
	}
	from, to := s.contents.Intern(link.digest), s.contents.Intern(target)
	if from != to {
		s.locked(func() { s.stored[from] = append(s.stored[from], to) })
	}
	return nil
}
