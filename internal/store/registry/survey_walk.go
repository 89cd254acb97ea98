package registry

import (
	"context"
	"strings"

	"github.com/ebb-io/ebb/internal/inventory"
	"github.com/ebb-io/ebb/internal/store/blob"
)

// readBlobs finds strays beside contents, and folders of contents that hold
// nothing. Those above them are the registry's for good.
func (v *survey) readBlobs(ctx context.Context) error {
	return v.walk(ctx, blobs, blob.Visitor{
		Enter: v.enterBlobs,
		Follow: func(link, _ string) bool {
			v.locked(func() { v.full([]string{parentOf(link)}) })
			return false
		},
		File:    v.blobFile,
		Missing: func(string) {},
		Link:    func(string, string) {},
		Fail: func(path string, err error) {
			v.locked(func() {
				v.full([]string{path, parentOf(path)})
				v.fail(path, err.Error())
			})
		},
	})
}

func (v *survey) enterBlobs(dir string) blob.Step {
	if _, isBlob := blobDigest(dir); isBlob {
		v.locked(func() { v.enter(inventory.Folder{Path: dir, Inside: []string{dir}}) })
		return blob.List()
	}
	if strings.Count(dir[len(blobs):], "/") < 3 && dir != blobs+"/lost+found" {
		return blob.List()
	}
	v.locked(func() { v.full([]string{parentOf(dir)}) }) // something odd, which is no part of a content
	return blob.Skip()
}

func (v *survey) blobFile(e blob.Entry) {
	dir := parentOf(e.Path)
	_, isBlob := blobDigest(dir)
	v.locked(func() {
		if !isBlob || !v.stray(e, "", "data") {
			v.full([]string{dir})
		}
	})
}

func (v *survey) readRepositories(ctx context.Context) error {
	return v.walk(ctx, repositories, blob.Visitor{
		Enter:   v.enterRepository,
		Follow:  v.follow,
		File:    v.repositoryFile,
		Missing: func(string) {},
		Link:    v.link,
		Fail:    v.failRepository,
	})
}

func (v *survey) enterRepository(dir string) blob.Step {
	p := placeOf(dir)
	v.mu.Lock()
	defer v.mu.Unlock()
	switch {
	case p.repository == "lost+found":
		return blob.Skip()
	case p.part == "":
		v.names[dir] = &nameFolder{}
		return blob.List()
	case strings.HasPrefix(p.part, uploadsDir+"/"):
		v.hold(p.repository)
		return blob.Skip() // an upload is for a run to judge
	case !registrys(p):
		v.strange(p)
		return blob.Skip()
	}
	v.enterPart(dir, p)
	return blob.List()
}

// registrys tells whether a folder is one that a registry makes.
func registrys(p place) bool {
	top, rest, _ := strings.Cut(strings.TrimPrefix(p.part, "/"), "/")
	if p.repository == "" || (top != "_manifests" && top != "_layers" && top != "_uploads") {
		return false
	}
	for _, links := range []string{revisionsDir, layersDir} {
		if deep := strings.TrimPrefix(p.part, links); deep != p.part && strings.Count(deep, "/") > 1 {
			_, ok := linkDigest(p.part, links)
			return ok
		}
	}
	return top != "_manifests" || rest == "" || within(p.part, []string{revisionsDir, tagsDir})
}

// enterPart begins a part, or goes deeper into one. It must be called with the
// lock held.
func (v *survey) enterPart(dir string, p place) {
	n := v.name(p.repository)
	n.part = true
	if !n.owns {
		n.inside = append(n.inside, dir)
	}
	parts, tag := partsOf(p)
	if len(parts) > 0 && parts[len(parts)-1] == dir {
		f := inventory.Folder{Path: dir, Repository: p.repository}
		if tagDir(p.repository, tag) == dir {
			f.Tag = tag
		}
		v.enter(f)
	}
	v.deeper(dir, parts)
}

