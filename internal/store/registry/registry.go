// Package registry is the storage of CNCF distribution's registry on a blob
// driver: it shows what the storage holds, verifies it, and deletes the items
// it is told to.
//
// It refuses to decide: it does not know owners, policies or plans. It never
// asks the registry's HTTP interface what exists.
package registry

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/ebb-io/ebb/internal/image"
	"github.com/ebb-io/ebb/internal/store/blob"
)

// Store is one registry's storage.
type Store struct {
	reader   blob.Reader
	progress *Progress
	// readers is how many small reads are in flight at once.
	readers int
	// flat says that a walk lists every file whatever is skipped: what one walk
	// can find is not left to another.
	flat  bool
	cache ManifestCache // nil: none
	// beside is what the last snapshot of a flat storage saw in the folder of a
	// digest or a tag besides the files that make it one, by folder: there,
	// no deletion finds that a folder is not empty.
	beside map[string][]string
}

// localReaders are enough to hide the latency of a network file system, and few
// enough for any server.
const localReaders = 32

var (
	// ErrEmpty says that the storage holds nothing at all yet.
	ErrEmpty = errors.New("storage is empty")
	// ErrNoRegistry says that the storage holds something else.
	ErrNoRegistry = errors.New("no registry's storage")
)

// New makes a store on a driver. Progress may be nil.
func New(reader blob.Reader, progress *Progress) *Store {
	if progress == nil {
		progress = &Progress{}
	}
	s := &Store{reader: reader, progress: progress, readers: localReaders}
	if remote, ok := reader.(blob.Remote); ok {
		s.readers, s.flat = remote.InFlight(), true
	}
	return s
}

// Check tells whether the storage is a registry's. It returns an error that
// wraps ErrEmpty for one that holds nothing but a file system's lost+found,
// and ErrNoRegistry for one that holds other things only.
func (s *Store) Check(ctx context.Context) error {
	seen, err := s.top(ctx)
	if err != nil {
		return err
	}
	switch {
	case slices.Contains(seen, base):
		return nil
	case len(seen) == 0:
		return ErrEmpty
	case slices.Contains(seen, "repositories") || slices.Contains(seen, "blobs"):
		return fmt.Errorf("%w: it looks like the inside of one: name the folder that holds %s", ErrNoRegistry, base)
	}
	return fmt.Errorf("%w: it holds %s and no %s", ErrNoRegistry, sample(seen), base)
}

// top looks no deeper than the registry's folder.
func (s *Store) top(ctx context.Context) ([]string, error) {
	found := newCollector()
	var failed error
	err := s.reader.Walk(ctx, "", blob.Visitor{
		Enter: func(dir string) blob.Step {
			if dir == "lost+found" {
				return blob.Skip()
			}
			found.add(dir)
			if dir != base && strings.HasPrefix(base, dir+"/") {
				return blob.List()
			}
			return blob.Skip()
		},
		File:    func(e blob.Entry) { found.add(e.Path) },
		Missing: func(string) {},
		Link:    func(link, _ string) { found.add(link) },
		Fail:    func(_ string, err error) { found.do(func() { failed = errors.Join(failed, err) }) },
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return found.sorted(), errors.Join(err, failed)
}

// PullThrough tells whether the storage is a pull-through cache's: it keeps its
// schedule beside the registry's folder. A cache that never forgets has none,
// and can not be told.
func (s *Store) PullThrough(ctx context.Context) (bool, error) {
	_, err := s.reader.Stat(ctx, "scheduler-state.json")
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// AnyImage finds some image that its registry can serve, without reading all.
func (s *Store) AnyImage(ctx context.Context) (repository string, d image.Digest, found bool, err error) {
	walking, stop := context.WithCancel(ctx)
	defer stop()
	result := newCollector()
	scan := newScan(New(s.reader, nil))
	err = s.reader.Walk(walking, repositories, blob.Visitor{
		Enter: func(dir string) blob.Step {
			switch placeOf(dir).part {
			case layersDir, uploadsDir, tagsDir:
				return blob.Skip()
			}
			return scan.enterRepository(dir)
		},
		File: func(e blob.Entry) {
			p := placeOf(e.Path)
			part, isLink := strings.CutSuffix(p.part, "/link")
			digest, ok := linkDigest(part, revisionsDir)
			if !isLink || !ok || e.Size != int64(len(digest.String())) || !s.readable(walking, digest) {
				return
			}
			result.do(func() { repository, d, found = p.repository, digest, true })
			stop()
		},
		Missing: func(string) {},
		Link:    func(string, string) {},
		Fail:    func(string, error) {},
	})
	if found || errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return repository, d, found, errors.Join(err, ctx.Err())
}

// readable tells whether a manifest is there and sound.
func (s *Store) readable(ctx context.Context, d image.Digest) bool {
	content, _, err := blob.ReadFile(ctx, s.reader, blobPath(d), manifestLimit)
	if err != nil || !d.Matches(content) {
		return false
	}
	_, err = image.ParseManifest(content)
	return err == nil
}

func sample(names []string) string {
	const most = 3
	if len(names) > most {
		return strings.Join(names[:most], ", ") + " and more"
	}
	return strings.Join(names, ", ")
}
