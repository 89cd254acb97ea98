package inventory

import "github.com/ebb-io/ebb/internal/image"

// ItemKind is a kind of thing that a store can delete.
type ItemKind uint8

// The kinds, in the order of deletion.
const (
	TagHistory       ItemKind = iota // a tag's index links
	TagLink                          // a tag's current link
	TagFolder                        // a tag's folder, empty by now
	Revision                         // a repository's link to a manifest
	LayerLink                        // a repository's link to a layer or config
	ManifestBlob                     // the content of a manifest
	Blob                             // any other content
	UnfinishedUpload                 // an object store's upload in parts
	UploadFolder                     // an upload with all its files
	RepositoryFolder                 // a repository's folders, empty by now
)

// Item names one thing in a store that can be deleted.
type Item struct {
	Kind       ItemKind
	Repository string
	Tag        string       // of TagHistory, TagLink, TagFolder
	Digest     image.Digest // of a tag: what it names
	// Unread says of a tag that what it names could not be read.
	Unread bool
	Upload string // ID of an UploadFolder or UnfinishedUpload
	Path   string // of an UnfinishedUpload: the file that it would become
	// ModTime is, of a TagLink, when it was written, and of an UnfinishedUpload
	// when it was begun.
	ModTime Time
	Size    int64 // bytes of content that its deletion frees; links count nothing
	// Residue says that only an empty folder is left of the thing: it is tidied
	// up and counts as nothing.
	Residue bool
	// Stop is, for a RepositoryFolder, the folder at or above it that must
	// stay because a symbolic link leads to it; empty: none.
	Stop string
}
