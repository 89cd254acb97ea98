package inventory

import (
	"hash/maphash"
	"math"
	"math/bits"
	"slices"
	"sync"
	"time"

	"github.com/ebb-io/ebb/internal/image"
)

// ID stands for a digest that the store holds or names. It is an index into
// the inventory's contents: four bytes where a digest would take forty.
type ID uint32

// Time is a moment in nanoseconds since 1970, UTC. Zero: not known.
type Time int64

// lastYear is the last whole one that 64 bits of nanoseconds reach.
const lastYear = 2261

// TimeOf packs a time; the zero time, whatever lies before 1970, and years that
// can not be packed are not known.
func TimeOf(t time.Time) Time {
	if t.IsZero() || t.Unix() <= 0 || t.Year() > lastYear {
		return 0
	}
	return Time(t.UnixNano())
}

// Time unpacks it.
func (t Time) Time() time.Time {
	if t == 0 {
		return time.Time{}
	}
	return time.Unix(0, int64(t)).UTC()
}

// Absent is the size of content that is named but not there.
const Absent int64 = -1

// Unknown is the size of content that may be there and could not be looked at.
const Unknown int64 = -2

// Content is a digest and the blob behind it.
type Content struct {
	Digest  image.Digest
	Size    int64 // bytes, Absent or Unknown
	ModTime Time  // of the blob
}

// Present tells whether a blob is there and could be looked at.
func (c Content) Present() bool { return c.Size >= 0 }

// Contents is the table of all digests: first the blobs of the store, in the
// digests' order, then those that something names and no blob answers to.
type Contents struct {
	blobs []Content
	index index // of the blobs
	// unknown tells whether a digest's blob may exist although the listing
	// does not show it.
	unknown func(image.Digest) bool

	mu    sync.Mutex
	named []Content
	ids   map[image.Digest]ID // of the named ones
}

// NewContents makes the table of the blobs that were found, which it sorts in
// place. The function says of a digest that is not among them whether its
// blob may be there unseen.
func NewContents(blobs []Content, unknown func(image.Digest) bool) *Contents {
	slices.SortFunc(blobs, func(a, b Content) int { return a.Digest.Compare(b.Digest) })
	return &Contents{blobs: blobs, index: newIndex(blobs), ids: map[image.Digest]ID{}, unknown: unknown}
}

// Blobs is how many blobs the store holds; their IDs are those below it.
func (c *Contents) Blobs() int { return len(c.blobs) }

// Len is how many digests are known.
func (c *Contents) Len() int { return len(c.blobs) + len(c.named) }

// At is the content behind an ID.
func (c *Contents) At(id ID) Content {
	if int(id) < len(c.blobs) {
		return c.blobs[id]
	}
	return c.named[int(id)-len(c.blobs)]
}

// Digest is the digest behind an ID.
func (c *Contents) Digest(id ID) image.Digest { return c.At(id).Digest }

// Find looks a digest up.
func (c *Contents) Find(d image.Digest) (ID, bool) {
	if i, ok := c.index.find(c.blobs, d); ok {
		return i, true
	}
	id, ok := c.ids[d]
	return id, ok
}

// Intern gives a digest its ID, adding a row for one without a blob. It may be
// called from many goroutines; the other methods may not be called meanwhile.
func (c *Contents) Intern(d image.Digest) ID {
	if i, ok := c.index.find(c.blobs, d); ok {
		return i
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if id, ok := c.ids[d]; ok {
		return id
	}
	size := Absent
	if c.unknown != nil && c.unknown(d) {
		size = Unknown
	}
	id := ID(c.Len())
	c.named = append(c.named, Content{Digest: d, Size: size})
	c.ids[d] = id
	return id
}

// index finds a row by its digest: a table of row numbers, open addressed, that
// takes a tenth of a map's memory.
type index struct {
	seed  maphash.Seed
	slots []ID // empty where free
}

// free is no row.
const free = ID(math.MaxUint32)

func newIndex(rows []Content) index {
	x := index{seed: maphash.MakeSeed(), slots: make([]ID, 1<<bits.Len(uint(len(rows))*3/2))}
	for i := range x.slots {
		x.slots[i] = free
	}
	for i := range rows {
		slot, _ := x.slot(rows, rows[i].Digest)
		x.slots[slot] = ID(i)
	}
	return x
}

func (x index) find(rows []Content, d image.Digest) (ID, bool) {
	slot, found := x.slot(rows, d)
	return x.slots[slot], found
}

// slot is where the digest is, or where it would be.
func (x index) slot(rows []Content, d image.Digest) (slot int, found bool) {
	mask := uint64(len(x.slots) - 1)
	for at := maphash.Comparable(x.seed, d) & mask; ; at = (at + 1) & mask {
		switch id := x.slots[at]; {
		case id == free:
			return int(at), false
		case rows[id].Digest == d:
			return int(at), true
		}
	}
}
