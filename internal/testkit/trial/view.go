package trial

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/opencontainers/go-digest"

	_ "crypto/sha512" // digests may be sha512

	"github.com/ebb-io/ebb/internal/store/blob"
	"github.com/ebb-io/ebb/internal/testkit/world"
)

// View is every file of a storage, by its path.
type View map[string][]byte

// Ref names an image of a repository by a tag or a digest.
type Ref struct{ Repository, Name string }

// Folder reads a storage on disk. It follows no symbolic link.
func Folder(dir string) (View, error) {
	v := View{}
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		v[strings.TrimPrefix(path, dir+"/")] = data
		return err
	})
	return v, err
}

// Memory is a storage that lists its paths.
type Memory interface {
	blob.Reader
	Paths() []string
}

// Mem reads a storage in memory.
func Mem(store Memory) (View, error) {
	v := View{}
	for _, path := range store.Paths() {
		data, _, err := blob.ReadFile(context.Background(), store, path, 1<<30)
		if err != nil {
			return nil, err
		}
		v[path] = data
	}
	return v, nil
}

// Refs is all that a registry lists: tags whose current link can be read, and
// revisions that have their link. They are sorted.
func (v View) Refs() []Ref {
	var found []Ref
	for path, data := range v {
		rest, ok := strings.CutPrefix(path, world.Root+"/repositories/")
		if !ok {
			continue
		}
		if repo, tag, ok := cut(rest, "/_manifests/tags/", "/current/link"); ok && digest.Digest(data).Validate() == nil {
			found = append(found, Ref{repo, tag})
		}
		if repo, hash, ok := cut(rest, "/_manifests/revisions/", "/link"); ok {
			found = append(found, Ref{repo, strings.Replace(hash, "/", ":", 1)})
		}
	}
	slices.SortFunc(found, func(a, b Ref) int { return strings.Compare(a.String(), b.String()) })
	return found
}

func (r Ref) String() string {
	if strings.Contains(r.Name, ":") {
		return r.Repository + "@" + r.Name
	}
	return r.Repository + ":" + r.Name
}

func cut(path, middle, end string) (before, after string, ok bool) {
	before, after, ok = strings.Cut(path, middle)
	after, ended := strings.CutSuffix(after, end)
	return before, after, ok && ended
}

// Target is the digest that an image has by now.
func (v View) Target(ref Ref) string {
	if strings.Contains(ref.Name, ":") {
		return ref.Name
	}
	return string(v[world.TagLink(ref.Repository, ref.Name)])
}

// Parts is what a registry serves of an image: itself, its children at any
// depth, configs and layers, each with right content; and what it should serve
// and does not. A child that the repository does not have is not counted as
// missing: an index may be sparse.
func (v View) Parts(ref Ref) (served map[string]bool, missing []string) {
	p := parts{View: v, repo: ref.Repository, served: map[string]bool{}}
	p.manifest(v.Target(ref))
	slices.Sort(p.missing)
	return p.served, p.missing
}

type parts struct {
	View
	repo    string
	served  map[string]bool
	missing []string
}

// content is any manifest's, of whatever kind: all that it names counts.
type content struct {
	Config    *descriptor  `json:"config"`
	Layers    []descriptor `json:"layers"`
	Manifests []descriptor `json:"manifests"`
	Blobs     []descriptor `json:"blobs"`
	FSLayers  []struct {
		BlobSum string `json:"blobSum"`
	} `json:"fsLayers"`
}

type descriptor struct {
	MediaType string   `json:"mediaType"`
	Digest    string   `json:"digest"`
	URLs      []string `json:"urls"`
}

func (p *parts) manifest(d string) {
	key := "manifest " + d
	if digest.Digest(d).Validate() != nil || p.served[key] {
		p.absent(digest.Digest(d).Validate() != nil, key)
		return
	}
	data := p.View[world.BlobPath(d)]
	var c content
	linked := string(p.View[world.RevisionLink(p.repo, d)]) == d
	if !linked || digest.Digest(d).Algorithm().FromBytes(data).String() != d || json.Unmarshal(data, &c) != nil {
		p.absent(true, key)
		return
	}
	p.served[key] = true
	for _, child := range c.Manifests {
		if _, has := p.View[world.RevisionLink(p.repo, child.Digest)]; has {
			p.manifest(child.Digest)
		}
	}
	for _, layer := range c.FSLayers {
		p.blob(descriptor{Digest: layer.BlobSum})
	}
	for _, d := range slices.Concat(c.Layers, c.Blobs) {
		p.blob(d)
	}
	if c.Config != nil {
		p.blob(*c.Config)
	}
}

// blob is served where the repository's link leads, which may be another
// digest than the one asked for.
func (p *parts) blob(d descriptor) {
	key := "blob " + d.Digest
	target := string(p.View[world.LayerLink(p.repo, d.Digest)])
	sound := digest.Digest(target).Validate() == nil
	if sound {
		data, has := p.View[world.BlobPath(target)]
		sound = has && digest.Digest(target).Algorithm().FromBytes(data).String() == target
	}
	if sound {
		p.served[key] = true
		return
	}
	p.absent(len(d.URLs) == 0, key)
}

func (p *parts) absent(needed bool, key string) {
	if needed {
		p.missing = append(p.missing, key)
	}
}

// Lost is what was served of an image before and is not any more.
func Lost(before *Known, after View, ref Ref) []string {
	has, _ := after.Parts(ref)
	var lost []string
	for part := range before.of(ref).served {
		if !has[part] {
			lost = append(lost, part)
		}
	}
	slices.Sort(lost)
	return lost
}

// Known is a view that does not change any more and remembers its parts. It is
// for concurrent use.
type Known struct {
	View
	mu    sync.Mutex
	parts map[Ref]parts
}

// Remember makes a view known.
func Remember(v View) *Known { return &Known{View: v, parts: map[Ref]parts{}} }

func (k *Known) of(ref Ref) parts {
	k.mu.Lock()
	defer k.mu.Unlock()
	p, ok := k.parts[ref]
	if !ok {
		p.served, p.missing = k.Parts(ref)
		k.parts[ref] = p
	}
	return p
}

// Whole tells whether nothing of an image was missing.
func (k *Known) Whole(ref Ref) bool { return len(k.of(ref).missing) == 0 }
