// Package scale serves a registry of any size as a bucket of S3 that can be read: the one that the package fixture would
// write for the same shape, with true digests, and without ever holding it. Manifests, configs and layers are made when
// they are asked for; 45 bytes a blob are kept.
//
// It is for measuring what a reader needs for a million blobs. It refuses to write, to delete and to fail: for that there
// is the fake of internal/testkit/objects.
package scale

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/opencontainers/go-digest"

	"github.com/ebb-io/ebb/test/bench/fixture"
)

// Registry is a registry that is made as it is read.
type Registry struct {
	shape  fixture.Shape
	stamp  time.Time
	shared fixture.Content
	parts  int // of an image: its own layers, its config, its manifest

	// Of every blob but the shared one, by its number: (repository x images + image) x parts + part.
	sums  [][sha256.Size]byte
	sizes []uint32

	blobs  []uint32   // numbers of all blobs, and shared, by digest
	layers [][]uint32 // of each repository: numbers of what has a layer link, by digest
	images [][]uint32 // of each repository: numbers of manifests, by digest
	tagged []int      // the images of every repository that have a tag, by its name
	repos  []int      // repositories by name
}

// shared is the number of the shared layer.
const shared = ^uint32(0)

// New is the registry of a shape, written fixture.Age before now.
func New(shape fixture.Shape, now time.Time) (*Registry, error) {
	r := &Registry{shape: shape, stamp: now.Add(-fixture.Age), shared: fixture.Shared(), parts: shape.Layers + 2}
	total := shape.Repositories * shape.Images * r.parts
	r.sums, r.sizes = make([][sha256.Size]byte, total), make([]uint32, total)
	r.layers, r.images = make([][]uint32, shape.Repositories), make([][]uint32, shape.Repositories)
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for repo := range shape.Repositories {
		group.Go(func() error { return r.make(repo) })
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	r.sort(total)
	return r, nil
}

// make fills in one repository.
func (r *Registry) make(repo int) error {
	for n := range r.shape.Images {
		img, err := r.shape.Image(repo, n, r.shared)
		if err != nil {
			return err
		}
		first := (repo*r.shape.Images + n) * r.parts
		for part, c := range append(img.Layers, img.Config, img.Manifest) {
			sum, err := sumOf(c.Digest)
			if err != nil {
				return err
			}
			number := uint32(first + part)
			r.sums[number], r.sizes[number] = sum, uint32(len(c.Data))
			if part < r.parts-1 {
				r.layers[repo] = append(r.layers[repo], number)
			} else {
				r.images[repo] = append(r.images[repo], number)
			}
		}
	}
	r.layers[repo] = append(r.layers[repo], shared)
	slices.SortFunc(r.layers[repo], r.compare)
	slices.SortFunc(r.images[repo], r.compare)
	return nil
}

func (r *Registry) sort(total int) {
	r.blobs = append(make([]uint32, 0, total+1), shared)
	for number := range uint32(total) {
		r.blobs = append(r.blobs, number)
	}
	slices.SortFunc(r.blobs, r.compare)
	for n := range r.shape.Images {
		if r.shape.Tagged(n) {
			r.tagged = append(r.tagged, n)
		}
	}
	slices.SortFunc(r.tagged, func(a, b int) int {
		return cmp.Compare(fixture.TagName(a)+"/", fixture.TagName(b)+"/")
	})
	for repo := range r.shape.Repositories {
		r.repos = append(r.repos, repo)
	}
	slices.SortFunc(r.repos, func(a, b int) int {
		return cmp.Compare(fixture.RepositoryName(a)+"/", fixture.RepositoryName(b)+"/")
	})
}

func (r *Registry) compare(a, b uint32) int {
	x, y := r.sum(a), r.sum(b)
	return bytes.Compare(x[:], y[:])
}

func (r *Registry) sum(number uint32) [sha256.Size]byte {
	if number == shared {
		return sha256.Sum256(r.shared.Data)
	}
	return r.sums[number]
}

func (r *Registry) digest(number uint32) digest.Digest {
	sum := r.sum(number)
	return digest.NewDigestFromBytes(digest.SHA256, sum[:])
}

func (r *Registry) size(number uint32) int64 {
	if number == shared {
		return int64(len(r.shared.Data))
	}
	return int64(r.sizes[number])
}

// manifest is the number of an image's manifest.
func (r *Registry) manifest(repo, n int) uint32 {
	return uint32((repo*r.shape.Images+n)*r.parts + r.parts - 1)
}

func sumOf(d digest.Digest) (sum [sha256.Size]byte, err error) {
	raw, err := hex.DecodeString(d.Encoded())
	if err != nil || len(raw) != len(sum) {
		return sum, fmt.Errorf("scale: %s is no sha256 digest", d)
	}
	return [sha256.Size]byte(raw), nil
}

// Content makes what an object holds.
func (r *Registry) Content(key string) (data []byte, ok bool) {
	for o := range r.from(key) {
		if o.key != key {
			return nil, false
		}
		if strings.HasSuffix(key, "/link") {
			return []byte(r.digest(o.number)), true
		}
		return r.blob(o.number)
	}
	return nil, false
}

func (r *Registry) blob(number uint32) ([]byte, bool) {
	if number == shared {
		return r.shared.Data, true
	}
	image, part := int(number)/r.parts, int(number)%r.parts
	img, err := r.shape.Image(image/r.shape.Images, image%r.shape.Images, r.shared)
	if err != nil {
		return nil, false // it was made before
	}
	return append(img.Layers, img.Config, img.Manifest)[part].Data, true
}
