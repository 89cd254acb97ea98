package manifestcache

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"
)

// written is a folder with one pack of the manifests.
func written(t testing.TB, entries []entry) (dir, pack string) {
	t.Helper()
	dir = t.TempDir()
	c := open(t, dir, DefaultLimit)
	c.putAll(entries)
	shut(t, c)
	packs := files(t, dir, packSuffix)
	if len(packs) != 1 {
		t.Fatal(packs)
	}
	return dir, packs[0]
}

func rewrite(t testing.TB, path string, change func([]byte) []byte) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, change(data), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Whatever became of a pack, what is found is sound; what is damaged is gone
// after the session that saw it; and the same manifests can be kept again.
func TestDamagedPacks(t *testing.T) {
	entries := manifests(1, 20)
	tests := []struct {
		reason string
		damage func([]byte) []byte
		found  int
		stays  bool // the file
	}{
		{"nothing happened", func(b []byte) []byte { return b }, 20, true},
		{"empty, as after a power cut", func([]byte) []byte { return nil }, 0, true},
		{"zeros, as after a power cut", func(b []byte) []byte { return make([]byte, len(b)) }, 0, true},
		{"of another version", func(b []byte) []byte { b[len(format)-1]++; return b }, 0, true},
		{"of another program", func([]byte) []byte { return []byte("PK\x03\x04 something else, and long enough") }, 0, true},
		{"the beginning alone", func(b []byte) []byte { return b[:len(format)] }, 0, false},
		{"cut in the middle", func(b []byte) []byte { return b[:len(b)/2] }, 0, false},
		{"one byte short", func(b []byte) []byte { return b[:len(b)-1] }, 0, false},
		{"one byte more", func(b []byte) []byte { return append(b, 0) }, 0, false},
		{"a bit of a record", func(b []byte) []byte { b[len(format)+200] ^= 1; return b }, 19, false},
		{"a bit of the index", func(b []byte) []byte { b[len(b)-footerSize-1] ^= 1; return b }, 0, false},
		{"more rows than bytes", func(b []byte) []byte {
			binary.LittleEndian.PutUint32(b[len(b)-footerSize:], mostRows)
			return b
		}, 0, false},
		{"records under each other's names", func(b []byte) []byte { return reindexed(b, swap) }, 18, false},
		{"a record outside of the file", func(b []byte) []byte { return reindexed(b, beyond) }, 19, false},
		{"a record too large for the memory", func(b []byte) []byte { return reindexed(b, huge) }, 19, false},
	}
	for _, test := range tests {
		dir, pack := written(t, entries)
		rewrite(t, pack, test.damage)
		c := open(t, dir, DefaultLimit)
		if n := hits(t, c, entries); n != test.found {
			t.Errorf("%s: %d are found, want %d", test.reason, n, test.found)
		}
		c.putAll(entries)
		if n := hits(t, c, entries); n != len(entries) {
			t.Errorf("%s: put again, %d are found", test.reason, n)
		}
		shut(t, c)
		if _, err := os.Stat(pack); (err == nil) != test.stays {
			t.Errorf("%s: the file: %v", test.reason, err)
		}
		if n := hits(t, open(t, dir, DefaultLimit), entries); n != len(entries) {
			t.Errorf("%s: in the next session %d are found", test.reason, n)
		}
	}
}

// reindexed is a pack with a changed index, whose checksum is right again.
func reindexed(b []byte, change func(rows map[key]span)) []byte {
	count := int(binary.LittleEndian.Uint32(b[len(b)-footerSize:]))
	start := len(b) - footerSize - count*rowSize
	p := &pack{index: b[start : len(b)-footerSize]}
	rows := map[key]span{}
	for i := range count {
		k, s := p.row(i)
		rows[k] = s
	}
	change(rows)
	return append(b[:start:start], footer(rows)...)
}

func swap(rows map[key]span) {
	first, second := keyOf(manifests(1, 2)[0].digest), keyOf(manifests(1, 2)[1].digest)
	rows[first], rows[second] = rows[second], rows[first]
}

