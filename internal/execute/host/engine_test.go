package host_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ebb-io/ebb/internal/engine"
	"github.com/ebb-io/ebb/internal/image"
)

// fakeEngine removes names and images as engines do: by the table of what was
// tried on real ones (internal/testkit/enginetest).
type fakeEngine struct {
	containerd bool
	names      map[image.Digest][]image.Name // tags, and what was pulled by digest
	used       map[image.Digest]bool         // by a stopped container
	calls      []string
	// fault is asked before each call, by its number from 1: an error, and
	// whether the call takes effect all the same.
	fault func(n int) (done bool, err error)
	// before is called before each call; nil: nothing is.
	before func(n int)
	// stays are images that are not deleted, although the engine says so.
	stays map[image.Digest]bool
	// confused answers with another image than it was asked for.
	confused bool
}

func (e *fakeEngine) call(ctx context.Context, what string) (done bool, err error) {
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	e.calls = append(e.calls, what)
	if e.before != nil {
		e.before(len(e.calls))
	}
	if e.fault == nil {
		return true, nil
	}
	return e.fault(len(e.calls))
}

func (e *fakeEngine) find(ref string) (image.Digest, bool) {
	if id, err := image.ParseDigest(ref); err == nil {
		_, ok := e.names[id]
		return id, ok
	}
	n := name(ref)
	for id, names := range e.names {
		if slices.Contains(names, n) {
			return id, true
		}
	}
	return image.Digest{}, false
}

func (e *fakeEngine) Inspect(ctx context.Context, ref string) (engine.Image, error) {
	if _, err := e.call(ctx, "inspect "+ref); err != nil {
		return engine.Image{}, err
	}
	id, ok := e.find(ref)
	if !ok {
		return engine.Image{}, fmt.Errorf("%s: %w", ref, engine.ErrNotFound)
	}
	img := engine.Image{ID: id}
	if e.confused {
		img.ID = image.SHA256([]byte("another"))
	}
	for _, n := range e.names[id] {
		if n.Tag == "" && !e.containerd {
			img.Digests = append(img.Digests, n)
			continue
		}
		img.Names = append(img.Names, n)
	}
	return img, nil
}

func (e *fakeEngine) Remove(ctx context.Context, ref string) error {
	done, err := e.call(ctx, "remove "+ref)
	if done {
		if failed := e.remove(ref); err == nil {
			err = failed
		}
	}
	return err
}

func (e *fakeEngine) remove(ref string) error {
	id, ok := e.find(ref)
	if !ok {
		return fmt.Errorf("%s: %w", ref, engine.ErrNotFound)
	}
	if ref == id.String() {
		return e.removeID(id)
	}
	n := name(ref)
	left := slices.DeleteFunc(slices.Clone(e.names[id]), func(o image.Name) bool { return o == n })
	sameTags := slices.ContainsFunc(left, func(o image.Name) bool { return o.Repository == n.Repository && o.Tag != "" })
	if n.Tag != "" && !sameTags { // the digests of its repository go with the last tag
		left = slices.DeleteFunc(left, func(o image.Name) bool { return o.Repository == n.Repository })
	}
	if len(left) > 0 {
		e.names[id] = left
		return nil
	}
	return e.drop(id)
}

func (e *fakeEngine) removeID(id image.Digest) error {
	repositories, tags := map[string]bool{}, 0
	for _, n := range e.names[id] {
		repositories[n.Repository] = true
		if n.Tag != "" {
			tags++
		}
	}
	if len(repositories) > 1 || tags > 1 {
		return fmt.Errorf("%s: referenced in multiple repositories: %w", id, engine.ErrConflict)
	}
	return e.drop(id)
}

func (e *fakeEngine) drop(id image.Digest) error {
	switch {
	case e.used[id]:
		return fmt.Errorf("%s: a container uses it: %w", id, engine.ErrConflict)
	case e.stays[id]:
		e.names[id] = nil
	default:
		delete(e.names, id)
	}
	return nil
}

func (e *fakeEngine) Tag(ctx context.Context, id image.Digest, n image.Name) error {
	if n.Digested {
		panic("no engine gives a digest")
	}
	done, err := e.call(ctx, "tag "+id.String()+" "+n.String())
	if !done {
		return err
	}
	if _, ok := e.names[id]; !ok {
		return errors.Join(err, engine.ErrNotFound)
	}
	for other, names := range e.names {
		e.names[other] = slices.DeleteFunc(slices.Clone(names), func(o image.Name) bool { return o == n })
	}
	e.names[id] = append(e.names[id], n)
	return err
}

// held is everything, for comparison.
func (e *fakeEngine) held() map[string]string {
	held := map[string]string{}
	for id, names := range e.names {
		var texts []string
		for _, n := range names {
			texts = append(texts, n.String())
		}
		slices.Sort(texts)
		held[id.String()] = strings.Join(texts, " ")
	}
	return held
}

func name(text string) image.Name {
	n, err := image.ParseName(text)
	if err != nil {
		panic(err)
	}
	return n
}
