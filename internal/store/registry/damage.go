package registry

import (
	"fmt"

	"github.com/ebb-io/ebb/internal/image"
	"github.com/ebb-io/ebb/internal/inventory"
)

// damage finds what listing alone shows to be broken: parts that are named and
// not there, or of another size. What may be there unseen is not called
// missing.
func damage(inv *inventory.Inventory) []inventory.Problem {
	d := damageFinder{inv: inv, held: make([]uint32, inv.Contents.Len())}
	for i := range inv.Repositories {
		d.repository(uint32(i+1), &inv.Repositories[i])
	}
	return d.problems
}

type damageFinder struct {
	inv *inventory.Inventory
	// held marks what the repository in hand has a layer link for, by its
	// number: cheaper than a set for each.
	held     []uint32
	problems []inventory.Problem
}

func (d *damageFinder) report(path string, code inventory.ProblemCode, format string, args ...any) {
	d.problems = append(d.problems, inventory.Problem{Path: path, Code: code, Detail: fmt.Sprintf(format, args...)})
}

func (d *damageFinder) repository(number uint32, r *inventory.Repository) {
	if r.Unlisted {
		return
	}
	for _, link := range r.Layers {
		d.held[link.ID] = number
	}
	linked := map[inventory.ID]bool{}
	for _, i := range r.Images {
		linked[i.ID] = i.Linked
		d.image(number, r, i)
	}
	for _, tag := range r.Tags {
		if tag.Read && !linked[tag.Target] {
			d.report(tagLink(r.Name, tag.Name), inventory.TagDangling, "it names %s, which the repository does not have",
				d.inv.Contents.Digest(tag.Target))
		}
	}
}

func (d *damageFinder) image(number uint32, r *inventory.Repository, i inventory.Image) {
	digest := d.inv.Contents.Digest(i.ID)
	if i.Linked && d.inv.Contents.At(i.ID).Size == inventory.Absent {
		d.report(revisionDir(r.Name, digest)+"/link", inventory.ManifestMissing, "there is no %s", blobPath(digest))
	}
	m := d.inv.Manifests[i.ID]
	if m == nil {
		return
	}
	for _, need := range m.Needs {
		d.need(number, r, digest, need)
	}
}

func (d *damageFinder) need(number uint32, r *inventory.Repository, manifest image.Digest, need inventory.Need) {
	digest := d.inv.Contents.Digest(need.ID)
	content := d.stored(need.ID)
	switch {
	case content.Size == inventory.Absent && !need.Optional:
		d.report(blobPath(content.Digest), inventory.BlobMissing, "needed by %s@%s", r.Name, manifest)
	case content.Present() && need.Size >= 0 && content.Size != need.Size:
		d.report(blobPath(content.Digest), inventory.SizeMismatch, "has %d bytes, %s@%s says %d",
			content.Size, r.Name, manifest, need.Size)
	}
	if content.Size != inventory.Absent && need.Role != image.Child && !need.Optional && d.held[need.ID] != number {
		d.report(layerDir(r.Name, digest)+"/link", inventory.LayerLinkMissing, "needed by %s@%s", r.Name, manifest)
	}
}

// stored is the content behind a digest, wherever it lies.
func (d *damageFinder) stored(id inventory.ID) inventory.Content {
	content := d.inv.Contents.At(id)
	for _, other := range d.inv.Stored[id] {
		if content.Size == inventory.Absent {
			content = d.inv.Contents.At(other)
		}
	}
	return content
}
