package registry

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/ebb-io/ebb/internal/image"
	"github.com/ebb-io/ebb/internal/inventory"
	"github.com/ebb-io/ebb/internal/store/blob"
)

// ErrMoved says that a tag names another manifest by now, or that somebody went
// on with an upload.
var ErrMoved = errors.New("it has moved since the plan was made")

// Writable is a store that may delete.
type Writable struct {
	*Store
	deleter blob.Deleter
}

// NewWritable makes a store on a driver that may delete. Progress may be nil.
func NewWritable(reader blob.Reader, deleter blob.Deleter, progress *Progress) *Writable {
	return &Writable{Store: New(reader, progress), deleter: deleter}
}

const (
	// localBatch is dealt with in a moment by a local disk, which does some ten
	// thousand a second.
	localBatch = 2000
	// request is how many files an object store removes with one request.
	request = 1000
	// burst is how many requests, one after the other, take a moment.
	burst = 4
)

// Batch is how many items of a kind Delete can remove within a moment. An object
// store takes many files with one request, but not uploads in parts, and a
// repository is looked at by itself.
func (w *Writable) Batch(kind inventory.ItemKind) int {
	switch {
	case !w.flat:
		return localBatch
	case kind == inventory.UnfinishedUpload || kind == inventory.RepositoryFolder:
		return burst * w.readers
	}
	return request * w.readers
}

// Delete removes items, and answers with an error for each in the same order;
// nil where it is gone. An item that is absent already is gone. Nothing is
// removed that an item does not stand for: a folder goes only when it is empty.
// When ctx ends, it stops within a moment, and what is left has an error.
func (w *Writable) Delete(ctx context.Context, items []inventory.Item) []error {
	errs := make([]error, len(items))
	parts := make([]parts, len(items))
	ahead := w.lookAhead(ctx, items)
	_ = each(ctx, len(items), w.readers, func(ctx context.Context, i int) error {
		parts[i], errs[i] = w.look(ctx, items[i], ahead)
		return nil // each error has its place
	})
	w.deleteParts(ctx, items, parts, errs)
	w.abort(ctx, items, errs)
	w.progress.done.Add(int64(len(items)))
	return errs
}

// parts are the paths that an item consists of.
type parts struct {
	must []string // files, and folders of which nothing may be left
	may  []string // folders that go if they are empty
	// beside are files that mean nothing without the others: they go after them.
	beside []string
	size   int64 // bytes of the files
}

// simple tells whether an item is one file in a folder of its own.
func simple(item inventory.Item) bool {
	switch item.Kind {
	case inventory.Revision, inventory.LayerLink, inventory.ManifestBlob, inventory.Blob, inventory.TagFolder:
		return true
	}
	return false
}

func linkParts(item inventory.Item) parts {
	dir := Path(item)
	switch item.Kind {
	case inventory.TagFolder:
		return parts{must: []string{dir + "/current/", dir + "/index/", dir + "/"}}
	case inventory.Revision, inventory.LayerLink:
		return parts{must: []string{dir + "/link", dir + "/"}}
	}
	return parts{must: []string{dir + "/data", dir + "/"}}
}

// flatParts are linkParts where folders are not real: what else lies in the
// item's folder is known from the snapshot.
func (w *Writable) flatParts(item inventory.Item) parts {
	p := linkParts(item)
	p.must = slices.DeleteFunc(p.must, func(path string) bool { return strings.HasSuffix(path, "/") })
	p.beside = w.beside[Path(item)]
	return p
}

// look finds the parts of an item.
func (w *Writable) look(ctx context.Context, item inventory.Item, ahead *ahead) (parts, error) {
	switch {
	case simple(item) && w.flat:
		return w.flatParts(item), nil
	case simple(item):
		return linkParts(item), nil
	}
	switch item.Kind {
	case inventory.TagHistory:
		return w.treeOf(ctx, item, ahead)
	case inventory.TagLink:
		if ahead.untouched(item) {
			return parts{must: []string{Path(item)}}, nil
		}
		return parts{must: []string{Path(item)}}, w.unmoved(ctx, item)
	case inventory.UploadFolder:
		return w.uploadParts(ctx, item, ahead)
	case inventory.UnfinishedUpload:
		return parts{}, w.unmovedParts(ctx, item) // it consists of no file
	case inventory.RepositoryFolder:
		return w.repositoryParts(ctx, item)
	}
	return parts{}, fmt.Errorf("item of unknown kind %d", item.Kind)
}

