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

// readers is how many small reads are in flight at once: enough to hide a
// network's latency, few enough for any server.
const readers = 32

// linkLimit is far above the length of any digest, in bytes.
const linkLimit = 1 << 10

// readTags finds every repository's tags and reads what they name.
func (s *scan) readTags(ctx context.Context) error {
	names := sortedKeys(s.repositories)
	return each(ctx, len(names), readers, func(ctx context.Context, i int) error {
		return s.readTagsOf(ctx, names[i])
	})
}

func (s *scan) readTagsOf(ctx context.Context, repository string) error {
	tags := newCollector()
	dir := repositoryDir(repository) + tagsDir
	err := s.walk(ctx, dir, blob.Visitor{
		Enter: func(tag string) blob.Step {
			tags.add(strings.TrimPrefix(tag, dir+"/"))
			return blob.Skip()
		},
		File:    func(blob.Entry) {},
		Missing: func(string) {},
		Link:    s.sharedFolder,
		Fail:    s.failRepository,
	})
	if err != nil {
		return err
	}
	var found []inventory.Tag
	for _, tag := range tags.sorted() {
		if err := s.readTag(ctx, repository, tag, &found); err != nil {
			return err
		}
	}
	s.locked(func() { s.addTags(s.repositories[repository], found) })
	return nil
}

// readTag reads a tag's current link. A link that is not there is damage, as
// the registry still lists the tag, unless its folder holds nothing at all.
func (s *scan) readTag(ctx context.Context, repository, name string, found *[]inventory.Tag) error {
	path := tagLink(repository, name)
	content, entry, err := blob.ReadFile(ctx, s.reader, path, linkLimit)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if errors.Is(err, fs.ErrNotExist) {
		empty, walkErr := s.emptyFolder(ctx, tagDir(repository, name))
		if walkErr != nil {
			return walkErr
		}
		if empty {
			s.addResidue(repository, inventory.Residue{Kind: inventory.TagFolder, Tag: name})
			return nil
		}
	}
	if err != nil && !damaged(err) {
		s.failRead(repository, path, err)
		return nil
	}
	tag := inventory.Tag{Name: name, ModTime: inventory.TimeOf(entry.ModTime)}
	d, parseErr := image.ParseDigest(string(content))
	if err == nil {
		err = parseErr
	}
	if err != nil {
		s.locked(func() {
			s.report(path, inventory.TagUnread, err.Error())
			s.repositories[repository].Doubtful = true
		})
	} else {
		tag.Target, tag.Read = s.contents.Intern(d), true
	}
	*found = append(*found, tag)
	return nil
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

// addTags must be called with the lock held. A tag whose digest is no revision
// stands for an image without a link, so that what it names is protected.
func (s *scan) addTags(r *inventory.Repository, tags []inventory.Tag) {
	r.Tags = tags
	have := known(r)
	for _, tag := range tags {
		if tag.Read && !have[tag.Target] {
			have[tag.Target] = true
			r.Images = append(r.Images, inventory.Image{ID: tag.Target})
		}
	}
}
