package inventory

import "github.com/ebb-io/ebb/internal/image"

// MendKind is a kind of step that mends a storage.
type MendKind uint8

// The kinds, in the order in which they are taken. What is written comes before
// what is removed, and what names something goes before what it names.
const (
	PutLayerLink MendKind = iota
	PutRevision
	PutTagHistory // one link of a tag's index
	DropTagHistory
	DropTagLink
	DropTagFolder
	DropRevision
	DropLayerLink
	DropStray
	DropFolder
	DropRepository

	mendKinds
)

// MendKinds is how many kinds there are.
const MendKinds = int(mendKinds)

// Mend is one step of a repair. It names what must still hold when it is taken.
type Mend struct {
	Kind       MendKind
	Repository string
	Tag        string
	Digest     image.Digest // of a link: in its path; of a tag: what it names
	Path       string       // of a stray, a folder, or a link that is put
	Size       int64        // of a stray
	ModTime    Time         // of a stray
	Inside     []string     // of a folder: those below it, and itself
	Stop       string       // of a repository: see Item
}
