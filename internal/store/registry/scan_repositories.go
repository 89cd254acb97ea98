package registry

import (
	"context"
	"fmt"
	"strings"

	"github.com/ebb-io/ebb/internal/inventory"
	"github.com/ebb-io/ebb/internal/store/blob"
)

// readRepositories finds the repositories with their revisions, layer links
// and uploads. Tags are left for later.
func (s *scan) readRepositories(ctx context.Context) error {
	return s.walk(ctx, repositories, blob.Visitor{
		Enter:   s.enterRepository,
		File:    s.repositoryFile,
		Missing: s.missingLink,
		Link:    s.repositoryLink,
		Fail:    s.failRepository,
	})
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
	case rest == part:
		return blob.Skip() // tags, and whatever else lies beside the revisions
	case strings.Count(rest, "/") < 2:
		return blob.List()
	}
	if _, ok := linkDigest(part, links); ok {
		return blob.Only("link")
	}
	s.locked(func() { s.report(dir, inventory.UnexpectedContent, "its name is no digest") })
	return blob.Skip()
}

// upload must be called with the lock held.
func (s *scan) upload(repository, id string) *inventory.Upload {
	r := s.repository(repository)
	for i := range r.Uploads {
		if r.Uploads[i].ID == id {
			return &r.Uploads[i]
		}
	}
	r.Uploads = append(r.Uploads, inventory.Upload{ID: id})
	return &r.Uploads[len(r.Uploads)-1]
}

func (s *scan) repositoryFile(e blob.Entry) {
	p := placeOf(e.Path)
	part, isLink := strings.CutSuffix(p.part, "/link")
	switch {
	case p.part == "" || p.repository == "":
		return
	case isLink && strings.HasPrefix(part, revisionsDir+"/"):
		s.link(e, p.repository, part, revisionsDir)
	case isLink && strings.HasPrefix(part, layersDir+"/"):
		s.link(e, p.repository, part, layersDir)
	case strings.HasPrefix(part, uploadsDir+"/"):
		s.uploadFile(e, p)
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
	id := s.contents.Intern(d)
	s.locked(func() {
		if links == layersDir && mayBeRenamed(d) {
			s.renamed = append(s.renamed, renamed{repository, d})
		} else if want := int64(len(part) - len(links+"/")); e.Size != want {
			s.report(e.Path, inventory.LinkDamaged, fmt.Sprintf("has %d bytes where its digest takes %d", e.Size, want))
		}
		r := s.repository(repository)
		if links == layersDir {
			r.Layers = append(r.Layers, inventory.Link{ID: id, ModTime: inventory.TimeOf(e.ModTime)})
			return
		}
		r.Images = append(r.Images, inventory.Image{ID: id, Linked: true, ModTime: inventory.TimeOf(e.ModTime)})
	})
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

func (s *scan) failRepository(path string, err error) {
	p := placeOf(path)
	s.locked(func() {
		s.report(path, inventory.NotListed, err.Error())
		s.unlisted = true
		if p.part != "" && p.repository != "" {
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
