package registry

import (
	"context"
	"slices"
	"strings"

	"github.com/ebb-io/ebb/internal/image"
	"github.com/ebb-io/ebb/internal/inventory"
	"github.com/ebb-io/ebb/internal/store/blob"
)

// readBlobs finds every blob with its size and time stamp.
func (s *scan) readBlobs(ctx context.Context) error {
	var found rows
	var unlisted []string
	err := s.walk(ctx, blobs, blob.Visitor{
		Enter: s.enterBlobs,
		File: func(e blob.Entry) {
			d, inside, ok := insideBlob(e.Path)
			s.locked(func() {
				switch {
				case !ok || inside == "":
					s.report(e.Path, inventory.UnexpectedContent, "a file where only digests may lie")
				case inside != "data":
					s.noteBeside(blobDir(d), e.Path)
				default:
					found.add(inventory.Content{Digest: d, Size: e.Size, ModTime: inventory.TimeOf(e.ModTime)})
				}
			})
			s.progress.done.Add(1)
			s.progress.bytes.Add(e.Size)
		},
		Missing: func(dir string) {
			if d, ok := blobDigest(dir); ok {
				s.locked(func() { s.residue = append(s.residue, inventory.Residue{Kind: inventory.Blob, Digest: d}) })
			}
		},
		Link: func(link, target string) { s.sharedFolder(link, target) },
		Fail: func(path string, err error) {
			s.locked(func() {
				s.report(path, inventory.NotListed, err.Error())
				if d, ok := blobDigest(strings.TrimSuffix(path, "/data")); ok {
					found.add(inventory.Content{Digest: d, Size: inventory.Unknown})
					return
				}
				s.unlisted = true
				unlisted = append(unlisted, path)
			})
		},
	})
	s.contents = inventory.NewContents(slices.Concat(found...), func(d image.Digest) bool { return within(blobPath(d), unlisted) })
	s.blobsBeside()
	return err
}

// rows grow by pieces: moving a million of them while others wait for the lock
// would cost more than finding them.
type rows [][]inventory.Content

func (r *rows) add(row inventory.Content) {
	const piece = 1 << 12
	last := len(*r) - 1
	if last < 0 || len((*r)[last]) == piece {
		*r = append(*r, make([]inventory.Content, 0, piece))
		last++
	}
	(*r)[last] = append((*r)[last], row)
}

func (s *scan) enterBlobs(dir string) blob.Step {
	_, _, isBlob := insideBlob(dir)
	switch {
	case isBlob && s.flat:
		return blob.List()
	case isBlob:
		return blob.Only("data")
	case dir == blobs+"/lost+found":
		return blob.Skip()
	case strings.Count(dir[len(blobs):], "/") < 3:
		return blob.List()
	}
	s.locked(func() { s.report(dir, inventory.UnexpectedContent, "its name is no digest") })
	return blob.Skip()
}

// sharedFolder notes a part of the storage that two names lead to where only
// one may: neither of them is judged.
func (s *scan) sharedFolder(link, target string) {
	s.locked(func() {
		s.report(link, inventory.NotListed, "a symbolic link to "+target+", which may belong to something else")
		s.unlisted = true
		for _, path := range []string{link, target} {
			if p := placeOf(path); p.part != "" && p.repository != "" {
				s.shared[p.repository] = true
			}
		}
	})
}

func within(path string, dirs []string) bool {
	for _, dir := range dirs {
		if strings.HasPrefix(path+"/", dir+"/") {
			return true
		}
	}
	return false
}
