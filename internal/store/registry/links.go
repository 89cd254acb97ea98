package registry

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"github.com/ebb-io/ebb/internal/image"
	"github.com/ebb-io/ebb/internal/inventory"
	"github.com/ebb-io/ebb/internal/store/blob"
)

// links finds those that do not hold the digest that their path names.
type links struct {
	*Store
	collector
	small  small
	faults []inventory.LinkFault
}

// faultyLinks reads every revision and layer link. A layer link whose content
// may be another digest is left out: the snapshot has read it. The only error
// is the context's.
func (s *Store) faultyLinks(ctx context.Context, inv *inventory.Inventory) ([]inventory.LinkFault, error) {
	l := &links{Store: s}
	err := each(ctx, len(inv.Repositories), readers, func(ctx context.Context, i int) error {
		return l.repository(ctx, inv, &inv.Repositories[i])
	})
	return l.faults, err
}

func (l *links) repository(ctx context.Context, inv *inventory.Inventory, r *inventory.Repository) error {
	for _, img := range r.Images {
		if !img.Linked {
			continue
		}
		d := inv.Contents.Digest(img.ID)
		fault := inventory.LinkFault{Kind: inventory.Revision, Repository: r.Name, Digest: d, Path: revisionDir(r.Name, d) + "/link"}
		if err := l.look(ctx, fault); err != nil {
			return err
		}
	}
	for _, link := range r.Layers {
		d := inv.Contents.Digest(link.ID)
		if mayBeRenamed(d) {
			continue
		}
		fault := inventory.LinkFault{Kind: inventory.LayerLink, Repository: r.Name, Digest: d, Path: layerDir(r.Name, d) + "/link"}
		if err := l.look(ctx, fault); err != nil {
			return err
		}
	}
	return nil
}

// look reads a link and keeps what is wrong with it.
func (l *links) look(ctx context.Context, fault inventory.LinkFault) error {
	l.small.read(ctx, l.reader, fault.Path, linkLimit, func(content []byte, _ blob.Entry, err error) {
		if err == nil && string(content) == fault.Digest.String() {
			return
		}
		fault.State, fault.Detail = linkState(content, fault.Digest, err)
		l.do(func() { l.faults = append(l.faults, fault) })
	})
	return ctx.Err()
}

// linkState says what is wrong with a link that does not hold its digest.
func linkState(content []byte, want image.Digest, err error) (inventory.LinkState, string) {
	if err != nil {
		return inventory.LinkUnread, err.Error()
	}
	state, detail := inventory.LinkForeign, fmt.Sprintf("it holds %q", content)
	if torn(string(content), want) {
		state = inventory.LinkTorn
	}
	switch {
	case len(content) == 0:
		detail = empty
	case len(bytes.Trim(content, "\x00")) == 0:
		detail = fmt.Sprintf("it holds %d zeros", len(content))
	}
	return state, detail
}

// torn tells whether a content is what is left of a digest: file systems end a
// file early after a crash, or fill it with zeros, and editors add a line break.
func torn(content string, want image.Digest) bool {
	left := strings.TrimSpace(strings.TrimRight(content, "\x00"))
	return strings.HasPrefix(want.String(), left)
}
