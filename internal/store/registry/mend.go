package registry

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/ebb-io/ebb/internal/image"
	"github.com/ebb-io/ebb/internal/inventory"
	"github.com/ebb-io/ebb/internal/store/blob"
)

// ErrThere says that what a repair took for absent is there.
var ErrThere = errors.New("it is there by now")

// Mender is a store that may be mended.
type Mender struct {
	*Writable
	writer blob.Writer
}

// NewMender makes a store on a driver that may also write. Progress may be nil.
func NewMender(reader blob.Reader, deleter blob.Deleter, writer blob.Writer, progress *Progress) *Mender {
	return &Mender{Writable: NewWritable(reader, deleter, progress), writer: writer}
}

// MendBatch is how many steps Mend can take within a moment: each is looked at
// again, which on an object store is a request or more.
func (m *Mender) MendBatch() int {
	if m.flat {
		return burst * m.readers
	}
	return localBatch
}

// Mend takes steps, and answers with an error for each in the same order. It
// looks again at what each stands for right before: a step whose reason does
// not hold any more is not taken. What is removed already is no error.
func (m *Mender) Mend(ctx context.Context, steps []inventory.Mend) []error {
	errs := make([]error, len(steps))
	_ = each(ctx, len(steps), m.readers, func(ctx context.Context, i int) error {
		errs[i] = m.mend(ctx, steps[i])
		return nil // each error has its place
	})
	m.progress.done.Add(int64(len(steps)))
	return errs
}

func (m *Mender) mend(ctx context.Context, step inventory.Mend) error {
	switch step.Kind {
	case inventory.PutLayerLink, inventory.PutRevision, inventory.PutTagHistory:
		return m.put(ctx, step)
	case inventory.DropStray:
		return m.dropStray(ctx, step)
	case inventory.DropFolder:
		return m.dropFolder(ctx, step)
	}
	if err := m.stillLost(ctx, step); err != nil {
		return err
	}
	return m.remove(ctx, itemOf(step))
}

// remove is Delete for one item, without counting it.
func (m *Mender) remove(ctx context.Context, item inventory.Item) error {
	found, err := m.look(ctx, item, nil)
	if err != nil {
		return err
	}
	errs := []error{nil}
	m.deleteParts(ctx, []inventory.Item{item}, []parts{found}, errs)
	return errs[0]
}

func itemOf(step inventory.Mend) inventory.Item {
	item := inventory.Item{Repository: step.Repository, Tag: step.Tag, Digest: step.Digest, Stop: step.Stop}
	item.Kind = map[inventory.MendKind]inventory.ItemKind{
		inventory.DropTagHistory: inventory.TagHistory,
		inventory.DropTagLink:    inventory.TagLink,
		inventory.DropTagFolder:  inventory.TagFolder,
		inventory.DropRevision:   inventory.Revision,
		inventory.DropLayerLink:  inventory.LayerLink,
		inventory.DropRepository: inventory.RepositoryFolder,
	}[step.Kind]
	return item
}

// stillLost refuses to remove a name or a right whose content is there.
func (m *Mender) stillLost(ctx context.Context, step inventory.Mend) error {
	switch step.Kind {
	case inventory.DropTagHistory:
		item := itemOf(step)
		item.Kind = inventory.TagLink
		if err := m.unmoved(ctx, item); err != nil {
			return err
		}
		return m.absentImage(ctx, step)
	case inventory.DropTagLink, inventory.DropRevision:
		return m.absentImage(ctx, step)
	case inventory.DropLayerLink:
		return m.absentLayer(ctx, step)
	}
	return nil // of the others only folders go, and only empty ones
}

// absent is nil where no blob lies under a digest. What can not be looked at
// is not absent.
func (m *Mender) absent(ctx context.Context, d image.Digest) error {
	_, err := m.reader.Stat(ctx, blobPath(d))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err == nil:
		return fmt.Errorf("%s: %w", blobPath(d), ErrThere)
	}
	return err
}

// absentImage also looks where a layer link of the same digest leads: registries
// of version 2 serve a manifest by either link.
func (m *Mender) absentImage(ctx context.Context, step inventory.Mend) error {
	if err := m.absent(ctx, step.Digest); err != nil {
		return err
	}
	content, err := m.linkContent(ctx, layerDir(step.Repository, step.Digest)+"/link")
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case torn(content, step.Digest):
		return nil
	}
	return fmt.Errorf("%s: %w: it leads to %q", layerDir(step.Repository, step.Digest)+"/link", ErrThere, content)
}

// absentLayer also looks where a link leads whose content is another digest.
func (m *Mender) absentLayer(ctx context.Context, step inventory.Mend) error {
	if err := m.absent(ctx, step.Digest); err != nil || !mayBeRenamed(step.Digest) {
		return err
	}
	content, err := m.linkContent(ctx, layerDir(step.Repository, step.Digest)+"/link")
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	target, err := image.ParseDigest(content)
	if err != nil {
		return err
	}
	return m.absent(ctx, target)
}

func (m *Mender) linkContent(ctx context.Context, path string) (string, error) {
	content, _, err := blob.ReadFile(ctx, m.reader, path, linkLimit)
	return string(content), err
}

// put writes a link anew that holds what is left of its digest, and for the
// right to serve a content only where that content is.
func (m *Mender) put(ctx context.Context, step inventory.Mend) error {
	content, err := m.linkContent(ctx, step.Path)
	switch {
	case err != nil:
		return err
	case content == step.Digest.String():
		return nil
	case !torn(content, step.Digest):
		return fmt.Errorf("%s: %w", step.Path, ErrMoved)
	}
	if step.Kind != inventory.PutTagHistory {
		if _, err := m.reader.Stat(ctx, blobPath(step.Digest)); err != nil {
			return err
		}
	}
	return m.writer.Put(ctx, step.Path, []byte(step.Digest.String()))
}

// dropStray removes a temporary file that nobody went on with.
func (m *Mender) dropStray(ctx context.Context, step inventory.Mend) error {
	entry, err := m.reader.Stat(ctx, step.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case entry.Size != step.Size || inventory.TimeOf(entry.ModTime) != step.ModTime:
		return fmt.Errorf("%s: %w", step.Path, ErrMoved)
	}
	return errors.Join(m.deleter.Delete(ctx, []string{step.Path})...)
}

// dropFolder removes folders that hold nothing but each other.
func (m *Mender) dropFolder(ctx context.Context, step inventory.Mend) error {
	paths := make([]string, len(step.Inside))
	for i, dir := range step.Inside {
		paths[i] = strings.TrimSuffix(dir, "/") + "/"
	}
	return errors.Join(m.deleter.Delete(ctx, paths)...)
}
