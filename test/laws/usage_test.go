package laws

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/ebb-io/ebb/internal/inventory"
	"github.com/ebb-io/ebb/internal/plan"
	"github.com/ebb-io/ebb/internal/usage"
)

var groupings = []usage.By{usage.Repository, usage.Owner, usage.Kind, usage.Namespace, usage.MediaType}

// Whatever images are grouped by, the groups' bytes add up to what is stored,
// and what they could give back to what the plan sweeps.
func TestUsageAddsUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSample(t, true)
		p := check(t, s.on(), s)
		stored := read(s.store).stored()
		swept, uploads := sweptBytes(p)
		for _, by := range groupings {
			u := usage.Of(p, by, 0)
			total, reclaimable, images := int64(0), int64(0), 0
			for _, g := range u.Groups.Items {
				b := g.Bytes
				if b.Exclusive < 0 || b.Shared < 0 || b.Reclaimable < 0 || b.Reclaimable > b.Total() || b.Total() > b.Size {
					t.Fatalf("by %s: %+v", by, g)
				}
				total, reclaimable, images = total+b.Total(), reclaimable+b.Reclaimable, images+g.Images
			}
			got := u.Totals
			if total != stored || got.Bytes != stored || got.Exclusive+got.Shared+got.Unreferenced != stored {
				t.Fatalf("by %s: %d bytes are stored, the groups have %d of %+v", by, stored, total, got)
			}
			if reclaimable != swept || got.Reclaimable != swept || got.Uploads.Reclaimable != uploads {
				t.Fatalf("by %s: %d bytes of blobs and %d of uploads are swept, the groups have %d of %+v", by, swept, uploads, reclaimable, got)
			}
			if images != len(p.Decisions) {
				t.Fatalf("by %s: %d images of %d", by, images, len(p.Decisions))
			}
		}
	})
}

func sweptBytes(p *plan.Plan) (blobs, uploads int64) {
	for _, item := range slices.Concat(p.Steps(nil)...) {
		if item.Kind == inventory.UploadFolder {
			uploads += item.Size
		} else {
			blobs += item.Size
		}
	}
	return blobs, uploads
}

// A group's exclusive bytes are those that nothing would need without it; what
// it shares, its part; told from the files, group by group, with a set for each.
func TestUsageIsWhatWouldBeFreed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSample(t, true)
		p := check(t, s.on(), s)
		o := read(s.store)
		by := rapid.SampledFrom(groupings).Draw(t, "by")
		needs := o.needsBy(p, by)
		u := usage.Of(p, by, 0)
		got := u.Groups.Items
		if want := o.stored() - o.neededBytes(needs); u.Totals.Unreferenced != want {
			t.Fatalf("by %s: no image needs %d bytes, want %d", by, u.Totals.Unreferenced, want)
		}
		for _, g := range got {
			if g.Class == usage.Unreferenced {
				continue
			}
			want := o.measure(needs, string(g.Class)+" "+g.Name)
			if diff := cmp.Diff(want, [3]int64{g.Bytes.Exclusive, g.Bytes.Shared, g.Bytes.Size}); diff != "" {
				t.Fatalf("by %s: %s %q: exclusive, shared, size (-want +got):\n%s", by, g.Class, g.Name, diff)
			}
		}
		if len(got) < len(needs) {
			t.Fatalf("by %s: %d groups, want %d", by, len(got), len(needs))
		}
	})
}

// needsBy are the blobs that each group needs.
func (o oracle) needsBy(p *plan.Plan, by usage.By) map[string]map[string]bool {
	images := map[pullable]bool{}
	for _, d := range p.Decisions {
		images[pullable{d.Repository, d.Digest.String()}] = true
	}
	groups := map[string]map[string]bool{}
	for _, d := range p.Decisions {
		name := groupName(d, by)
		if groups[name] == nil {
			groups[name] = map[string]bool{}
		}
		o.need(d.Repository, d.Digest.String(), images, groups[name])
	}
	return groups
}

// need adds what an image needs, but for children that are images themselves.
func (o oracle) need(repository, digest string, images map[pullable]bool, to map[string]bool) {
	to[digest] = true
	var m manifest
	if !o.blob(digest) || json.Unmarshal(o.files[blobPath(digest)], &m) != nil {
		return
	}
	if m.Config != nil {
		to[m.Config.Digest] = true
	}
	for _, layer := range m.Layers {
		to[layer.Digest] = true
	}
	for _, child := range m.Manifests {
		if !images[pullable{repository, child.Digest}] {
			o.need(repository, child.Digest, images, to)
		}
	}
}

// groupName is the class and the name of an image's group, in plain words: the
// owner's kind and namespace are read from its sentence.
func groupName(d plan.Decision, by usage.By) string {
	kind, name, _ := strings.Cut(d.Owner, " ")
	namespace, _, namespaced := strings.Cut(name, "/")
	switch {
	case by == usage.Repository:
		return "Named " + d.Repository
	case by == usage.MediaType && d.MediaType == "":
		return "NotUnderstood "
	case by == usage.MediaType:
		return "Named " + d.MediaType
	case d.Owner == "":
		return "NoOwner "
	case by == usage.Owner:
		return "Named " + d.Owner
	case by == usage.Kind:
		return "Named " + kind
	case !namespaced:
		return "NoNamespace "
	}
	return "Named " + namespace
}

