package manifestcache

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"slices"
	"sort"
	"sync/atomic"

	"github.com/ebb-io/ebb/internal/image"
)

// A pack is, in order: the format; records, each a compressed manifest; the
// index, a row for each record, sorted by key; the number of rows and the
// index's checksum, 4 bytes each; the format again. Numbers are little-endian.
//
// A row is the record's key, its offset and its length. The checksum is against
// accidents; whether a record is the manifest that is asked for, its digest
// tells.
const (
	format     = "ebbman\x00\x01" // the last byte is the version
	rowSize    = len(key{}) + 4 + 4
	footerSize = 4 + 4 + len(format)
	// mostRows is more than any pack has, so that a foreign file can not ask
	// for much memory.
	mostRows = 1 << 20
)

// key finds a manifest: the beginning of its digest, long enough that nobody
// can make two manifests with the same one.
type key [16]byte

func keyOf(d image.Digest) key {
	var k key
	_, _ = hex.Decode(k[:], []byte(d.Hex()[:hex.EncodedLen(len(k))])) // a digest is hexadecimal
	return k
}

// span is where a record lies in its pack.
type span struct{ offset, length uint32 }

var (
	// errForeign says that a file is of another program or version.
	errForeign = errors.New("no pack of this version")
	errDamaged = errors.New("pack is damaged")
)

// pack is a file of manifests, open for reading.
type pack struct {
	name  string
	size  int64 // bytes
	file  *os.File
	index []byte // rows

	used   atomic.Bool // in this session: it held something that was asked for, or was written
	broken atomic.Bool
}

func openPack(root *os.Root, name string) (*pack, error) {
	file, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	index, err := readIndex(file, info.Size())
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return &pack{name: name, size: info.Size(), file: file, index: index}, nil
}

func readIndex(file io.ReaderAt, size int64) ([]byte, error) {
	head := make([]byte, len(format))
	if _, err := file.ReadAt(head, 0); err != nil || string(head) != format {
		return nil, errForeign
	}
	footer := make([]byte, footerSize)
	if _, err := file.ReadAt(footer, size-int64(footerSize)); err != nil {
		return nil, fmt.Errorf("%w: %w", errDamaged, err)
	}
	count, sum := binary.LittleEndian.Uint32(footer), binary.LittleEndian.Uint32(footer[4:])
	start := size - int64(footerSize) - int64(count)*int64(rowSize)
	if string(footer[8:]) != format || count > mostRows || start < int64(len(format)) {
		return nil, errDamaged
	}
	index := make([]byte, int(count)*rowSize)
	if _, err := file.ReadAt(index, start); err != nil {
		return nil, fmt.Errorf("%w: %w", errDamaged, err)
	}
	if crc32.ChecksumIEEE(index) != sum {
		return nil, errDamaged
	}
	return index, nil
}

func (p *pack) rows() int { return len(p.index) / rowSize }

func (p *pack) row(i int) (key, span) {
	row := p.index[i*rowSize:][:rowSize]
	return key(row[:len(key{})]), span{
		offset: binary.LittleEndian.Uint32(row[len(key{}):]), length: binary.LittleEndian.Uint32(row[len(key{})+4:]),
	}
}

func (p *pack) find(k key) (span, bool) {
	i := sort.Search(p.rows(), func(i int) bool { return bytes.Compare(p.index[i*rowSize:][:len(k)], k[:]) >= 0 })
	if i == p.rows() {
		return span{}, false
	}
	found, s := p.row(i)
	return s, found == k
}

// load reads the record of a manifest, appends what it unpacks to to the
// buffer, and tells whether that is the manifest.
func (c *Cache) load(file io.ReaderAt, s span, d image.Digest, buffer []byte) ([]byte, bool) {
	packed := c.codec.buffer()
	defer c.codec.done(packed)
	if err := readRecord(file, s, packed); err != nil {
		return nil, false
	}
	content, err := c.codec.decode(*packed, buffer)
	return content, err == nil && d.Matches(content[len(buffer):])
}

func readRecord(file io.ReaderAt, s span, buffer *[]byte) error {
	if s.length > 2*largest {
		return errDamaged
	}
	*buffer = slices.Grow((*buffer)[:0], int(s.length))[:s.length]
	_, err := file.ReadAt(*buffer, int64(s.offset))
	return err
}

// footer is the index of rows with what stands behind it.
func footer(rows map[key]span) []byte {
	keys := make([]key, 0, len(rows))
	for k := range rows {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b key) int { return bytes.Compare(a[:], b[:]) })
	out := make([]byte, 0, len(rows)*rowSize+footerSize)
	for _, k := range keys {
		out = append(out, k[:]...)
		out = binary.LittleEndian.AppendUint32(out, rows[k].offset)
		out = binary.LittleEndian.AppendUint32(out, rows[k].length)
	}
	sum := crc32.ChecksumIEEE(out)
	out = binary.LittleEndian.AppendUint32(out, uint32(len(rows)))
	out = binary.LittleEndian.AppendUint32(out, sum)
	return append(out, format...)
}
