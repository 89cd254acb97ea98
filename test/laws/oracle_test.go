package laws

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"

	"github.com/ebb-io/ebb/internal/store/blob/mem"
)

// The oracle reads a storage as a registry's client would, with none of the
// code under test.

const root = "docker/registry/v2/"

// pullable is an image by repository and digest.
type pullable struct{ repository, digest string }

type oracle struct {
	files map[string][]byte
}

func read(store *mem.Store) oracle {
	o := oracle{files: map[string][]byte{}}
	for _, path := range store.Paths() {
		var content bytes.Buffer
		if _, err := store.Read(context.Background(), path, &content); err != nil {
			panic(err)
		}
		o.files[path] = content.Bytes()
	}
	return o
}

// whole are all images that can be pulled with everything they need.
func (o oracle) whole() map[pullable]bool {
	found := map[pullable]bool{}
	for path := range o.files {
		repository, rest, ok := strings.Cut(strings.TrimPrefix(path, root+"repositories/"), "/_manifests/revisions/sha256/")
		if !ok || !strings.HasPrefix(path, root+"repositories/") {
			continue
		}
		digest := "sha256:" + strings.TrimSuffix(rest, "/link")
		if o.pulls(repository, digest) {
			found[pullable{repository, digest}] = true
		}
	}
	return found
}

type descriptor struct{ Digest string }

type manifest struct {
	Config    *descriptor
	Layers    []descriptor
	Manifests []descriptor
}

// pulls tells whether a client gets the image whole. A child that its
// repository does not have is a sparse index's, and no loss.
func (o oracle) pulls(repository, digest string) bool {
	if !o.link(repository+"/_manifests/revisions", digest) || !o.blob(digest) {
		return false
	}
	var m manifest
	if json.Unmarshal(o.files[blobPath(digest)], &m) != nil {
		return false
	}
	if m.Config != nil {
		m.Layers = append(m.Layers, *m.Config)
	}
	for _, layer := range m.Layers {
		if !o.link(repository+"/_layers", layer.Digest) || !o.blob(layer.Digest) {
			return false
		}
	}
	return !slices.ContainsFunc(m.Manifests, func(child descriptor) bool {
		return o.linked(repository, child.Digest) && !o.pulls(repository, child.Digest)
	})
}

func (o oracle) linked(repository, digest string) bool {
	_, ok := o.files[linkPath(repository+"/_manifests/revisions", digest)]
	return ok
}

func (o oracle) link(dir, digest string) bool {
	return string(o.files[linkPath(dir, digest)]) == digest
}

func (o oracle) blob(digest string) bool {
	content, ok := o.files[blobPath(digest)]
	sum := sha256.Sum256(content)
	return ok && "sha256:"+hex.EncodeToString(sum[:]) == digest
}

// tags are the tags with a readable current link, as repository:tag.
func (o oracle) tags() map[string]pullable {
	found := map[string]pullable{}
	for path, content := range o.files {
		repository, rest, ok := strings.Cut(strings.TrimPrefix(path, root+"repositories/"), "/_manifests/tags/")
		tag, isCurrent := strings.CutSuffix(rest, "/current/link")
		if ok && isCurrent && strings.HasPrefix(string(content), "sha256:") {
			found[repository+":"+tag] = pullable{repository, string(content)}
		}
	}
	return found
}

func linkPath(dir, digest string) string {
	return root + "repositories/" + dir + "/" + strings.Replace(digest, ":", "/", 1) + "/link"
}

func blobPath(digest string) string {
	_, encoded, _ := strings.Cut(digest, ":")
	if len(encoded) < 2 {
		return ""
	}
	return root + "blobs/sha256/" + encoded[:2] + "/" + encoded + "/data"
}

func sortStrings(s []string) []string {
	slices.Sort(s)
	return s
}
