package manifestcache

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
)

// The names of the cache's files. A folder may hold what belongs to others:
// what is not called so is never touched.
const (
	namePrefix = "ebb-manifests-" // then 16 hexadecimal digits
	packSuffix = ".pack"
	tempSuffix = ".tmp"
)

var ownName = regexp.MustCompile(`^ebb-manifests-[0-9a-f]{16}\.(pack|tmp)$`)

// writer is a pack in the making, under a temporary name. It can be read
// already; nobody else knows what is in it.
type writer struct {
	name string // without a suffix
	file *os.File
	size int64
	rows map[key]span
}

// packSize is when a pack is full, in bytes; far less than an offset can tell.
func (c *Cache) packSize() int64 { return min(c.limit/share, 1<<30) }

// append writes a record, unless the pack in the making has its key already.
func (c *Cache) append(k key, record []byte) error {
	if c.writing == nil {
		w, err := c.newWriter()
		if err != nil {
			return err
		}
		c.writing = w
	}
	w := c.writing
	if _, ok := w.rows[k]; ok {
		return nil
	}
	if _, err := w.file.WriteAt(record, w.size); err != nil {
		return err
	}
	w.rows[k] = span{offset: uint32(w.size), length: uint32(len(record))}
	w.size += int64(len(record))
	return nil
}

func (c *Cache) newWriter() (*writer, error) {
	w := &writer{name: fmt.Sprintf(namePrefix+"%016x", rand.Uint64()), rows: map[key]span{}, size: int64(len(format))}
	var err error
	if w.file, err = c.root.OpenFile(w.name+tempSuffix, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600); err != nil {
		return nil, err
	}
	if _, err := w.file.WriteAt([]byte(format), 0); err != nil {
		return nil, errors.Join(err, w.file.Close(), c.root.Remove(w.name+tempSuffix))
	}
	return w, nil
}

// seal ends the pack in the making and gives it its name. It is not synced: a
// pack that a power cut damages is found out when it is opened or used.
func (c *Cache) seal() error {
	w := c.writing
	if w == nil {
		return nil
	}
	end := footer(w.rows)
	if _, err := w.file.WriteAt(end, w.size); err != nil {
		return err
	}
	if err := c.root.Rename(w.name+tempSuffix, w.name+packSuffix); err != nil {
		return err
	}
	p := &pack{name: w.name + packSuffix, size: w.size + int64(len(end)), file: w.file, index: end[:len(end)-footerSize]}
	p.used.Store(true)
	c.packs, c.writing = append(c.packs, p), nil
	return nil
}

// discard gives up the pack in the making.
func (c *Cache) discard() {
	if w := c.writing; w != nil {
		_ = w.file.Close()
		_ = c.root.Remove(w.name + tempSuffix) // one that stays is removed when it is old
		c.writing = nil
	}
}

// mostSmall is how many small packs may be used at once before they become one.
const mostSmall = 8

// merge makes one pack of many small ones, which runs with little news leave.
// It takes only what was used in this session: what nobody uses grows old.
func (c *Cache) merge() error {
	var small, rest []*pack
	for _, p := range c.packs {
		if p.used.Load() && p.size < c.packSize()/2 {
			small = append(small, p)
		} else {
			rest = append(rest, p)
		}
	}
	if len(small) <= mostSmall {
		return nil
	}
	for _, p := range small {
		if err := c.copyRecords(p); err != nil {
			return err
		}
	}
	if err := c.seal(); err != nil {
		return err
	}
	for _, p := range small {
		c.remove(p)
	}
	c.packs = append(rest, c.packs[len(small)+len(rest):]...)
	return nil
}

// copyRecords copies as they are all records of a pack that can be read.
func (c *Cache) copyRecords(p *pack) error {
	buffer := c.codec.buffer()
	defer c.codec.done(buffer)
	for i := range p.rows() {
		k, s := p.row(i)
		if readRecord(p.file, s, buffer) != nil {
			continue
		}
		if err := c.append(k, *buffer); err != nil {
			return err
		}
		if c.writing.size >= c.packSize() {
			if err := c.seal(); err != nil {
				return err
			}
		}
	}
	return nil
}
