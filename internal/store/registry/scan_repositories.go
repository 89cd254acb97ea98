package registry

import (
	"context"
	"fmt"
	"strings"

	"github.com/ebb-io/ebb/internal/image"
	"github.com/ebb-io/ebb/internal/inventory"
	"github.com/ebb-io/ebb/internal/store/blob"
)

// readRepositories finds the repositories with their revisions, layer links
// and uploads. Tags are left for later.
func (s *scan) readRepositories(ctx context.Context) error {
	defer s.linksBeside()
	return s.walk(ctx, repositories, blob.Visitor{
		Enter:   s.enterRepository,
		Follow:  s.followInName,
		File:    s.repositoryFile,
		Missing: s.missingLink,
		Link:    s.repositoryLink,
		Fail:    s.failRepository,
	})
}

// followInName lets a symbolic link stand for a repository or for folders above
// it, as the registry does. Inside of a repository it could lead anywhere, and
// what is deleted there may be somebody else's.
func (s *scan) followInName(link, target string) bool {
	if placeOf(link).part == "" {
		return true
	}
	s.sharedFolder(link, target)
	return false
}

func (s *scan) enterRepository(dir string) blob.Step {
	p := placeOf(dir)
	top, rest, deeper := strings.Cut(strings.TrimPrefix(p.part, "/"), "/")
	switch {
	case p.repository == "lost+found":
		return blob.Skip() // a file system's own, and no repository's name
	case p.part == "":
		return blob.List()
	case p.repository == "" || (top != "_manifests" && top != "_layers" && top != "_uploads"):
		return blob.Skip() // reserved, and not the registry's
	case !deeper:
		s.locked(func() { s.repository(p.repository) })
		return blob.List()
	case top == "_manifests":
		return s.enterLinks(dir, p.part, revisionsDir)
	case top == "_layers":
		return s.enterLinks(dir, p.part, layersDir)
	}
	id, _, _ := strings.Cut(rest, "/")
	s.locked(func() { s.upload(p.repository, id) })
	return blob.List()
}

// enterLinks steps down to folders that are named by a digest.
func (s *scan) enterLinks(dir, part, links string) blob.Step {
	rest := strings.TrimPrefix(part, links)
	switch {
	case part == tagsDir && s.flat:
		return blob.List()
	case part == tagsDir:
		s.locked(func() { s.tagged[placeOf(dir).repository] = true })
		return blob.Skip()
	case strings.HasPrefix(part, tagsDir+"/"):
		return s.enterTag(placeOf(dir))
	case rest == part:
		return blob.Skip() // whatever else lies beside the revisions
	case strings.Count(rest, "/") < 2:
		return blob.List()
	}
	if _, _, ok := insideLink(part, links); ok && s.flat {
		return blob.List()
	} else if ok {
		return blob.Only("link")
	}
	s.locked(func() { s.report(dir, inventory.UnexpectedContent, "its name is no digest") })
	return blob.Skip()
}

type uploadName struct{ repository, id string }

// upload must be called with the lock held.
func (s *scan) upload(repository, id string) *inventory.Upload {
	r, name := s.repository(repository), uploadName{repository, id}
	at, known := s.uploads[name]
	if !known {
		at = len(r.Uploads)
		s.uploads[name] = at
		r.Uploads = append(r.Uploads, inventory.Upload{ID: id})
	}
	return &r.Uploads[at]
}

func (s *scan) repositoryFile(e blob.Entry) {
	s.progress.done.Add(1)
	p := placeOf(e.Path)
	part, isLink := strings.CutSuffix(p.part, "/link")
	switch {
	case p.part == "" || p.repository == "":
		return
	case e.Link != "":
		s.sharedFolder(e.Path, e.Link)
	case s.isBeside(e.Path, p):
	case p.part == "/_manifests" || p.part == tagsDir || p.part == revisionsDir || p.part == layersDir || p.part == uploadsDir:
		s.misplaced(p.repository, e.Path)
	case isLink && strings.HasPrefix(part, revisionsDir+"/"):
		s.link(e, p.repository, part, revisionsDir)
	case isLink && strings.HasPrefix(part, layersDir+"/"):
		s.link(e, p.repository, part, layersDir)
	case strings.HasPrefix(part, uploadsDir+"/"):
		s.uploadFile(e, p)
	case strings.HasPrefix(part, tagsDir+"/"):
		s.misplaced(p.repository, e.Path)
	}
}

