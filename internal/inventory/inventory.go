// Package inventory is what a registry's storage holds and what of it could
// not be read: contents, repositories with their images, tags and layer links,
// unfinished uploads, and the graph of what needs what.
//
// It is pure and neutral: it records, and refuses to say what is garbage.
package inventory

import (
	"github.com/ebb-io/ebb/internal/image"
)

// Need is something that a manifest needs.
type Need struct {
	ID       ID
	Role     image.Role
	Optional bool
	Size     int64 // bytes, as the manifest says; negative where it does not
}

// Manifest is a manifest that was read and understood. It is the same in every
// repository.
type Manifest struct {
	MediaType string
	Needs     []Need
	Subject   ID // meaningful when HasSubject
	// HasSubject says that the manifest describes another image.
	HasSubject bool
	Index      bool
	// Filesystem says that it has a layer of a file system.
	Filesystem bool
}

// Link is a repository's right to a layer or a config.
type Link struct {
	ID      ID
	ModTime Time
}

// Image is a manifest in a repository: a revision of it, or what a tag of it
// names.
type Image struct {
	ID ID
	// Linked says that the repository has a revision link for it. Without one
	// a tag leads nowhere.
	Linked bool
	// Broken says that the link does not hold its digest: no registry serves it.
	Broken  bool
	ModTime Time // of the revision link
}

// Tag is a name for an image of its repository.
type Tag struct {
	Name    string
	Target  ID   // meaningful when Read
	Read    bool // its current link could be read
	ModTime Time // of its current link
}

// Upload is content on its way into a repository.
type Upload struct {
	ID      string
	Files   int   // none: only its folder is left
	Size    int64 // bytes
	ModTime Time  // of its newest file
}

// Unfinished is an object store's upload in parts: no file yet, but it takes
// room.
type Unfinished struct {
	Path       string // of the file that it would become
	ID         string
	Repository string // empty: it is of none
	Size       int64  // bytes of its parts
	Upload     string // ID of the repository's upload that it is a part of; empty: none
	Touched    Time   // when its newest part came, or it was begun
}

// Repository is what stands under one name.
type Repository struct {
	Name string
	// Aliases are other names for the same folder, through symbolic links.
	Aliases []string
	Images  []Image  // by digest
	Tags    []Tag    // by name
	Layers  []Link   // by digest
	Uploads []Upload // by ID
	// Residue are parts of which only an empty folder is left.
	Residue []Residue
	// Doubtful says that a manifest or a tag is damaged or not understood: what
	// the repository needs is not fully known.
	Doubtful bool
	// Unlisted says that a folder could not be listed or a file not be read:
	// what the repository holds is not fully known.
	Unlisted bool
	// LinkTarget is the deepest folder, at the repository's name or above it,
	// that a symbolic link leads to; empty: none.
	LinkTarget string
}

// Residue is what an earlier deletion, cut short, left of a part: a folder
// with nothing in it that matters.
type Residue struct {
	Kind   ItemKind
	Tag    string
	Digest image.Digest
}

// Inventory is a registry's storage at one time.
type Inventory struct {
	Contents  *Contents
	Manifests map[ID]*Manifest
	// Stored says under which digests content lies that was uploaded under
	// another one: distribution stores a sha512 upload by its sha256 digest
	// and lets the layer link of the first name the second.
	Stored       map[ID][]ID
	Repositories []Repository // by name
	Unfinished   []Unfinished // by path, then ID
	Problems     []Problem    // by path
	Residue      []Residue    // of blobs
	// Unlisted says that some folder could not be listed: no blob is proven
	// to be unneeded.
	Unlisted bool
}

// Images is how many images all repositories hold.
func (inv *Inventory) Images() int {
	n := 0
	for i := range inv.Repositories {
		n += len(inv.Repositories[i].Images)
	}
	return n
}