func beyond(rows map[key]span) {
	k := keyOf(manifests(1, 1)[0].digest)
	rows[k] = span{offset: 1 << 31, length: rows[k].length}
}

func huge(rows map[key]span) {
	k := keyOf(manifests(1, 1)[0].digest)
	rows[k] = span{offset: rows[k].offset, length: 1<<32 - 1}
}

// A pack that vanishes or is cut under its reader is slower, and nothing else.
func TestPacksThatChangeUnderTheReader(t *testing.T) {
	entries := manifests(1, 20)
	for reason, change := range map[string]func(path string) error{
		"removed": os.Remove,
		"cut":     func(path string) error { return os.Truncate(path, 100) },
	} {
		dir, pack := written(t, entries)
		c := open(t, dir, DefaultLimit)
		if err := change(pack); err != nil {
			t.Fatal(err)
		}
		hits(t, c, entries)
		c.putAll(entries)
		if n := hits(t, c, entries); n != len(entries) {
			t.Errorf("%s: %d are found", reason, n)
		}
		shut(t, c)
	}
}

// What else lies in the folder is not touched, and nothing waits for it.
func TestForeignFilesStay(t *testing.T) {
	dir := t.TempDir()
	outside := filepath.Join(t.TempDir(), "outside.pack")
	must(t, os.WriteFile(outside, []byte(format), 0o600))
	must(t, os.WriteFile(filepath.Join(dir, "notes.txt"), make([]byte, 1<<20), 0o600))
	must(t, os.Mkdir(filepath.Join(dir, "folder.pack"), 0o700))
	must(t, os.Symlink(outside, filepath.Join(dir, "link.pack")))
	must(t, os.Symlink(dir, filepath.Join(dir, "loop.tmp")))
	must(t, syscall.Mkfifo(filepath.Join(dir, "pipe.pack"), 0o600))
	before := files(t, dir, "")
	c := open(t, dir, 64<<10)
	entries := manifests(1, 200)
	c.putAll(entries)
	shut(t, c)
	for _, name := range append(before, outside) {
		if _, err := os.Lstat(name); err != nil {
			t.Error(err)
		}
	}
	if len(files(t, dir, "")) == len(before) {
		t.Error("nothing was kept beside them")
	}
}

// A folder that can not be one brings one error and a cache that holds nothing.
func TestNoFolder(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	must(t, os.WriteFile(file, nil, 0o600))
	loop := filepath.Join(t.TempDir(), "loop")
	must(t, os.Symlink(loop, loop))
	for reason, dir := range map[string]string{
		"a file": file, "below a file": filepath.Join(file, "a"), "a link to itself": loop, "no name": "", "no place": "/proc/none/a",
	} {
		c, err := Open(dir, DefaultLimit)
		if err == nil {
			t.Errorf("%s: no error", reason)
		}
		c.putAll(manifests(1, 1))
		if err := c.Close(); err != nil {
			t.Errorf("%s: a second warning: %v", reason, err)
		}
	}
}

// On a full disk, and in a folder that is gone, the writing ends, with one
// error at the end; what is there can be read.
func TestWritingThatFails(t *testing.T) {
	old, entries := manifests(1, 5), manifests(2, 20)
	for reason, damage := range map[string]func(c *Cache, dir string){
		"full": func(c *Cache, _ string) {
			full, err := os.OpenFile("/dev/full", os.O_RDWR, 0)
			must(t, err)
			must(t, c.writing.file.Close())
			c.writing.file = full
		},
		"no folder": func(_ *Cache, dir string) { must(t, os.RemoveAll(dir)) },
	} {
		if runtime.GOOS != "linux" && reason == "full" {
			continue // there is no such device
		}
		dir, _ := written(t, old)
		c := open(t, dir, DefaultLimit)
		c.putAll(entries[:1])
		damage(c, dir)
		c.putAll(entries)
		if n := hits(t, c, old); n != len(old) {
			t.Errorf("%s: %d are found", reason, n)
		}
		if err := c.Close(); err == nil {
			t.Errorf("%s: nothing is said", reason)
		}
		if left := files(t, dir, tempSuffix); len(left) > 0 {
			t.Errorf("%s: left: %v", reason, left)
		}
	}
}