func (s *scan) uploadFile(e blob.Entry, p place) {
	id, _, below := strings.Cut(strings.TrimPrefix(p.part, uploadsDir+"/"), "/")
	if !below {
		return
	}
	s.locked(func() {
		u := s.upload(p.repository, id)
		u.Files++
		u.Size += e.Size
		u.ModTime = max(u.ModTime, inventory.TimeOf(e.ModTime))
	})
}

// link takes a revision or a layer link. The digest is in its path; a content
// of another length is damage that leaves no doubt about what was meant.
func (s *scan) link(e blob.Entry, repository, part, links string) {
	d, ok := linkDigest(part, links)
	if !ok {
		return
	}
	id, modTime := s.contents.Intern(d), inventory.TimeOf(e.ModTime)
	s.locked(func() {
		broken := s.brokenLink(e, repository, d, links)
		r := s.repository(repository)
		if links == layersDir {
			r.Layers = append(r.Layers, inventory.Link{ID: id, ModTime: modTime})
			return
		}
		r.Images = append(r.Images, inventory.Image{ID: id, Linked: true, Broken: broken, ModTime: modTime})
	})
}

// empty is what is wrong with a link that a crash or a full disk left.
const empty = "it is empty"

// brokenLink reports a link of a length that its digest does not have, and
// notes one whose content may be another digest. It must be called with the
// lock held.
func (s *scan) brokenLink(e blob.Entry, repository string, d image.Digest, links string) bool {
	if links == layersDir && mayBeRenamed(d) {
		s.renamed = append(s.renamed, renamed{repository, d})
		return false
	}
	want := int64(len(d.Algorithm()) + len(":") + len(d.Hex()))
	switch {
	case e.Size == 0:
		s.report(e.Path, inventory.LinkDamaged, empty)
	case e.Size != want:
		s.report(e.Path, inventory.LinkDamaged, fmt.Sprintf("has %d bytes where its digest takes %d", e.Size, want))
	}
	return e.Size != want
}

// missingLink notes the empty folder that a deletion cut short leaves.
func (s *scan) missingLink(dir string) {
	p := placeOf(dir)
	kind, links := inventory.Revision, revisionsDir
	if strings.HasPrefix(p.part, layersDir) {
		kind, links = inventory.LayerLink, layersDir
	}
	d, ok := linkDigest(p.part, links)
	if !ok {
		return
	}
	s.addResidue(p.repository, inventory.Residue{Kind: kind, Digest: d})
}

func (s *scan) addResidue(repository string, residue inventory.Residue) {
	s.locked(func() {
		r := s.repository(repository)
		r.Residue = append(r.Residue, residue)
	})
}

// repositoryLink takes a symbolic link as another name for the repositories
// behind it, and as a doubt where it shares a repository's inside.
func (s *scan) repositoryLink(link, target string) {
	if placeOf(link).part != "" || placeOf(target).part != "" || !strings.HasPrefix(target, repositories+"/") {
		s.sharedFolder(link, target)
		return
	}
	s.locked(func() { s.aliases[link] = target })
}

// failRepository notes a folder of which nothing, or not all, was shown: some
// of a repository may have been seen before its listing broke off. An object
// store's listing goes through all repositories, and may break off in any.
func (s *scan) failRepository(path string, err error) {
	p := placeOf(path)
	s.locked(func() {
		s.report(path, inventory.NotListed, err.Error())
		s.unlisted = true
		if p.part == "" {
			s.brokenOff = append(s.brokenOff, path)
		} else if p.repository != "" {
			s.repository(p.repository).Unlisted = true
		}
	})
}

// known is a digest that a repository has a revision of.
func known(r *inventory.Repository) map[inventory.ID]bool {
	ids := make(map[inventory.ID]bool, len(r.Images))
	for _, i := range r.Images {
		ids[i.ID] = true
	}
	return ids
}
