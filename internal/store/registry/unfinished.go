package registry

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ebb-io/ebb/internal/inventory"
	"github.com/ebb-io/ebb/internal/store/blob"
)

// errNoParts says that a storage can not show, or not give up, uploads in parts.
var errNoParts = errors.New("this storage has no uploads in parts")

// unmovedParts looks at an upload in parts once more before it is given up. It is
// listed by itself: a listing for many would weigh the others again each time.
// One that is not there any more is finished, or given up already.
func (w *Writable) unmovedParts(ctx context.Context, item inventory.Item) error {
	store, ok := w.reader.(blob.Multipart)
	if !ok {
		return fmt.Errorf("%s: %w", item.Path, errNoParts)
	}
	found, err := store.Unfinished(ctx, item.Path[:max(0, strings.LastIndexByte(item.Path, '/'))])
	if err != nil {
		return err
	}
	for _, u := range found {
		if u.Path == item.Path && u.ID == item.Upload && (u.Size != item.Size || inventory.TimeOf(u.Touched) != item.ModTime) {
			return fmt.Errorf("%s: %w", item.Path, ErrMoved)
		}
	}
	return nil
}

// abort gives up uploads in parts.
func (w *Writable) abort(ctx context.Context, items []inventory.Item, errs []error) {
	var uploads []blob.Unfinished
	var owner []int
	for i, item := range items {
		if item.Kind == inventory.UnfinishedUpload && errs[i] == nil {
			uploads = append(uploads, blob.Unfinished{Path: item.Path, ID: item.Upload})
			owner = append(owner, i)
		}
	}
	for i, err := range w.abortAll(ctx, uploads) {
		if err != nil {
			errs[owner[i]] = named(uploads[i].Path, err)
		}
	}
}

func (w *Writable) abortAll(ctx context.Context, uploads []blob.Unfinished) []error {
	if len(uploads) == 0 {
		return nil
	}
	aborter, ok := w.deleter.(blob.Aborter)
	if !ok {
		return slices.Repeat([]error{errNoParts}, len(uploads))
	}
	return aborter.Abort(ctx, uploads)
}
