package manifestcache

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ebb-io/ebb/internal/image"
)

// entry is a manifest with its digest.
type entry struct {
	digest  image.Digest
	content []byte
}

// manifests are n manifests as docker and buildkit write them, of 1.5 to 3 kB,
// the same for the same seed.
func manifests(seed uint64, n int) []entry {
	r := rand.New(rand.NewPCG(seed, 0))
	entries := make([]entry, n)
	for i := range entries {
		content := manifest(r, i%2 == 0)
		entries[i] = entry{image.SHA256(content), content}
	}
	return entries
}

func manifest(r *rand.Rand, docker bool) []byte {
	manifest, config, layer := "vnd.oci.image.manifest.v1+json", "vnd.oci.image.config.v1+json", "vnd.oci.image.layer.v1.tar+gzip"
	if docker {
		manifest, config = "vnd.docker.distribution.manifest.v2+json", "vnd.docker.container.image.v1+json"
		layer = "vnd.docker.image.rootfs.diff.tar.gzip"
	}
	var b bytes.Buffer
	part := func(mediaType string, most int) {
		var sum [32]byte
		for i := range sum {
			sum[i] = byte(r.Uint32())
		}
		fmt.Fprintf(&b, "{\n    \"mediaType\": \"application/%s\",\n    \"digest\": \"sha256:%s\",\n    \"size\": %d\n  }",
			mediaType, hex.EncodeToString(sum[:]), r.IntN(most))
	}
	fmt.Fprintf(&b, "{\n  \"schemaVersion\": 2,\n  \"mediaType\": \"application/%s\",\n  \"config\": ", manifest)
	part(config, 20_000)
	b.WriteString(",\n  \"layers\": [")
	for i := range 8 + r.IntN(9) {
		if i > 0 {
			b.WriteString(", ")
		}
		part(layer, 100_000_000)
	}
	b.WriteString("]\n}")
	return b.Bytes()
}

func open(t testing.TB, dir string, limit int64) *Cache {
	t.Helper()
	c, err := Open(dir, limit)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func shut(t testing.TB, c *Cache) {
	t.Helper()
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
}

func (c *Cache) putAll(entries []entry) {
	for _, e := range entries {
		c.Put(e.digest, e.content)
	}
}

// hits are how many manifests the cache has. One that is not what its digest
// says fails the test.
func hits(t testing.TB, c *Cache, entries []entry) (n int) {
	t.Helper()
	var buffer []byte
	for _, e := range entries {
		content, ok := c.Get(e.digest, int64(len(e.content)), buffer[:0])
		if ok && !bytes.Equal(content, e.content) {
			t.Fatalf("%s came back as %q", e.digest, content)
		}
		if ok {
			n, buffer = n+1, content
		}
	}
	return n
}

func files(t testing.TB, dir, suffix string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "*"+suffix))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// weight is the size of all files, in bytes.
func weight(t testing.TB, dir string) (size int64) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			size += info.Size()
		}
	}
	return size
}

func TestWhatIsPutIsFound(t *testing.T) {
	dir, entries := filepath.Join(t.TempDir(), "a", "b"), manifests(1, 100)
	long, err := image.ParseDigest("sha512:" + strings.Repeat("0", 128))
	if err != nil {
		t.Fatal(err)
	}
	entries = append(entries, entry{image.SHA256(nil), nil}, entry{image.SHA256(make([]byte, largest)), make([]byte, largest)})
	c := open(t, dir, DefaultLimit)
	if n := hits(t, c, entries); n != 0 {
		t.Errorf("an empty cache has %d", n)
	}
	c.putAll(entries)
	for _, when := range []string{"in the same session", "in the next", "and in one more"} {
		if n := hits(t, c, entries); n != len(entries) {
			t.Errorf("%s %d of %d are found", when, n, len(entries))
		}
		if _, ok := c.Get(long, 10, nil); ok {
			t.Errorf("%s what was never put is found", when)
		}
		if _, ok := c.Get(entries[0].digest, int64(len(entries[0].content))-1, nil); ok {
			t.Errorf("%s a manifest of another length is found", when)
		}
		shut(t, c)
		if n := hits(t, c, entries); n != 0 {
			t.Errorf("a closed cache has %d", n)
		}
		c.putAll(entries) // does nothing
		shut(t, c)        // nor does this
		c = open(t, dir, DefaultLimit)
	}
	if packs := files(t, dir, ""); len(packs) != 1 {
		t.Errorf("a manifest that is there is written again: %v", packs)
	}
}

func TestNilCache(t *testing.T) {
	var c *Cache
	e := manifests(1, 1)
	c.putAll(e)
	if n := hits(t, c, e); n != 0 || c.Close() != nil {
		t.Error("a nil cache holds nothing")
	}
}