// measure is what a group needs alone, its part of the rest, and all of it. What
// a division leaves over goes to the first by name, byte by byte.
func (o oracle) measure(needs map[string]map[string]bool, group string) (got [3]int64) {
	for digest := range needs[group] {
		size := int64(len(o.files[blobPath(digest)]))
		var users []string
		for other, blobs := range needs {
			if blobs[digest] {
				users = append(users, other)
			}
		}
		slices.SortFunc(users, func(a, b string) int {
			classA, nameA, _ := strings.Cut(a, " ")
			classB, nameB, _ := strings.Cut(b, " ")
			return strings.Compare(nameA+"\x00"+classA, nameB+"\x00"+classB)
		})
		got[2] += size
		if len(users) == 1 {
			got[0] += size
			continue
		}
		for n := range size {
			if users[n%int64(len(users))] == group {
				got[1]++
			}
		}
	}
	return got
}

// neededBytes is the size of all blobs that some group needs.
func (o oracle) neededBytes(needs map[string]map[string]bool) (bytes int64) {
	all := map[string]bool{}
	for _, blobs := range needs {
		maps.Copy(all, blobs)
	}
	for digest := range all {
		bytes += int64(len(o.files[blobPath(digest)]))
	}
	return bytes
}

// stored is the size of all blobs.
func (o oracle) stored() (bytes int64) {
	for path, content := range o.files {
		if strings.HasPrefix(path, root+"blobs/sha256/") && strings.HasSuffix(path, "/data") {
			bytes += int64(len(content))
		}
	}
	return bytes
}

// The same storage gives the same usage, whatever the order of listings, and a
// shorter list is the beginning of a longer one.
func TestUsageIsDeterministic(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSample(t, true)
		by := rapid.SampledFrom(groupings).Draw(t, "by")
		first := usage.Of(check(t, s.store, s), by, 0)
		second := check(t, shuffled{s.store, rapid.Uint64().Draw(t, "seed")}, s)
		same := cmp.Comparer(sameDigest)
		if diff := cmp.Diff(first, usage.Of(second, by, 0), same); diff != "" {
			t.Fatalf("differs:\n%s", diff)
		}
		short := usage.Of(second, by, 2)
		if diff := cmp.Diff(first.Totals, short.Totals); diff != "" {
			t.Fatalf("totals differ:\n%s", diff)
		}
		isBeginning(t, "groups", first.Groups, short.Groups)
		isBeginning(t, "images", first.Images, short.Images)
		isBeginning(t, "layers", first.Layers, short.Layers)
	})
}

func isBeginning[T any](t *rapid.T, what string, all, some usage.List[T]) {
	if len(some.Items) > 2 || all.More != 0 || len(some.Items)+some.More != len(all.Items) {
		t.Fatalf("%s: %d and %d more of %d and %d more", what, len(some.Items), some.More, len(all.Items), all.More)
	}
	if diff := cmp.Diff(all.Items[:len(some.Items)], some.Items, cmp.Comparer(sameDigest)); diff != "" {
		t.Fatalf("%s: no beginning:\n%s", what, diff)
	}
}

// A shared layer names every image that needs it, and every repository of them;
// told from the files, with a set for each image.
func TestSharedLayersAreCounted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSample(t, true)
		p := check(t, s.on(), s)
		o := read(s.store)
		got := map[string][3]int{}
		for _, l := range usage.Of(p, usage.Repository, 0).Layers.Items {
			got[l.Digest.String()] = [3]int{l.Images, l.Repositories, int(l.Saved)}
		}
		if diff := cmp.Diff(o.sharedLayers(p), got); diff != "" {
			t.Fatalf("images, repositories and bytes saved (-want +got):\n%s", diff)
		}
	})
}

func (o oracle) sharedLayers(p *plan.Plan) map[string][3]int {
	images := map[pullable]bool{}
	for _, d := range p.Decisions {
		images[pullable{d.Repository, d.Digest.String()}] = true
	}
	users, layers := map[string][]pullable{}, map[string]bool{}
	for i := range images {
		needs := map[string]bool{}
		o.need(i.repository, i.digest, images, needs)
		for digest := range needs {
			users[digest] = append(users[digest], i)
			var m manifest
			if o.blob(digest) && json.Unmarshal(o.files[blobPath(digest)], &m) == nil {
				for _, layer := range m.Layers {
					layers[layer.Digest] = true
				}
			}
		}
	}
	shared := map[string][3]int{}
	for digest := range layers {
		content, there := o.files[blobPath(digest)]
		if n := len(users[digest]); there && n > 1 {
			repositories := map[string]bool{}
			for _, i := range users[digest] {
				repositories[i.repository] = true
			}
			shared[digest] = [3]int{n, len(repositories), len(content) * (n - 1)}
		}
	}
	return shared
}
