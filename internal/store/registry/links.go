package registry

import (
	"bytes"
	"context"
	"errors"
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

// faultyLinks reads every revision and layer link: of all repositories at once,
// as one may have most of them. A layer link whose content may be another digest
// is left out: the snapshot has read it. The only error is the context's.
func (s *Store) faultyLinks(ctx context.Context, inv *inventory.Inventory) ([]inventory.LinkFault, error) {
	l := &links{Store: s}
	all := linksOf(inv)
	s.progress.begin(Links, int64(len(all)))
	err := each(ctx, len(all), s.readers, func(ctx context.Context, i int) error {
		defer s.progress.done.Add(1)
		return l.look(ctx, all[i].fault(inv))
	})
	return l.faults, err
}

// linkOf is a link to read: few bytes, as there may be millions.
type linkOf struct {
	repository uint32
	id         inventory.ID
	layer      bool
}

// fault is the link, with nothing wrong yet.
func (l linkOf) fault(inv *inventory.Inventory) inventory.LinkFault {
	name, d := inv.Repositories[l.repository].Name, inv.Contents.Digest(l.id)
	if l.layer {
		return inventory.LinkFault{Kind: inventory.LayerLink, Repository: name, Digest: d, Path: layerDir(name, d) + "/link"}
	}
	return inventory.LinkFault{Kind: inventory.Revision, Repository: name, Digest: d, Path: revisionDir(name, d) + "/link"}
}

func linksOf(inv *inventory.Inventory) []linkOf {
	var links []linkOf
	for i := range inv.Repositories {
		for _, img := range inv.Repositories[i].Images {
			if img.Linked {
				links = append(links, linkOf{uint32(i), img.ID, false})
			}
		}
		for _, link := range inv.Repositories[i].Layers {
			if !mayBeRenamed(inv.Contents.Digest(link.ID)) {
				links = append(links, linkOf{uint32(i), link.ID, true})
			}
		}
	}
	return links
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
	switch {
	case errors.Is(err, blob.ErrTooLarge):
		return inventory.LinkForeign, err.Error()
	case err != nil:
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
