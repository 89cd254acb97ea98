package registry

import (
	"strings"

	"github.com/ebb-io/ebb/internal/inventory"
)

// A digest's folder may hold more than its link or its data: the signatures of
// registries before v2.1, and temporary files that a crash left. Where folders
// are real, a deletion finds them in its way. A flat storage shows them to the
// walk that lists everything, and they are few: they are noted.

// noteBeside must be called with the lock held.
func (s *scan) noteBeside(dir, path string) { s.beside[dir] = append(s.beside[dir], path) }

// isBeside notes a file that lies beside a link, and tells whether it is none of
// those that the walk looks for.
func (s *scan) isBeside(path string, p place) bool {
	dir, inside := folderInside(p)
	ofTag := strings.HasPrefix(p.part, tagsDir+"/")
	switch {
	case inside == "" || !ofTag && inside == "link":
		return false
	case ofTag && (inside == "current/link" || strings.HasPrefix(inside, "index/")):
		return true // the tag itself, which is read later
	}
	s.locked(func() { s.noteBeside(dir, path) })
	return true
}

// folderInside is the folder of a revision, a layer link or a tag that a file lies
// in, and the file's path there; empty: it lies in none.
func folderInside(p place) (dir, inside string) {
	if d, inside, ok := insideLink(p.part, revisionsDir); ok {
		return revisionDir(p.repository, d), inside
	}
	if d, inside, ok := insideLink(p.part, layersDir); ok {
		return layerDir(p.repository, d), inside
	}
	rest, ok := strings.CutPrefix(p.part, tagsDir+"/")
	if !ok {
		return "", ""
	}
	name, inside, _ := strings.Cut(rest, "/")
	return tagDir(p.repository, name), inside
}

// blobsBeside takes a blob's folder in which only other files lie for what a
// deletion left.
func (s *scan) blobsBeside() {
	for dir := range s.beside {
		d, ok := blobDigest(dir)
		if !ok {
			continue
		}
		if _, there := s.contents.Find(d); !there {
			s.residue = append(s.residue, inventory.Residue{Kind: inventory.Blob, Digest: d})
		}
	}
}

// linksBeside does the same for links. Where not all was listed, nothing of the
// repository is judged.
func (s *scan) linksBeside() {
	folders := map[string][]string{}
	for dir := range s.beside {
		if p := placeOf(dir); p.part != "" {
			folders[p.repository] = append(folders[p.repository], dir)
		}
	}
	for repository, dirs := range folders {
		r := s.repository(repository)
		revisions, layers := known(r), map[inventory.ID]bool{}
		for _, link := range r.Layers {
			layers[link.ID] = true
		}
		for _, dir := range dirs {
			part := placeOf(dir).part
			if s.lacks(part, revisionsDir, revisions) || s.lacks(part, layersDir, layers) {
				s.missingLink(dir)
			}
		}
	}
}

// lacks tells of the folder of a link that there is no link in it.
func (s *scan) lacks(part, links string, there map[inventory.ID]bool) bool {
	d, ok := linkDigest(part, links)
	if !ok {
		return false
	}
	id, named := s.contents.Find(d)
	return !named || !there[id]
}
