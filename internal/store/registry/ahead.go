package registry

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"sync"
	"time"

	"github.com/ebb-io/ebb/internal/inventory"
	"github.com/ebb-io/ebb/internal/store/blob"
)

// ahead is what a flat storage shows of a batch's tags and uploads: one listing
// tells of a thousand files, where a look at each item would take a request or
// more. Nil: nothing was looked at.
type ahead struct {
	mu   sync.Mutex
	seen map[string]*seen // by the folder of an item
}

type seen struct {
	files []blob.Entry
	err   error
}

// of is what was seen of an item; nil: it was not looked at. Nothing may be
// listed any more.
func (a *ahead) of(item inventory.Item) *seen {
	if a == nil {
		return nil
	}
	return a.seen[folderOf(item)]
}

// lookAhead lists what a batch is about on a flat storage; elsewhere each item
// is looked at by itself.
func (w *Writable) lookAhead(ctx context.Context, items []inventory.Item) *ahead {
	if !w.flat {
		return nil
	}
	found := &ahead{seen: map[string]*seen{}}
	var groups []*group
	by := map[string]*group{}
	for _, item := range items {
		parent, ok := homeOf(item)
		if !ok {
			continue
		}
		found.seen[folderOf(item)] = &seen{}
		name := strings.TrimPrefix(folderOf(item), parent+"/")
		if by[parent] == nil {
			by[parent] = &group{parent: parent, first: name, last: name}
			groups = append(groups, by[parent])
		}
		by[parent].add(name)
	}
	_ = each(ctx, len(groups), w.readers, func(ctx context.Context, i int) error {
		w.lookInto(ctx, groups[i], found)
		return nil // each error has its place
	})
	return found
}

// group is a folder with the bounds of the names in it that a batch is about.
type group struct{ parent, first, last string }

func (g *group) add(name string) { g.first, g.last = min(g.first, name), max(g.last, name) }

// homeOf is the folder in which many items of a kind lie side by side.
func homeOf(item inventory.Item) (string, bool) {
	switch item.Kind {
	case inventory.TagHistory, inventory.TagLink:
		return repositoryDir(item.Repository) + tagsDir, true
	case inventory.UploadFolder:
		return repositoryDir(item.Repository) + uploadsDir, true
	}
	return "", false
}

// folderOf is the item's own folder there.
func folderOf(item inventory.Item) string {
	if item.Kind == inventory.UploadFolder {
		return uploadDir(item.Repository, item.Upload)
	}
	return tagDir(item.Repository, item.Tag)
}

// lookInto lists a group's folder. What goes wrong is told of every item that
// it could be about.
func (w *Writable) lookInto(ctx context.Context, g *group, found *ahead) {
	of := func(path string, f func(*seen)) {
		found.mu.Lock()
		defer found.mu.Unlock()
		name, _, _ := strings.Cut(strings.TrimPrefix(path, g.parent+"/"), "/")
		if s := found.seen[g.parent+"/"+name]; s != nil {
			f(s)
		}
	}
	fail := func(path string, err error) {
		found.mu.Lock()
		defer found.mu.Unlock()
		for folder, s := range found.seen {
			if within(folder, []string{path}) || within(path, []string{folder}) {
				s.err = errors.Join(s.err, err)
			}
		}
	}
	err := w.reader.Walk(ctx, g.parent, blob.Visitor{
		First: g.first, Last: g.last,
		Enter: func(dir string) blob.Step {
			step := blob.Skip()
			of(dir, func(*seen) { step = blob.List() })
			return step
		},
		File:    func(e blob.Entry) { of(e.Path, func(s *seen) { s.files = append(s.files, e) }) },
		Missing: func(string) {},
		Link:    func(link, _ string) { fail(link, errors.New("a symbolic link")) },
		Fail:    fail,
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		fail(g.parent, err)
	}
}

// untouched tells of a tag that was seen as the plan knows it. Object stores
// tell the time in seconds, in one of their answers at least: a tag that was
// moved within the second of its writing is as young as can be, and no plan
// deletes it unless told to ask no age.
func (a *ahead) untouched(item inventory.Item) bool {
	s := a.of(item)
	if s == nil || s.err != nil || item.Unread || item.ModTime == 0 {
		return false
	}
	for _, e := range s.files {
		if e.Path == Path(item) {
			return e.ModTime.Truncate(time.Second).Equal(item.ModTime.Time().Truncate(time.Second))
		}
	}
	return false
}

// treeOf is tree for an item that may have been seen already.
func (w *Writable) treeOf(ctx context.Context, item inventory.Item, a *ahead) (parts, error) {
	s := a.of(item)
	if s == nil {
		return w.tree(ctx, Path(item))
	}
	if s.err != nil {
		return parts{}, s.err
	}
	var p parts
	for _, e := range s.files {
		if within(e.Path, []string{Path(item)}) {
			p.must, p.size = append(p.must, e.Path), p.size+e.Size
		}
	}
	return p, nil // directories are not real there
}
