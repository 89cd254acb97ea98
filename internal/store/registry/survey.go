package registry

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/ebb-io/ebb/internal/inventory"
	"github.com/ebb-io/ebb/internal/store/blob"
)

// Survey finds what a repair may mend and a snapshot does not look for: links
// with another content than their digest, temporary files, and folders that
// hold nothing. It lists every folder but those of uploads, and follows no
// symbolic link but in repositories' names. What can not be seen is said; the
// only error is the context's.
func (s *Store) Survey(ctx context.Context, inv *inventory.Inventory) (*inventory.Survey, error) {
	v := &survey{Store: s, open: map[string]*inventory.Folder{}, names: map[string]*nameFolder{}, odd: map[string]bool{}}
	faults, err := s.faultyLinks(ctx, inv)
	if err != nil {
		return nil, err
	}
	for _, phase := range []func(context.Context) error{v.readBlobs, v.readRepositories} {
		if err := phase(ctx); err != nil {
			return nil, err
		}
	}
	index := &links{Store: s}
	err = each(ctx, len(v.index), s.readers, func(ctx context.Context, i int) error { return index.look(ctx, v.index[i]) })
	if err != nil {
		return nil, err
	}
	return v.result(ctx, inv, append(faults, index.faults...))
}

// survey is a survey in the making.
type survey struct {
	*Store
	mu    sync.Mutex
	open  map[string]*inventory.Folder // in which nothing but strays was found so far
	names map[string]*nameFolder       // of repositories and those above them
	odd   map[string]bool
	index []inventory.LinkFault // links of tags' indexes that have another length than their digest

	strays   []inventory.Stray
	unseen   []string // repositories, and folders above some
	blind    bool     // no repository was seen
	problems []inventory.Problem
}

// nameFolder is a folder that has, or could have, a repository's name.
type nameFolder struct {
	holds  bool     // some file lies in it, at any depth
	owns   bool     // some file lies in its own repository
	part   bool     // it is a repository: it has one of its folders
	inside []string // the folders of its own repository, while that owns nothing
}

// temporary are the names that a registry (from v3.1 on, with a UUID) and Ebb
// write a file under before they rename it.
var temporary = regexp.MustCompile(
	`^(?:(link|data)\.[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}|\.ebb-[A-Z2-7]{26})\.tmp$`)

func (v *survey) locked(f func()) {
	v.mu.Lock()
	defer v.mu.Unlock()
	f()
}

func (v *survey) walk(ctx context.Context, dir string, visitor blob.Visitor) error {
	return (&scan{Store: v.Store}).walk(ctx, dir, visitor)
}

// fail notes that not all of a folder was seen. It must be called with the lock
// held.
func (v *survey) fail(path, detail string) {
	v.problems = append(v.problems, inventory.Problem{Path: path, Code: inventory.NotListed, Detail: detail})
}

// enter begins a folder of a tag, a link or a blob. It must be called with the
// lock held.
func (v *survey) enter(f inventory.Folder) { v.open[f.Path] = &f }

// deeper adds a folder to those of the parts that it lies in. It must be called
// with the lock held.
func (v *survey) deeper(dir string, parts []string) {
	for _, part := range parts {
		if f := v.open[part]; f != nil {
			f.Inside = append(f.Inside, dir)
		}
	}
}

// full ends the parts in which something was found. It must be called with the
// lock held.
func (v *survey) full(parts []string) {
	for _, part := range parts {
		delete(v.open, part)
	}
}

// stray keeps a temporary file that stands beside what it would have become,
// and tells whether a file is one. It must be called with the lock held.
func (v *survey) stray(e blob.Entry, repository, becomes string) bool {
	_, name := cutLast(e.Path)
	match := temporary.FindStringSubmatch(name)
	if match == nil || (match[1] != "" && match[1] != becomes) || e.Link != "" {
		return false
	}
	v.strays = append(v.strays, inventory.Stray{
		Path: e.Path, Repository: repository, Size: e.Size, ModTime: inventory.TimeOf(e.ModTime),
	})
	return true
}

func cutLast(path string) (dir, name string) {
	i := strings.LastIndexByte(path, '/')
	return path[:max(i, 0)], path[i+1:]
}

func (v *survey) result(ctx context.Context, inv *inventory.Inventory, faults []inventory.LinkFault) (*inventory.Survey, error) {
	result := &inventory.Survey{
		Faults: faults, Strays: v.strays, Odd: v.odd, Bare: map[string]inventory.Time{},
		Unseen: v.unseenOf(inv), Problems: inventory.SortProblems(v.problems),
	}
	for _, path := range sortedKeys(v.open) {
		f := v.open[path]
		f.ModTime = v.touched(ctx, f.Inside)
		result.Folders = append(result.Folders, *f)
	}
	for path, n := range v.names {
		if n.part && !n.owns {
			result.Bare[strings.TrimPrefix(path, repositories+"/")] = v.touched(ctx, append(n.inside, path))
		}
	}
	for _, f := range v.above() {
		f.ModTime = v.touched(ctx, f.Inside)
		result.Folders = append(result.Folders, f)
	}
	slices.SortFunc(result.Faults, func(a, b inventory.LinkFault) int { return strings.Compare(a.Path, b.Path) })
	slices.SortFunc(result.Folders, func(a, b inventory.Folder) int { return strings.Compare(a.Path, b.Path) })
	slices.SortFunc(result.Strays, func(a, b inventory.Stray) int { return strings.Compare(a.Path, b.Path) })
	return result, ctx.Err()
}

// unseenOf are the repositories of an inventory of which not all was seen.
func (v *survey) unseenOf(inv *inventory.Inventory) map[string]bool {
	unseen := map[string]bool{}
	for i := range inv.Repositories {
		name := inv.Repositories[i].Name
		if v.blind || within(name, v.unseen) {
			unseen[name] = true
		}
	}
	return unseen
}

// above are the folders in which no file and no repository lies, each with those
// below it.
func (v *survey) above() []inventory.Folder {
	var found []inventory.Folder
	at := map[string]int{} // where a folder stands, or the one above that it went to
	for _, path := range sortedKeys(v.names) {
		if n := v.names[path]; n.part || n.holds || v.aboveRepository(path) {
			continue
		}
		i, inside := at[parentOf(path)]
		if !inside {
			i = len(found)
			found = append(found, inventory.Folder{Path: path, Repository: strings.TrimPrefix(path, repositories+"/"), Above: true})
		}
		at[path] = i
		found[i].Inside = append(found[i].Inside, path)
	}
	return found
}

// aboveRepository tells whether a repository that holds nothing lies below: it
// takes the empty folders above it along.
func (v *survey) aboveRepository(path string) bool {
	for name, n := range v.names {
		if n.part && strings.HasPrefix(name, path+"/") {
			return true
		}
	}
	return false
}

// touched is the newest time stamp of folders; zero where it is not known of
// one of them.
func (v *survey) touched(ctx context.Context, dirs []string) inventory.Time {
	folders, ok := v.reader.(blob.Folders)
	if !ok {
		return 0
	}
	newest := inventory.Time(0)
	for _, dir := range dirs {
		at, err := folders.Touched(ctx, dir)
		if err != nil || inventory.TimeOf(at) == 0 {
			return 0
		}
		newest = max(newest, inventory.TimeOf(at))
	}
	return newest
}
