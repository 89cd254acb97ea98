package registry

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"github.com/ebb-io/ebb/internal/inventory"
	"github.com/ebb-io/ebb/internal/store/blob"
)

// Snapshot reads what the storage holds. What can not be read becomes a
// problem and a doubt in the inventory, never an absence; the only error is
// the context's.
//
// Candidates for deletion are read first and evidence of need last: uploads in
// parts, then blobs, then revisions and layer links, then tags, with a barrier
// between each. What appears meanwhile can so only protect.
func (s *Store) Snapshot(ctx context.Context) (*inventory.Inventory, error) {
	scan := newScan(s)
	s.progress.Restart()
	for _, phase := range []func(context.Context) error{
		scan.readUnfinished, scan.readBlobs, scan.readRepositories, scan.readRenamed, scan.readTags, scan.readManifests,
	} {
		if err := phase(ctx); err != nil {
			return nil, err
		}
	}
	s.beside = scan.beside
	return scan.inventory(), nil
}

// scan is a snapshot in the making.
type scan struct {
	*Store
	small     small
	contents  *inventory.Contents
	manifests map[inventory.ID]*inventory.Manifest
	// unsound are the manifests that tell nothing of their needs, unread those
	// that could not be read.
	unsound, unread map[inventory.ID]bool
	stored          map[inventory.ID][]inventory.ID

	mu           sync.Mutex
	repositories map[string]*inventory.Repository
	brokenOff    []string        // folders of names that could not be listed to their end
	shared       map[string]bool // repositories that share a part of themselves
	tagged       map[string]bool // repositories with a folder of tags
	tags         []tagName
	unfinished   []inventory.Unfinished
	uploads      map[uploadName]int // where each stands in its repository
	renamed      []renamed
	aliases      map[string]string // symbolic link to its target, both folders below repositories
	residue      []inventory.Residue
	beside       map[string][]string // see Store
	problems     []inventory.Problem
	unlisted     bool
}

func newScan(s *Store) *scan {
	return &scan{
		Store: s, repositories: map[string]*inventory.Repository{}, aliases: map[string]string{},
		stored: map[inventory.ID][]inventory.ID{}, tagged: map[string]bool{}, shared: map[string]bool{}, uploads: map[uploadName]int{},
		beside: map[string][]string{},
	}
}

func (s *scan) locked(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

// report must be called with the lock held.
func (s *scan) report(path string, code inventory.ProblemCode, detail string) {
	s.problems = append(s.problems, inventory.Problem{Path: path, Code: code, Detail: detail})
}

// repository must be called with the lock held.
func (s *scan) repository(name string) *inventory.Repository {
	r, ok := s.repositories[name]
	if !ok {
		r = &inventory.Repository{Name: name}
		s.repositories[name] = r
		s.progress.repositories.Add(1)
	}
	return r
}

// walk is Walk for a folder that may be absent.
func (s *scan) walk(ctx context.Context, dir string, v blob.Visitor) error {
	err := s.reader.Walk(ctx, dir, v)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// inventory puts everything in its order.
func (s *scan) inventory() *inventory.Inventory {
	inv := &inventory.Inventory{
		Contents: s.contents, Manifests: s.manifests, Stored: s.stored,
		Residue: s.residue, Unlisted: s.unlisted, Unfinished: s.unfinished,
	}
	s.nameAliases()
	names := sortedKeys(s.repositories)
	inv.Repositories = make([]inventory.Repository, len(names))
	_ = each(context.Background(), len(names), s.readers, func(_ context.Context, i int) error {
		r := s.repositories[names[i]]
		r.Unlisted = r.Unlisted || within(repositoryDir(r.Name), s.brokenOff) || s.shared[r.Name]
		s.order(r)
		inv.Repositories[i] = *r
		return nil
	})
	slices.SortFunc(inv.Residue, compareResidue)
	inv.Problems = inventory.SortProblems(append(s.problems, damage(inv)...))
	return inv
}

func (s *scan) order(r *inventory.Repository) {
	digest := s.contents.Digest
	slices.SortFunc(r.Images, func(a, b inventory.Image) int { return digest(a.ID).Compare(digest(b.ID)) })
	slices.SortFunc(r.Layers, func(a, b inventory.Link) int { return digest(a.ID).Compare(digest(b.ID)) })
	slices.SortFunc(r.Tags, func(a, b inventory.Tag) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(r.Uploads, func(a, b inventory.Upload) int { return cmp.Compare(a.ID, b.ID) })
	slices.SortFunc(r.Residue, compareResidue)
	slices.Sort(r.Aliases)
	r.Aliases = slices.Compact(r.Aliases)
}

func compareResidue(a, b inventory.Residue) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Tag, b.Tag), a.Digest.Compare(b.Digest))
}

// nameAliases gives each repository the names that symbolic links lend it, and
// each link's target its protection. Links are taken in order, each once, so
// that a link to a folder above it ends.
func (s *scan) nameAliases() {
	for _, link := range sortedKeys(s.aliases) {
		target := s.aliases[link]
		for _, r := range s.repositories {
			s.lend(r, strings.TrimPrefix(link, repositories+"/"), strings.TrimPrefix(target, repositories+"/"))
		}
	}
}

func (s *scan) lend(r *inventory.Repository, link, target string) {
	for _, name := range append([]string{r.Name}, r.Aliases...) {
		rest, below := strings.CutPrefix(name+"/", target+"/")
		if !below {
			continue
		}
		r.Aliases = append(r.Aliases, strings.TrimSuffix(link+"/"+rest, "/"))
		if name == r.Name && len(target) > len(r.LinkTarget) {
			r.LinkTarget = target
		}
	}
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
