package registry

import (
	"context"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"errors"
	"hash"
	"io"

	"github.com/ebb-io/ebb/internal/image"
	"github.com/ebb-io/ebb/internal/inventory"
)

// hashers is how many contents are hashed at once: hashing is bound by the
// processor, reading by the disk.
const hashers = 8

// VerifyLinks reads every revision and layer link and returns those that do
// not hold their digest. The only error is the context's.
func (s *Store) VerifyLinks(ctx context.Context, inv *inventory.Inventory) ([]inventory.Problem, error) {
	faults, err := s.faultyLinks(ctx, inv)
	problems := make([]inventory.Problem, 0, len(faults))
	for _, f := range faults {
		code := inventory.LinkDamaged
		if f.State == inventory.LinkUnread {
			code = inventory.NotListed
		}
		problems = append(problems, inventory.Problem{Path: f.Path, Code: code, Detail: f.Detail})
	}
	return inventory.SortProblems(problems), err
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
