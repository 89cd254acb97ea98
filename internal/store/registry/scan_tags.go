package registry

import (
	"context"
	"errors"
	"io/fs"
	"strings"

	"github.com/ebb-io/ebb/internal/image"
	"github.com/ebb-io/ebb/internal/inventory"
	"github.com/ebb-io/ebb/internal/store/blob"
)

// linkLimit is far above the length of any digest, in bytes.
const linkLimit = 1 << 10

// tagName is a tag that was listed.
type tagName struct{ repository, name string }

// readTags finds every repository's tags and reads what they name: all at
// once, as one repository may have most of them.
func (s *scan) readTags(ctx context.Context) error {
	if err := s.listAllTags(ctx); err != nil {
		return err
	}
	s.progress.begin(Tags, int64(len(s.tags)))
	err := each(ctx, len(s.tags), s.readers, func(ctx context.Context, i int) error {
		defer s.progress.done.Add(1)
		return s.readTag(ctx, s.tags[i])
	})
	for _, r := range s.repositories {
		addTagged(r)
	}
	return err
}

// listAllTags lists what the walk over repositories left for later. On a flat
// storage it has found the tags too. One that was made meanwhile is not among
// them, and the image that it names is young.
func (s *scan) listAllTags(ctx context.Context) error {
	if s.flat {
		return nil
	}
	names := sortedKeys(s.repositories)
	return each(ctx, len(names), s.readers, func(ctx context.Context, i int) error {
		found, err := s.listTags(ctx, names[i])
		s.locked(func() { s.tags = append(s.tags, found...) })
		return err
	})
}

// enterTag notes a tag's folder that was found on the way. Its index goes with
// all that lies in it.
func (s *scan) enterTag(p place) blob.Step {
	name, inside, deeper := strings.Cut(strings.TrimPrefix(p.part, tagsDir+"/"), "/")
	if deeper {
		if inside == "index" {
			return blob.Skip()
		}
		return blob.List()
	}
	s.locked(func() {
		s.tags = append(s.tags, tagName{s.repository(p.repository).Name, strings.Clone(name)})
	})
	return blob.List()
}

func (s *scan) listTags(ctx context.Context, repository string) ([]tagName, error) {
	found := newCollector()
	dir := repositoryDir(repository) + tagsDir
	err := s.reader.Walk(ctx, dir, blob.Visitor{
		Enter: func(tag string) blob.Step {
			found.add(strings.TrimPrefix(tag, dir+"/"))
			return blob.Skip()
		},
		Follow:  s.followInName,
		File:    func(e blob.Entry) { s.misplaced(repository, e.Path) },
		Missing: func(string) {},
		Link:    s.sharedFolder,
		Fail:    s.failRepository,
	})
	if errors.Is(err, fs.ErrNotExist) {
		if s.tagged[repository] { // it was there a moment ago
			s.failRead(repository, dir, err)
		}
		err = nil
	}
	tags := make([]tagName, 0, len(found.names))
	for _, name := range found.names {
		tags = append(tags, tagName{repository, name})
	}
	return tags, err
}

// misplaced notes a file where a folder with evidence of need belongs.
func (s *scan) misplaced(repository, path string) {
	s.locked(func() {
		s.report(path, inventory.UnexpectedContent, "a file where a folder belongs")
		s.repository(repository).Doubtful = true
	})
}

// readTag reads a tag's current link. A link that is not there is damage, as
// the registry still lists the tag, unless its folder holds nothing at all.
func (s *scan) readTag(ctx context.Context, t tagName) (err error) {
	path := tagLink(t.repository, t.name)
	s.small.read(ctx, s.reader, path, linkLimit, func(content []byte, entry blob.Entry, readErr error) {
		switch {
		case ctx.Err() != nil:
			err = ctx.Err()
		case errors.Is(readErr, fs.ErrNotExist):
			err = s.missingCurrent(ctx, t)
		case readErr != nil && !damaged(readErr):
			s.failRead(t.repository, path, readErr)
		default:
			s.takeTag(t, content, entry, readErr)
		}
	})
	return err
}

// missingCurrent tells residue of a deletion from a tag that lost its link.
func (s *scan) missingCurrent(ctx context.Context, t tagName) error {
	empty, err := s.emptyFolder(ctx, tagDir(t.repository, t.name))
	if empty && err == nil {
		s.addResidue(t.repository, inventory.Residue{Kind: inventory.TagFolder, Tag: t.name})
		return nil
	}
	s.takeTag(t, nil, blob.Entry{}, fs.ErrNotExist)
	return err
}

// takeTag notes a tag, with a doubt where it does not hold a digest.
func (s *scan) takeTag(t tagName, content []byte, entry blob.Entry, err error) {
	tag := inventory.Tag{Name: t.name, ModTime: inventory.TimeOf(entry.ModTime)}
	var d image.Digest
	switch {
	case err != nil:
	case len(content) == 0:
		err = errors.New(empty)
	default:
		d, err = image.ParseDigest(string(content))
	}
	if err == nil {
		tag.Target, tag.Read = s.contents.Intern(d), true
	}
	s.locked(func() {
		r := s.repositories[t.repository]
		r.Tags = append(r.Tags, tag)
		if err != nil {
			r.Doubtful = true
			s.report(tagLink(t.repository, t.name), inventory.TagUnread, err.Error())
		}
	})
}

// damaged tells an error that comes from what lies there, and will come again,
// from one of the reading itself, which tells nothing of what lies there.
func damaged(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, blob.ErrTooLarge)
}

// failRead leaves a repository unjudged of which a file could not be read.
func (s *scan) failRead(repository, path string, err error) {
	s.locked(func() {
		s.report(path, inventory.NotListed, err.Error())
		s.repository(repository).Unlisted = true
	})
}

// emptyFolder tells whether no file lies in a folder at any depth. What can
// not be looked at is not empty.
func (s *scan) emptyFolder(ctx context.Context, dir string) (bool, error) {
	found := newCollector()
	err := s.walk(ctx, dir, blob.Visitor{
		Enter:   func(string) blob.Step { return blob.List() },
		File:    func(e blob.Entry) { found.add(e.Path) },
		Missing: found.add,
		Link:    func(link, _ string) { found.add(link) },
		Fail:    func(path string, _ error) { found.add(path) },
	})
	return len(found.names) == 0, err
}

// addTagged lets a tag whose digest is no revision stand for an image without
// a link, so that what it names is protected.
func addTagged(r *inventory.Repository) {
	have := known(r)
	for _, tag := range r.Tags {
		if tag.Read && !have[tag.Target] {
			have[tag.Target] = true
			r.Images = append(r.Images, inventory.Image{ID: tag.Target})
		}
	}
}
