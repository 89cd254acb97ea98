package buckets

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/ebb-io/ebb/internal/testkit/objects"
	"github.com/ebb-io/ebb/internal/testkit/trial"
	"github.com/ebb-io/ebb/internal/testkit/world"
)

// lies are what a listing may say that is not so.
var lies = map[string]func(*objects.Page){
	"it ends early":                           objects.EndEarly,
	"it does not say whether there is more":   objects.DropTruncated,
	"there is more, and no way to get there":  objects.DropToken,
	"it leads to where it was":                objects.RepeatToken,
	"it begins anew":                          objects.Restart,
	"it goes backwards":                       objects.Backwards,
	"it leaves out the last and counts it":    objects.DropLast,
	coherent:                                  func(p *objects.Page) { objects.DropLast(p); objects.EndEarly(p); p.KeyCount = len(p.Contents) },
	"it shows nothing and says there is more": func(p *objects.Page) { p.Contents, p.KeyCount = nil, 0; objects.Restart(p) },
	"it shows what belongs elsewhere": func(p *objects.Page) {
		for i := range p.Contents {
			p.Contents[i].Key = strings.Replace(p.Contents[i].Key, "registry", "registrx", 1)
		}
	},
}

// coherent is a lie that contradicts nothing when every listing tells it.
const coherent = "it ends early, and leaves out the last"

// newCity is a town whose listings take many pages. What it has besides comes
// last in its listings.
func newCity(t *testing.T) *town {
	t.Helper()
	w := newTown(t)
	for n := range 10 {
		w.keeps(w.Image("zoo", world.Tag(fmt.Sprintf("v%d", n)), world.ConfigText(fmt.Sprint(n))), fmt.Sprintf("v%d", n))
	}
	w.first = trial.Remember(w.view())
	w.fake.SetPageSize(8)
	return w
}

// TestLies has one listing of a run lie, each in turn, and then all of them.
// What must stay stays. Where Ebb noticed it says so, and where it noticed
// before the first deletion it swept no blob; where it did not the lie was none.
func TestLies(t *testing.T) {
	w := newCity(t)
	if said := verdict(w.run(t)); said != "" {
		t.Fatal(said)
	}
	listings := w.fake.Counts()[objects.List]
	for _, name := range slices.Sorted(maps.Keys(lies)) {
		t.Run(name, func(t *testing.T) {
			var noticed atomic.Int64
			var group errgroup.Group
			group.SetLimit(4)
			for n := range listings + 1 {
				if n == 0 && name == coherent {
					continue
				}
				group.Go(func() error {
					when := objects.NthOf(n, objects.Operation(objects.List))
					if n == 0 {
						when = objects.Both(objects.Operation(objects.List), objects.Below(root+"/"+world.Root))
					}
					if lied(t, fmt.Sprintf("listing %d of %d", n, listings), when, lies[name]) {
						noticed.Add(1)
					}
					return nil
				})
			}
			_ = group.Wait() // errors are the test's
			t.Logf("noticed %d times in %d", noticed.Load(), listings+1)
			if noticed.Load() == 0 {
				t.Error("it was never noticed")
			}
		})
	}
}

// lied tells whether Ebb noticed.
func lied(t *testing.T, which string, when objects.When, lie func(*objects.Page)) bool {
	t.Helper()
	w := newCity(t)
	w.fake.Inject(when, objects.Lie(lie))
	result, err := w.run(t)
	said := verdict(result, err)
	if lost := w.lost(); len(lost) > 0 {
		t.Errorf("%s: lost %q, said %q", which, lost, said)
	}
	if left := w.left(); said == "" && len(left) > 0 {
		t.Errorf("%s: left %q and said nothing", which, left)
	}
	if result != nil && result.Plan != nil && result.Plan.Inventory().Unlisted && result.Outcome.Deleted.Blobs > 0 {
		t.Errorf("%s: %d blobs are swept after %s", which, result.Outcome.Deleted.Blobs, said)
	}
	w.finishes(t, which)
	return said != ""
}

// TestLiesAreDamage: a run over listings that can not be believed ends with 3,
// and one that could see nothing whole with 10.
func TestLiesAreDamage(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(lies)) {
		for _, part := range []string{"blobs", "repositories"} {
			if name == coherent {
				continue
			}
			t.Run(name+" of "+part, func(t *testing.T) {
				w := newCity(t)
				before := w.blobs()
				sh := newShell(t, w.fake.Bucket, root)
				sh.now = w.Now
				w.fake.Inject(objects.Both(objects.Operation(objects.List), objects.Below(root+"/"+world.Root+"/"+part+"/")), objects.Lie(lies[name]))
				got := sh.ebb(t, "run", "--owners", ownersFile(t), "--delete-untagged", "--max-delete-share", "100", "--offline", "--yes")
				if got.code != 3 && got.code != 10 {
					t.Errorf("exit code %d: %s", got.code, got.err)
				}
				if lost := w.lost(); len(lost) > 0 {
					t.Errorf("lost %q", lost)
				}
				if blobs := w.blobs(); blobs != before {
					t.Errorf("%d blobs of %d are swept", before-blobs, before)
				}
				t.Logf("exit code %d: %s", got.code, got.err)
			})
		}
	}
}

// blobs is how many there are.
func (w *town) blobs() (n int) {
	for path := range w.view() {
		if strings.HasPrefix(path, world.Root+"/blobs/") {
			n++
		}
	}
	return n
}