// Manifests of private registries are for nobody else.
func TestPermissions(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	c := open(t, dir, DefaultLimit)
	c.putAll(manifests(1, 1))
	shut(t, c)
	for path, want := range map[string]fs.FileMode{dir: 0o700 | fs.ModeDir, files(t, dir, packSuffix)[0]: 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode() != want {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
}

// The cache stays within its limit while it is written, and what was used last
// outlives what was not.
func TestEviction(t *testing.T) {
	const limit = 512 << 10
	dir, used := t.TempDir(), manifests(1, 50)
	c := open(t, dir, limit)
	c.putAll(used)
	shut(t, c)
	for round := range 4 {
		old := time.Now().Add(-time.Hour)
		for _, name := range files(t, dir, packSuffix) {
			if err := os.Chtimes(name, old, old); err != nil {
				t.Fatal(err)
			}
		}
		c = open(t, dir, limit)
		if n := hits(t, c, used[:1]); n != 1 {
			t.Fatalf("round %d: what is used each time is gone", round)
		}
		for i, e := range manifests(uint64(10+round), 700) {
			c.Put(e.digest, e.content)
			if size := weight(t, dir); size > limit {
				t.Fatalf("round %d: %d bytes after %d more, the limit is %d", round, size, i, limit)
			}
		}
		if round < 2 { // the next rounds' flood drives out even this one
			shut(t, c)
			continue
		}
		shut(t, c)
		break
	}
	c = open(t, dir, limit)
	if n := hits(t, c, manifests(10, 700)); n > 350 {
		t.Errorf("%d of the oldest are still there", n)
	}
	if n := hits(t, c, manifests(12, 700)); n < 350 {
		t.Errorf("%d of the newest are left", n)
	}
}

// Sessions with little news do not leave a file each for ever, and packs that
// nobody uses are not carried along.
func TestSmallPacksBecomeOne(t *testing.T) {
	dir := t.TempDir()
	forgotten := manifests(99, 1)
	c := open(t, dir, DefaultLimit)
	c.putAll(forgotten)
	shut(t, c)
	entries := manifests(1, 40)
	for i := range entries {
		c := open(t, dir, DefaultLimit)
		if n := hits(t, c, entries[:i]); n != i {
			t.Fatalf("session %d has %d", i, n)
		}
		c.Put(entries[i].digest, entries[i].content)
		shut(t, c)
		if packs := files(t, dir, ""); len(packs) > mostSmall+1 {
			t.Fatalf("session %d left %d files", i, len(packs))
		}
	}
	c = open(t, dir, DefaultLimit)
	if n := hits(t, c, forgotten); n != 1 {
		t.Error("what was not used is gone before its time")
	}
	for _, p := range c.packs {
		if _, ok := p.find(keyOf(forgotten[0].digest)); ok && p.rows() > 1 {
			t.Error("what was not used was carried along")
		}
	}
}

// However small they are, there are not more files than can be open at once.
func TestFilesAreBounded(t *testing.T) {
	dir := t.TempDir()
	for _, e := range manifests(1, mostFiles+20) {
		c := open(t, dir, DefaultLimit)
		c.Put(e.digest, e.content)
		shut(t, c)
	}
	if n := len(files(t, dir, "")); n != mostFiles {
		t.Errorf("there are %d files", n)
	}
}

func TestConcurrentUse(t *testing.T) {
	c, entries := open(t, t.TempDir(), 8<<20), manifests(1, 2000) // packs of 256 KiB
	var group sync.WaitGroup
	for worker := range 64 {
		group.Go(func() {
			for i := worker; i < len(entries); i += 16 { // each by four of them
				e := entries[i]
				c.Put(e.digest, e.content)
				if content, ok := c.Get(e.digest, int64(len(e.content)), nil); ok && !bytes.Equal(content, e.content) {
					t.Errorf("%s came back as %q", e.digest, content)
				}
			}
		})
	}
	group.Wait()
	if n := hits(t, c, entries); n != len(entries) {
		t.Errorf("%d of %d are there", n, len(entries))
	}
	shut(t, c)
}

// A pack of an older dictionary would unpack to nothing: whoever changes the
// one changes the other.
func TestDictionaryHasItsVersion(t *testing.T) {
	versions := map[string]string{"ebbman\x00\x01": "87c44235540d3bff923f8d2523413b951feaf1361e27bb82edb38205d249046e"}
	if got := image.SHA256([]byte(dictionary)).Hex(); versions[format] != got {
		t.Errorf("the dictionary of format %q is %s", format, got)
	}
}