// partsOf are the folders that stand for a link or a tag of a repository and
// hold a place, the outermost first; and the tag.
func partsOf(p place) (parts []string, tag string) {
	root := repositoryDir(p.repository)
	for _, links := range []string{revisionsDir, layersDir} {
		if folder, ok := head(p.part, links, 2); ok {
			return []string{root + folder}, ""
		}
	}
	folder, ok := head(p.part, tagsDir, 1)
	if !ok {
		return nil, ""
	}
	parts = []string{root + folder}
	if link, ok := head(p.part, folder+"/index", 2); ok {
		parts = append(parts, root+link)
	}
	return parts, strings.TrimPrefix(folder, tagsDir+"/")
}

// head is the folder so many steps below dir that a part lies in.
func head(part, dir string, steps int) (string, bool) {
	rest, below := strings.CutPrefix(part, dir+"/")
	if !below {
		return "", false
	}
	names := strings.SplitN(rest, "/", steps+1)
	if len(names) < steps {
		return "", false
	}
	return dir + "/" + strings.Join(names[:steps], "/"), true
}

// linkFolder tells whether a folder of a repository is one in which a link
// belongs, and for a tag's index the link's fault, should it have one.
func linkFolder(p place) (fault inventory.LinkFault, ok bool) {
	for _, links := range []string{revisionsDir, layersDir} {
		if _, isLink := linkDigest(p.part, links); isLink {
			return inventory.LinkFault{}, true
		}
	}
	folder, isTag := head(p.part, tagsDir, 1)
	if !isTag {
		return inventory.LinkFault{}, false
	}
	if p.part == folder+"/current" {
		return inventory.LinkFault{}, true
	}
	d, ok := linkDigest(p.part, folder+"/index")
	return inventory.LinkFault{
		Kind: inventory.TagHistory, Repository: p.repository, Tag: strings.TrimPrefix(folder, tagsDir+"/"), Digest: d,
	}, ok
}

func (v *survey) repositoryFile(e blob.Entry) {
	p := placeOf(e.Path)
	v.mu.Lock()
	defer v.mu.Unlock()
	if p.part == "" {
		v.strange(place{repository: parentOf(p.repository)})
		return
	}
	folder := place{repository: p.repository, part: parentOf(p.part)}
	fault, belongs := linkFolder(folder)
	if belongs && v.stray(e, p.repository, "link") {
		v.hold(p.repository)
		return
	}
	if !belongs || !strings.HasSuffix(e.Path, "/link") || e.Link != "" {
		v.strange(p)
		return
	}
	parts, _ := partsOf(p)
	v.full(parts)
	v.hold(p.repository)
	if fault.Kind == inventory.TagHistory && fault.Tag != "" && e.Size != int64(len(fault.Digest.String())) {
		fault.Path = e.Path
		v.index = append(v.index, fault)
	}
}

// strange notes something that is none of a repository's links. It must be
// called with the lock held.
func (v *survey) strange(p place) {
	parts, _ := partsOf(p)
	v.full(parts)
	v.odd[p.repository] = true
	v.hold(p.repository)
}

// hold notes that a repository owns a file. It must be called with the lock
// held.
func (v *survey) hold(repository string) {
	if repository == "" {
		return // it lies above all of them
	}
	n := v.name(repository)
	n.owns, n.inside = true, nil
	for repository != "" && !n.holds {
		n.holds = true
		repository = parentOf(repository)
		n = v.name(repository)
	}
}

func (v *survey) name(repository string) *nameFolder {
	n, ok := v.names[repositoryDir(repository)]
	if !ok {
		n = &nameFolder{}
		if repository != "" {
			v.names[repositoryDir(repository)] = n
		}
	}
	return n
}

func (v *survey) follow(link, target string) bool {
	if placeOf(link).part == "" {
		return true
	}
	v.link(link, target)
	return false
}

// link takes what a symbolic link joins for something that holds a file: none
// of it is tidied up.
func (v *survey) link(link, target string) {
	v.locked(func() {
		for _, path := range []string{link, target} {
			if strings.HasPrefix(path, repositories+"/") {
				v.strange(placeOf(path))
			}
		}
	})
}

func (v *survey) failRepository(path string, err error) {
	p := placeOf(path)
	v.locked(func() {
		v.strange(p)
		v.unseen = append(v.unseen, p.repository)
		v.blind = v.blind || path == repositories
		v.fail(path, err.Error())
	})
}

func parentOf(path string) string {
	dir, _ := cutLast(path)
	return dir
}
