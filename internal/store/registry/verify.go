package registry

import (
	"context"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"

	"github.com/ebb-io/ebb/internal/image"
	"github.com/ebb-io/ebb/internal/inventory"
	"github.com/ebb-io/ebb/internal/store/blob"
)

// hashers is how many contents are hashed at once: hashing is bound by the
// processor, reading by the disk.
const hashers = 8

// VerifyLinks reads every revision and layer link and returns those that do
// not hold their digest. The only error is the context's.
func (s *Store) VerifyLinks(ctx context.Context, inv *inventory.Inventory) ([]inventory.Problem, error) {
	v := &verifier{Store: s}
	links := linksOf(inv)
	s.progress.begin(Links, int64(len(links)))
	err := each(ctx, len(links), s.readers, func(ctx context.Context, i int) error {
		defer s.progress.done.Add(1)
		link := links[i]
		d := inv.Contents.Digest(link.id)
		return v.link(ctx, link.folder(inv.Repositories[link.repository].Name, d)+"/link", d)
	})
	return inventory.SortProblems(v.problems), err
}

// VerifyContents hashes every blob and returns those whose content does not
// match their digest. The only error is the context's.
func (s *Store) VerifyContents(ctx context.Context, inv *inventory.Inventory) ([]inventory.Problem, error) {
	v := &verifier{Store: s}
	s.progress.begin(Hashing, s.progress.bytes.Load())
	err := each(ctx, inv.Contents.Blobs(), hashers, func(ctx context.Context, i int) error {
		return v.content(ctx, inv.Contents.Digest(inventory.ID(i)))
	})
	return inventory.SortProblems(v.problems), err
}

type verifier struct {
	*Store
	collector
	problems []inventory.Problem
}

func (v *verifier) report(path string, code inventory.ProblemCode, detail string) {
	v.do(func() { v.problems = append(v.problems, inventory.Problem{Path: path, Code: code, Detail: detail}) })
}

// linkOf is a link to verify: few bytes, as there may be millions.
type linkOf struct {
	repository uint32
	id         inventory.ID
	layer      bool
}

func (l linkOf) folder(repository string, d image.Digest) string {
	if l.layer {
		return layerDir(repository, d)
	}
	return revisionDir(repository, d)
}

// linksOf are the links of all repositories, but for those that a snapshot has
// read: one repository may have most of them.
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

func (v *verifier) link(ctx context.Context, path string, want image.Digest) error {
	content, _, err := blob.ReadFile(ctx, v.reader, path, linkLimit)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		v.report(path, inventory.LinkDamaged, err.Error())
	case len(content) == 0:
		v.report(path, inventory.LinkDamaged, empty)
	case string(content) != want.String():
		v.report(path, inventory.LinkDamaged, fmt.Sprintf("it holds %q", content))
	}
	return nil
}

func (v *verifier) content(ctx context.Context, d image.Digest) error {
	path := blobPath(d)
	h, err := hasherFor(d.Algorithm())
	if err != nil {
		v.report(path, inventory.NotUnderstood, err.Error())
		return nil
	}
	_, err = v.reader.Read(ctx, path, counter{h, v.progress})
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		v.report(path, inventory.NotListed, err.Error())
	case hex.EncodeToString(h.Sum(nil)) != d.Hex():
		v.report(path, inventory.DigestMismatch, "its content does not match its digest")
	}
	return nil
}

func hasherFor(algorithm string) (hash.Hash, error) {
	switch algorithm {
	case "sha256":
		return sha256.New(), nil
	case "sha384":
		return sha512.New384(), nil
	case "sha512":
		return sha512.New(), nil
	}
	return nil, errors.New("there is no way to compute " + algorithm)
}

// counter counts what is hashed.
type counter struct {
	io.Writer
	progress *Progress
}

func (c counter) Write(p []byte) (int, error) {
	n, err := c.Writer.Write(p)
	c.progress.done.Add(int64(n))
	return n, err
}
