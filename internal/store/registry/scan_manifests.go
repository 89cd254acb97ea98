package registry

import (
	"context"
	"errors"
	"slices"

	"github.com/ebb-io/ebb/internal/image"
	"github.com/ebb-io/ebb/internal/inventory"
	"github.com/ebb-io/ebb/internal/store/blob"
)

// manifestLimit is the largest manifest that distribution takes, in bytes.
const manifestLimit = 4 << 20

// readManifests reads every manifest once: those that a repository has, and
// what they list at any depth, for a child may have lost its revision.
func (s *scan) readManifests(ctx context.Context) error {
	s.manifests = map[inventory.ID]*inventory.Manifest{}
	s.unsound = map[inventory.ID]bool{}
	s.unread = map[inventory.ID]bool{}
	seen := map[inventory.ID]bool{}
	for wave := s.revisions(seen); len(wave) > 0; wave = s.children(wave, seen) {
		if err := s.readWave(ctx, wave); err != nil {
			return err
		}
	}
	doubtful, unread := map[inventory.ID]bool{}, map[inventory.ID]bool{}
	for _, r := range s.repositories {
		for _, i := range r.Images {
			absent := s.contents.At(i.ID).Size == inventory.Absent // of a child that is no loss: an index may be sparse
			r.Doubtful = r.Doubtful || absent || s.reaches(i.ID, s.unsound, doubtful)
			r.Unlisted = r.Unlisted || s.reaches(i.ID, s.unread, unread)
		}
	}
	return nil
}

// reaches tells whether a manifest, or one that it lists at any depth, is in
// the set. Digests can not go round in a circle; what is known is not asked
// again, as an index may list another many times.
func (s *scan) reaches(id inventory.ID, set, known map[inventory.ID]bool) bool {
	if found, ok := known[id]; ok {
		return found
	}
	m := s.manifests[id]
	found := set[id] || (len(set) > 0 && m != nil && m.Index && slices.ContainsFunc(m.Needs, func(n inventory.Need) bool {
		return n.Role == image.Child && s.reaches(n.ID, set, known)
	}))
	known[id] = found
	return found
}

func (s *scan) revisions(seen map[inventory.ID]bool) []inventory.ID {
	var wave []inventory.ID
	for _, name := range sortedKeys(s.repositories) {
		for _, i := range s.repositories[name].Images {
			if !seen[i.ID] {
				seen[i.ID] = true
				wave = append(wave, i.ID)
			}
		}
	}
	return wave
}

func (s *scan) children(wave []inventory.ID, seen map[inventory.ID]bool) []inventory.ID {
	var next []inventory.ID
	for _, id := range wave {
		m := s.manifests[id]
		if m == nil {
			continue
		}
		for _, need := range m.Needs {
			if need.Role == image.Child && !seen[need.ID] && s.contents.At(need.ID).Size != inventory.Absent {
				seen[need.ID] = true
				next = append(next, need.ID)
			}
		}
	}
	return next
}

func (s *scan) readWave(ctx context.Context, wave []inventory.ID) error {
	s.progress.more(Manifests, int64(len(wave)))
	rows := make([]inventory.Content, len(wave)) // reading adds rows, and looking up is not safe meanwhile
	for i, id := range wave {
		rows[i] = s.contents.At(id)
	}
	return each(ctx, len(wave), s.readers, func(ctx context.Context, i int) error {
		s.readManifest(ctx, wave[i], rows[i])
		return ctx.Err()
	})
}

func (s *scan) readManifest(ctx context.Context, id inventory.ID, row inventory.Content) {
	defer s.progress.done.Add(1)
	switch row.Size {
	case inventory.Absent: // told with each revision that names it
	case inventory.Unknown: // told already; its age is not known either
		s.locked(func() { s.unread[id] = true })
	default:
		if s.cachedManifest(id, row) {
			return
		}
		s.small.read(ctx, s.reader, blobPath(row.Digest), manifestLimit, func(content []byte, _ blob.Entry, err error) {
			s.takeManifest(id, row, content, err)
		})
	}
}

// takeManifest sorts what was read into what is sound, what is damaged and
// what could not be read.
func (s *scan) takeManifest(id inventory.ID, row inventory.Content, content []byte, err error) {
	d := row.Digest
	if err != nil && !errors.Is(err, blob.ErrTooLarge) {
		s.locked(func() {
			s.report(blobPath(d), inventory.NotListed, err.Error())
			s.unread[id] = true
		})
		return
	}
	if err == nil && !d.Matches(content) {
		err = errors.New("its content does not match its digest")
	}
	if err != nil {
		s.unsoundManifest(id, d, inventory.ManifestUnread, err)
		return
	}
	s.cacheManifest(row, content)
	s.parseManifest(id, d, content)
}

// parseManifest sorts what is sound into what is understood and what is not.
func (s *scan) parseManifest(id inventory.ID, d image.Digest, content []byte) {
	parsed, err := image.ParseManifest(content)
	switch {
	case errors.Is(err, image.ErrNotUnderstood):
		s.unsoundManifest(id, d, inventory.NotUnderstood, err)
	case err != nil:
		s.unsoundManifest(id, d, inventory.ManifestUnread, err)
	default:
		m := s.intern(parsed)
		s.locked(func() { s.manifests[id] = m })
	}
}

func (s *scan) unsoundManifest(id inventory.ID, d image.Digest, code inventory.ProblemCode, err error) {
	s.locked(func() {
		s.report(blobPath(d), code, err.Error())
		s.unsound[id] = true
	})
}

func (s *scan) intern(parsed image.Manifest) *inventory.Manifest {
	m := &inventory.Manifest{MediaType: parsed.MediaType, Index: parsed.IsIndex(), Filesystem: parsed.Filesystem}
	m.Needs = make([]inventory.Need, 0, len(parsed.Needs))
	for _, need := range parsed.Needs {
		m.Needs = append(m.Needs, inventory.Need{
			ID: s.contents.Intern(need.Digest), Role: need.Role, Optional: need.Optional, Size: need.Size,
		})
	}
	if parsed.Subject != nil {
		m.Subject, m.HasSubject = s.contents.Intern(*parsed.Subject), true
	}
	return m
}