// unmoved reads a tag once more before it goes.
func (w *Writable) unmoved(ctx context.Context, item inventory.Item) error {
	content, _, err := blob.ReadFile(ctx, w.reader, Path(item), linkLimit)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil && !(item.Unread && damaged(err)):
		return err
	case item.Unread:
		if _, err := image.ParseDigest(string(content)); err == nil {
			return ErrMoved // it was broken, and names something now
		}
		return nil
	case string(content) != item.Digest.String():
		return ErrMoved
	}
	return nil
}

// uploadParts looks at an upload once more before it goes: one that somebody
// went on with since the plan was made has another size.
func (w *Writable) uploadParts(ctx context.Context, item inventory.Item, ahead *ahead) (parts, error) {
	p, err := w.treeOf(ctx, item, ahead)
	if err == nil && len(p.must) > 0 && p.size != item.Size {
		err = ErrMoved
	}
	return p, err
}

// tree is everything below a folder, and the folder.
func (w *Writable) tree(ctx context.Context, dir string) (parts, error) {
	found, folders := newCollector(), newCollector()
	var failed error
	var size int64
	fail := func(path string, err error) {
		found.do(func() { failed = errors.Join(failed, fmt.Errorf("%s: %w", path, err)) })
	}
	err := w.reader.Walk(ctx, dir, blob.Visitor{
		Enter:  func(dir string) blob.Step { folders.add(dir + "/"); return blob.List() },
		Follow: func(link, target string) bool { fail(link, errors.New("a symbolic link to "+target)); return false },
		File: func(e blob.Entry) {
			found.do(func() { found.names, size = append(found.names, e.Path), size+e.Size })
		},
		Missing: func(string) {},
		Link:    func(link, target string) { fail(link, errors.New("a symbolic link to "+target)) },
		Fail:    fail,
	})
	if errors.Is(err, fs.ErrNotExist) {
		return parts{}, nil
	}
	return parts{must: append(append(found.names, folders.names...), dir+"/"), size: size}, errors.Join(err, failed)
}

// repositoryParts are the empty folders of a repository that goes. A file in
// them stops it.
func (w *Writable) repositoryParts(ctx context.Context, item inventory.Item) (parts, error) {
	if w.flat {
		return parts{}, w.bare(ctx, item)
	}
	var all parts
	dir := Path(item)
	for _, top := range []string{"/_manifests", layersDir, uploadsDir} {
		p, err := w.tree(ctx, dir+top)
		if err != nil {
			return parts{}, err
		}
		if i := slices.IndexFunc(p.must, func(path string) bool { return !strings.HasSuffix(path, "/") }); i >= 0 {
			return parts{}, fmt.Errorf("%w: there is %s", blob.ErrNotEmpty, p.must[i])
		}
		all.must = append(all.must, p.must...)
	}
	for dir != repositories && dir != repositories+"/"+item.Stop {
		all.may = append(all.may, dir+"/")
		dir = dir[:strings.LastIndex(dir, "/")]
	}
	return all, nil
}

// bare tells whether nothing of a repository is left where folders are not
// real: by one listing, which ends before most of the repositories nested in it.
func (w *Writable) bare(ctx context.Context, item inventory.Item) error {
	left := newCollector()
	var failed error
	err := w.reader.Walk(ctx, Path(item), blob.Visitor{
		Last: strings.TrimPrefix(uploadsDir, "/"),
		Enter: func(dir string) blob.Step {
			part := placeOf(dir).part + "/"
			for _, top := range []string{"/_manifests/", layersDir + "/", uploadsDir + "/"} {
				if strings.HasPrefix(part, top) {
					return blob.List()
				}
			}
			return blob.Skip()
		},
		File: func(e blob.Entry) {
			if placeOf(e.Path).part != "" {
				left.add(e.Path)
			}
		},
		Missing: func(string) {},
		Link:    func(string, string) {},
		Fail:    func(_ string, err error) { left.do(func() { failed = errors.Join(failed, err) }) },
	})
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if names := left.sorted(); len(names) > 0 {
		failed = errors.Join(failed, fmt.Errorf("%w: there is %s", blob.ErrNotEmpty, names[0]))
	}
	return errors.Join(err, failed)
}