func ownFile(n int, suffix string) string { return fmt.Sprintf("%s%016x%s", namePrefix, n, suffix) }

// A folder may be another's: whatever else lies in it, however large, old or
// like a pack in its name, is neither read, counted nor removed.
func TestOtherFilesAreNotTouched(t *testing.T) {
	dir := t.TempDir()
	others := []string{
		"thesis.tmp", "0123456789abcdef.tmp", "pack-0123456789abcdef0123456789abcdef01234567.pack", "ebb.pack",
		"ebb-manifests-.pack", "ebb-manifests-0123456789ABCDEF.pack", "ebb-manifests-0123456789abcdef.pack.bak",
		"my-ebb-manifests-0123456789abcdef.tmp",
	}
	for _, name := range others {
		path := filepath.Join(dir, name)
		must(t, os.WriteFile(path, []byte("precious"), 0o600))
		must(t, os.Truncate(path, 1<<20))
		must(t, os.Chtimes(path, time.Now().Add(-2*tempAge), time.Now().Add(-2*tempAge)))
	}
	for i := range 3 {
		c := open(t, dir, 48<<10)
		kept := manifests(uint64(i), 1)
		c.putAll(kept)
		shut(t, c)
		c = open(t, dir, 48<<10)
		if n := hits(t, c, kept); n != len(kept) {
			t.Errorf("%d of %d are found beside the files of others", n, len(kept))
		}
		shut(t, c)
	}
	for _, name := range others {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Size() != 1<<20 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What a killed process left counts for the limit, and goes when it is old.
func TestLeftTemporaryFiles(t *testing.T) {
	dir := t.TempDir()
	for i, age := range []time.Duration{0, time.Minute, 2 * time.Minute, 2 * tempAge} {
		name := filepath.Join(dir, ownFile(i, tempSuffix))
		must(t, os.WriteFile(name, make([]byte, 30<<10), 0o600))
		must(t, os.Chtimes(name, time.Now().Add(-age), time.Now().Add(-age)))
	}
	c := open(t, dir, 48<<10)
	c.putAll(manifests(1, 1))
	shut(t, c)
	if left := files(t, dir, tempSuffix); len(left) != 1 || filepath.Base(left[0]) != ownFile(0, tempSuffix) {
		t.Errorf("left: %v", left)
	}
}

// FuzzPack reads arbitrary bytes as a pack: what comes out is sound, whatever
// they promise.
func FuzzPack(f *testing.F) {
	entries := manifests(1, 3)
	_, path := written(f, entries)
	sound, err := os.ReadFile(path)
	must(f, err)
	f.Add(sound, uint16(0), byte(0))
	f.Add(sound, uint16(100), byte(1))
	f.Add(reindexed(sound, swap), uint16(0), byte(0))
	f.Add(reindexed(sound, beyond), uint16(0), byte(0))
	f.Add([]byte(format), uint16(3), byte(9))
	c := open(f, f.TempDir(), DefaultLimit)
	f.Fuzz(func(t *testing.T, data []byte, at uint16, flip byte) {
		data = bytes.Clone(data)
		if len(data) > 0 {
			data[int(at)%len(data)] ^= flip
		}
		data = repaired(data)
		file := bytes.NewReader(data)
		index, err := readIndex(file, int64(len(data)))
		if err != nil {
			return
		}
		p := &pack{index: index}
		for i := range p.rows() {
			k, s := p.row(i)
			p.find(k)
			for _, e := range entries {
				if content, ok := c.load(file, s, e.digest, nil); ok && !bytes.Equal(content, e.content) {
					t.Fatalf("%s came back as %q", e.digest, content)
				}
			}
		}
	})
}

// repaired gives data a checksum that is right, so that a search gets behind it.
func repaired(data []byte) []byte {
	if len(data) < footerSize {
		return data
	}
	count := int64(binary.LittleEndian.Uint32(data[len(data)-footerSize:]))
	if count*int64(rowSize) > int64(len(data)-footerSize) {
		return data
	}
	return reindexed(data, func(map[key]span) {})
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
