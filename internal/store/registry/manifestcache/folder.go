package manifestcache

import (
	"cmp"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"time"
)

// tempAge is when a temporary file's writer is taken to be gone: one that
// lives writes more often.
const tempAge = 24 * time.Hour

// file is a pack or a temporary one, as the folder shows it.
type file struct {
	name    string
	size    int64
	modTime time.Time
}

// list finds the cache's files; the one that was used last comes first. Only
// regular files with the cache's names are its own.
func (c *Cache) list() ([]file, error) {
	entries, err := fs.ReadDir(c.root.FS(), ".")
	if err != nil {
		return nil, err
	}
	var files []file
	for _, entry := range entries {
		name := entry.Name()
		if !entry.Type().IsRegular() || !ownName.MatchString(name) {
			continue
		}
		if info, err := entry.Info(); err == nil { // else it is gone by now
			files = append(files, file{name: name, size: info.Size(), modTime: info.ModTime()})
		}
	}
	slices.SortFunc(files, func(a, b file) int {
		return cmp.Or(b.modTime.Compare(a.modTime), cmp.Compare(a.name, b.name))
	})
	return files, nil
}

// openPacks opens what can be opened. What is of another version may be used
// by another Ebb and is left to grow old; what is damaged goes.
func (c *Cache) openPacks(files []file) {
	for _, f := range files {
		if len(c.packs) == mostFiles || !strings.HasSuffix(f.name, packSuffix) {
			continue
		}
		p, err := openPack(c.root, f.name)
		if errors.Is(err, errDamaged) {
			_ = c.root.Remove(f.name)
		}
		if err == nil {
			c.packs = append(c.packs, p)
		}
	}
}

// evict removes what was not used for longest until the cache is within its
// limit and has room for the next pack. A temporary file counts, as those of
// processes that were killed would pile up; one that is being written is among
// the newest. It is called with no pack in the making.
func (c *Cache) evict() {
	files, err := c.list()
	if err != nil {
		return // nothing is written either where nothing can be listed
	}
	room, count := c.limit-c.packSize(), 0
	for _, f := range files {
		left := strings.HasSuffix(f.name, tempSuffix) && time.Since(f.modTime) > tempAge
		if left || room < f.size || count == mostFiles {
			c.removeNamed(f.name)
			continue
		}
		room, count = room-f.size, count+1
	}
}

func (c *Cache) removeNamed(name string) {
	if i := slices.IndexFunc(c.packs, func(p *pack) bool { return p.name == name }); i >= 0 {
		_ = c.packs[i].file.Close()
		c.packs = slices.Delete(c.packs, i, i+1)
	}
	_ = c.root.Remove(name)
}

// dropBroken removes the packs in which something was not what it should be.
func (c *Cache) dropBroken() {
	c.packs = slices.DeleteFunc(c.packs, func(p *pack) bool {
		if !p.broken.Load() {
			return false
		}
		c.remove(p)
		return true
	})
}

func (c *Cache) remove(p *pack) {
	_ = p.file.Close()
	_ = c.root.Remove(p.name)
}