// deleteParts deletes all items' paths, then what odd files stand in the way of.
func (w *Writable) deleteParts(ctx context.Context, items []inventory.Item, found []parts, errs []error) {
	var paths []string
	var owner []int
	for i, p := range found {
		if errs[i] != nil {
			continue
		}
		for _, path := range p.must {
			paths, owner = append(paths, path), append(owner, i)
		}
	}
	for i, err := range w.erase(ctx, paths) {
		if errors.Is(err, blob.ErrNotEmpty) && simple(items[owner[i]]) {
			err = w.clear(ctx, strings.TrimSuffix(paths[i], "/"))
		}
		if err != nil {
			errs[owner[i]] = errors.Join(errs[owner[i]], named(paths[i], err))
		}
	}
	w.deleteBeside(ctx, found, errs)
	w.tidy(ctx, found, errs)
}

// deleteBeside deletes what lay beside the files that are gone.
func (w *Writable) deleteBeside(ctx context.Context, found []parts, errs []error) {
	var paths []string
	var owner []int
	for i, p := range found {
		if errs[i] != nil {
			continue
		}
		for _, path := range p.beside {
			paths, owner = append(paths, path), append(owner, i)
		}
	}
	for i, err := range w.erase(ctx, paths) {
		if err != nil {
			errs[owner[i]] = errors.Join(errs[owner[i]], named(paths[i], err))
		}
	}
}

// erase deletes paths in the driver's order, and hands it no more at once than it
// removes within a moment: a driver finishes what it was given, and when ctx
// ends nothing more may go.
func (w *Writable) erase(ctx context.Context, paths []string) []error {
	errs := make([]error, len(paths))
	for piece := range slices.Chunk(slices.Concat(blob.DeleteOrder(paths)...), w.piece()) {
		some := make([]string, len(piece))
		for i, at := range piece {
			some[i], errs[at] = paths[at], context.Cause(ctx)
		}
		if ctx.Err() != nil {
			continue
		}
		for i, err := range w.deleter.Delete(ctx, some) {
			errs[piece[i]] = err
		}
	}
	return errs
}

// piece is how many paths a driver is handed at once: whole requests, of which
// there are fewer than could be in flight.
func (w *Writable) piece() int {
	if w.flat {
		return request * max(1, w.readers/burst)
	}
	return localBatch
}

// named is an error that names a path, once.
func named(path string, err error) error {
	if strings.Contains(err.Error(), strings.TrimSuffix(path, "/")) {
		return err
	}
	return fmt.Errorf("%s: %w", path, err)
}

// clear removes what else lies in the folder of a deleted part: the signatures
// of old registries, and temporary files that a crash left. It refuses when
// the part itself is there again.
func (w *Writable) clear(ctx context.Context, dir string) error {
	rest, err := w.tree(ctx, dir)
	if err != nil {
		return err
	}
	for _, part := range []string{"/link", "/data", "/current/link"} {
		if slices.Contains(rest.must, dir+part) {
			return fmt.Errorf("%w: there is %s again", blob.ErrNotEmpty, dir+part)
		}
	}
	return errors.Join(w.erase(ctx, rest.must)...)
}

// tidy removes folders that may be empty by now. That one is not is no failure.
func (w *Writable) tidy(ctx context.Context, found []parts, errs []error) {
	var folders []string
	for i, p := range found {
		if errs[i] == nil {
			folders = append(folders, p.may...)
		}
	}
	if len(folders) > 0 {
		slices.Sort(folders)
		_ = w.deleter.Delete(ctx, slices.Compact(folders))
	}
}
