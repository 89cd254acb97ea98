package inventory

import "github.com/ebb-io/ebb/internal/image"

// Survey is what a repair must know beside the inventory: links that do not hold
// their digest, and what a crash left lying about.
type Survey struct {
	Faults  []LinkFault // by path
	Strays  []Stray     // by path
	Folders []Folder    // by path
	// Odd are the repositories that hold something besides links and strays.
	Odd map[string]bool
	// Bare are the repositories in which no file lies at all, with the time
	// when one of their folders was last touched; zero: not known.
	Bare map[string]Time
	// Unseen are the repositories of which not all could be listed.
	Unseen   map[string]bool
	Problems []Problem // the folders that could not be listed
}

// LinkState is what is wrong with a link.
type LinkState uint8

// The states.
const (
	LinkTorn    LinkState = iota // it holds what a crash leaves of its digest: nothing, its beginning, zeros, or blanks around it
	LinkForeign                  // it holds anything else: another digest, or a text
	LinkUnread                   // it could not be read
)

// LinkFault is a link that does not hold the digest that its path names.
type LinkFault struct {
	Kind       ItemKind // Revision, LayerLink or TagHistory
	Repository string
	Tag        string       // of TagHistory
	Digest     image.Digest // in its path
	State      LinkState
	Path       string
	Detail     string
}

// Stray is a temporary file that a registry, or Ebb, did not come to rename.
type Stray struct {
	Path       string
	Repository string // empty: it lies among the blobs
	Size       int64  // bytes
	ModTime    Time
}

// Folder is the folder of a tag, a link or a blob, or one above repositories, in
// which no file lies but strays, at any depth.
type Folder struct {
	Path       string
	Repository string // whose it is; empty: it lies among the blobs
	// Above says that no repository has its name or lies below it.
	Above bool
	Tag   string // of a tag
	// Inside are the folders below it, and itself.
	Inside  []string
	ModTime Time // when one of them was last touched
}
