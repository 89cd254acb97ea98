package s3

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"

	"github.com/ebb-io/ebb/internal/store/blob"
)

func digest(what ...any) string {
	sum := sha256.Sum256([]byte(fmt.Sprint(what...)))
	return hex.EncodeToString(sum[:])
}

func contents(n int) []string {
	var keys []string
	for i := range n {
		d := digest(i)
		keys = append(keys, "v2/blobs/sha256/"+d[:2]+"/"+d+"/data")
	}
	return keys
}

func repositories(n, images int) []string {
	var keys []string
	for r := range n {
		top := fmt.Sprintf("v2/repositories/team-%d/app-%d/", r%7, r)
		for i := range images {
			d := digest("manifest", r, i)
			keys = append(keys,
				top+"_manifests/revisions/sha256/"+d+"/link",
				top+fmt.Sprintf("_manifests/tags/v1.0.%d/current/link", i),
				top+fmt.Sprintf("_manifests/tags/v1.0.%d/index/sha256/%s/link", i, d))
			for l := range 5 {
				keys = append(keys, top+"_layers/sha256/"+digest("layer", r, i, l)+"/link")
			}
		}
	}
	return keys
}

func tags(n int) []string {
	var keys []string
	for i := range n {
		keys = append(keys, fmt.Sprintf("v2/repositories/app/_manifests/tags/build-%d/current/link", i))
	}
	return keys
}

type costCase struct {
	name string
	keys []string
	once int // pages at once, at least
}

// costCases leave out, where no time is given, what takes seconds.
func costCases() []costCase {
	cases := []costCase{
		{"nothing", nil, 1},
		{"one page", contents(700), 1},
		{"three pages", contents(3000), 1},
		{"some contents", contents(60_000), 3},
		{"one repository", repositories(1, 6_000), 2},
		{"small repositories", repositories(1000, 5), 1},
		{"some names that tell nothing", tags(20_000), 1},
	}
	if os.Getenv("EBB_LONG") == "" {
		return cases
	}
	return append(cases, []costCase{
		{"contents", contents(300_000), 12},
		{"one large repository", repositories(1, 30_000), 6},
		{"many small repositories", repositories(5000, 5), 3},
		{"some repositories", repositories(60, 600), 3},
		{"names that tell nothing", tags(100_000), 1},
		{"a whole registry", slices.Concat(contents(150_000), repositories(300, 60)), 6},
	}...)
}

// What splitting adds to the pages there are stays small, and large buckets are
// listed many pages at once.
func TestCost(t *testing.T) {
	for _, test := range costCases() {
		t.Run(test.name, func(t *testing.T) {
			slices.Sort(test.keys)
			space := &keySpace{keys: slices.Compact(test.keys), size: pageSize}
			seen, entered := tour(t, space)
			if len(seen) != len(space.keys) {
				t.Errorf("%d keys were shown, want %d", len(seen), len(space.keys))
			}
			for dir, times := range entered {
				if times != 1 {
					t.Fatalf("%s was entered %d times", dir, times)
				}
			}
			pages := max(1, (len(space.keys)+pageSize-1)/pageSize)
			extra := space.requests - pages - 1 // the proof of the end
			t.Logf("%d pages, %d more, %d at once", pages, extra, space.most)
			if extra > pages*6/100 || extra < 0 {
				t.Errorf("%d requests more than the %d pages", extra, pages)
			}
			if space.most < test.once || space.most > inFlight {
				t.Errorf("%d pages at once, want %d to %d", space.most, test.once, inFlight)
			}
		})
	}
}

func tour(t *testing.T, space *keySpace) (map[string]bool, map[string]int) {
	t.Helper()
	var mu sync.Mutex
	seen, entered := map[string]bool{}, map[string]int{}
	w := newWalk(t.Context(), space.list, "", blob.Visitor{
		Enter: func(dir string) blob.Step {
			mu.Lock()
			defer mu.Unlock()
			entered[dir]++
			return blob.List()
		},
		File: func(e blob.Entry) {
			mu.Lock()
			defer mu.Unlock()
			if seen[e.Path] {
				t.Errorf("%q was shown twice", e.Path)
			}
			seen[e.Path] = true
		},
		Fail: func(path string, err error) { t.Errorf("%s: %v", path, err) },
	})
	w.run()
	return seen, entered
}

// Few hexadecimal names with much in each leave no room for boundaries between
// them: none may fall before what was shown.
func TestFewNamesWithMuchInEach(t *testing.T) {
	space := &keySpace{size: 1}
	for _, name := range []string{"fc", "fd", "fe", "ff"} {
		for i := range 60 {
			space.keys = append(space.keys, fmt.Sprintf("%s/x%02d", name, i))
		}
	}
	seen, entered := tour(t, space)
	if len(seen) != len(space.keys) || entered["fd"] != 1 || entered["fe"] != 1 {
		t.Errorf("%d of %d keys, entered %v", len(seen), len(space.keys), entered)
	}
}
