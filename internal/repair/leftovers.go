package repair

import (
	"slices"
	"strings"
	"time"

	"github.com/ebb-io/ebb/internal/inventory"
)

// old tells whether something has lain untouched for long enough. What has no
// time stamp is young.
func (b *builder) old(t inventory.Time) bool {
	return b.LeftoverAge == 0 || t != 0 && b.Now.Sub(t.Time()) >= b.LeftoverAge
}

// leftovers takes away temporary files, and then folders that hold nothing else.
func (b *builder) leftovers() {
	known := map[string]bool{"": true} // the blobs
	for _, s := range b.states {
		known[s.repository.Name] = true
	}
	for _, s := range b.Survey.Strays {
		if known[s.Repository] && b.old(s.ModTime) {
			b.act(Action{
				Kind: RemoveTemporary, Path: s.Path, Repository: s.Repository, Bytes: s.Size,
				Reason: "a temporary file, " + since(s.ModTime),
				steps:  []inventory.Mend{{Kind: inventory.DropStray, Path: s.Path, Size: s.Size, ModTime: s.ModTime}},
			})
		}
	}
	for _, f := range b.Survey.Folders {
		mine := known[f.Repository] && !f.Above || f.Above && b.Scope.Contains(f.Repository)
		if mine && b.old(f.ModTime) && !b.inGone(f.Path) && !b.keepsStray(f.Path) {
			b.removeFolder(f)
		}
	}
}

// inGone tells whether a folder above goes with all that is in it.
func (b *builder) inGone(path string) bool {
	for i := strings.LastIndexByte(path, '/'); i > 0; i = strings.LastIndexByte(path, '/') {
		if b.gone[path] {
			return true
		}
		path = path[:i]
	}
	return false
}

// keepsStray tells whether a temporary file stays in a folder. They stand in
// the order of their paths.
func (b *builder) keepsStray(folder string) bool {
	strays := b.Survey.Strays
	from, _ := slices.BinarySearchFunc(strays, folder+"/", func(s inventory.Stray, path string) int {
		return strings.Compare(s.Path, path)
	})
	for ; from < len(strays) && strings.HasPrefix(strays[from].Path, folder+"/"); from++ {
		if !b.gone[strays[from].Path] {
			return true
		}
	}
	return false
}

func (b *builder) removeFolder(f inventory.Folder) {
	a := Action{
		Kind: RemoveFolder, Path: f.Path, Repository: f.Repository, Tag: f.Tag,
		Reason: "no file lies in it, " + since(f.ModTime),
		steps:  []inventory.Mend{{Kind: inventory.DropFolder, Repository: f.Repository, Path: f.Path, Inside: f.Inside}},
	}
	if f.Tag != "" {
		a.Reason = "nothing is left of the tag, " + since(f.ModTime)
		a.mends = []problemKey{{f.Path + "/current/link", inventory.TagUnread}}
	}
	b.act(a)
}

func since(t inventory.Time) string {
	if t == 0 {
		return "without a time stamp"
	}
	return "untouched since " + t.Time().Format(time.RFC3339)
}

// emptied takes away the folders of repositories of which nothing remains: those
// that held no file, and those that hold none after this repair.
func (b *builder) emptied() {
	busy := map[string]bool{} // something of it goes
	for i := range b.plan.Actions {
		busy[b.plan.Actions[i].Repository] = true
	}
	folders := b.stayingFolders()
	for _, s := range b.states {
		r := s.repository
		touched, bare := b.Survey.Bare[r.Name]
		holds := s.links > 0 || len(r.Uploads) > 0 || b.Survey.Odd[r.Name] || folders[r.Name] || b.keepsTag(r)
		switch {
		case holds:
		case bare && b.old(touched):
			b.removeRepository(r, "the repository holds no file, "+since(touched))
		case busy[r.Name] && !bare && !b.keepsStray(b.Path(inventory.Item{Kind: inventory.RepositoryFolder, Repository: r.Name})):
			b.removeRepository(r, "nothing remains in the repository after this")
		}
	}
}

// stayingFolders are the repositories with a folder of which it is not known
// that nobody is about to put something into it.
func (b *builder) stayingFolders() map[string]bool {
	staying := map[string]bool{}
	for _, f := range b.Survey.Folders {
		if !f.Above && !b.inGone(f.Path) {
			staying[f.Repository] = true
		}
	}
	return staying
}

func (b *builder) keepsTag(r *inventory.Repository) bool {
	return slices.ContainsFunc(r.Tags, func(t inventory.Tag) bool { return !b.gone[b.tagFolder(r, t.Name)] })
}

func (b *builder) removeRepository(r *inventory.Repository, why string) {
	path := b.Path(inventory.Item{Kind: inventory.RepositoryFolder, Repository: r.Name})
	b.act(Action{
		Kind: RemoveFolder, Path: path, Repository: r.Name, Reason: why,
		steps: []inventory.Mend{{Kind: inventory.DropRepository, Repository: r.Name, Stop: r.LinkTarget}},
	})
}
