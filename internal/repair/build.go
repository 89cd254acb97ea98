package repair

import (
	"cmp"
	"slices"

	"github.com/ebb-io/ebb/internal/image"
	"github.com/ebb-io/ebb/internal/inventory"
)

// Build makes the plan. The same input gives the same plan.
func Build(in Input) *Plan {
	b := &builder{
		Input: in, plan: &Plan{input: in}, faults: map[string]*inventory.LinkFault{},
		histories: map[string][]*inventory.LinkFault{}, gone: map[string]bool{}, remedies: map[problemKey]string{},
	}
	for i := range in.Survey.Faults {
		f := &in.Survey.Faults[i]
		b.faults[f.Path] = f
		if f.Kind == inventory.TagHistory {
			b.histories[f.Repository] = append(b.histories[f.Repository], f)
		}
	}
	for i := range in.Inventory.Repositories {
		b.repository(&in.Inventory.Repositories[i])
	}
	b.leftovers()
	b.emptied()
	slices.SortStableFunc(b.plan.Actions, func(x, y Action) int {
		return cmp.Or(cmp.Compare(x.Kind.order(), y.Kind.order()), cmp.Compare(x.Path, y.Path))
	})
	b.remain()
	b.plan.limit(in.MaxDeleteShare)
	return b.plan
}

func (k Kind) order() int {
	return slices.Index([]Kind{RemoveTag, RemoveRevision, RemoveLayerLink, WriteLink, RemoveTemporary, RemoveFolder}, k)
}

type builder struct {
	Input
	plan   *Plan
	faults map[string]*inventory.LinkFault // by path
	// histories are those of tags' index links, by repository.
	histories map[string][]*inventory.LinkFault
	states    []state
	// gone are the paths that are removed.
	gone     map[string]bool
	remedies map[problemKey]string
}

// state is what a repository keeps.
type state struct {
	repository *inventory.Repository
	links      int // images, and layer links
}

type problemKey struct {
	path string
	code inventory.ProblemCode
}

func (b *builder) act(a Action) {
	b.plan.Actions = append(b.plan.Actions, a)
	if a.Kind != WriteLink {
		b.gone[a.Path] = true
	}
}

// touchable tells whether a repository was seen in full and is in scope.
func (b *builder) touchable(r *inventory.Repository) bool {
	return !r.Unlisted && !b.Survey.Unseen[r.Name] && b.Scope.Contains(r.Name, r.Aliases...)
}

func (b *builder) absent(id inventory.ID) bool {
	return b.Inventory.Contents.At(id).Size == inventory.Absent
}

func (b *builder) digest(id inventory.ID) image.Digest { return b.Inventory.Contents.Digest(id) }

// fault is what is wrong with a link, nil where nothing is.
func (b *builder) fault(item inventory.Item) *inventory.LinkFault {
	return b.faults[b.Path(item)+"/link"]
}

func (b *builder) repository(r *inventory.Repository) {
	b.plan.Counts.Images += len(r.Images)
	b.plan.Counts.Tags += len(r.Tags)
	b.plan.Counts.LayerLinks += len(r.Layers)
	if !b.touchable(r) {
		return
	}
	lost, left := b.lostImages(r), state{repository: r}
	for _, img := range r.Images {
		if !b.revision(r, img, lost[img.ID]) {
			left.links++
		}
	}
	b.tags(r, lost)
	left.links += len(r.Layers) - b.layers(r, lost)
	b.states = append(b.states, left)
}

// lostImages are those whose manifest is gone. A link that names something else
// than its path is no proof of it: what it names may be what was meant.
func (b *builder) lostImages(r *inventory.Repository) map[inventory.ID]bool {
	lost := map[inventory.ID]bool{}
	for _, img := range r.Images {
		f := b.fault(inventory.Item{Kind: inventory.Revision, Repository: r.Name, Digest: b.digest(img.ID)})
		if b.absent(img.ID) && !(img.Linked && f != nil && f.State != inventory.LinkTorn) && !b.elsewhere(r, img.ID) {
			lost[img.ID] = true
		}
	}
	return lost
}

// elsewhere tells whether a layer link may lead from an image's digest to
// another one: registries of version 2 serve a manifest by either link.
func (b *builder) elsewhere(r *inventory.Repository, id inventory.ID) bool {
	f := b.fault(inventory.Item{Kind: inventory.LayerLink, Repository: r.Name, Digest: b.digest(id)})
	return len(b.Inventory.Stored[id]) > 0 || f != nil && f.State != inventory.LinkTorn
}

// revision mends an image's link, or lets it go. It tells whether the image is
// gone then.
func (b *builder) revision(r *inventory.Repository, img inventory.Image, lost bool) bool {
	d := b.digest(img.ID)
	item := inventory.Item{Kind: inventory.Revision, Repository: r.Name, Digest: d}
	path := b.Path(item)
	f := b.fault(item)
	switch {
	case !img.Linked: // only a tag names it
		return lost
	case lost:
		b.act(Action{
			Kind: RemoveRevision, Path: path, Repository: r.Name, Digest: d, HasDigest: true,
			Reason: "its manifest is gone from the storage",
			Loses:  "that the repository had this image, which nobody can pull, and what kept its layers from the next run",
			steps:  []inventory.Mend{{Kind: inventory.DropRevision, Repository: r.Name, Digest: d}},
			mends:  []problemKey{{path + "/link", inventory.ManifestMissing}, {path + "/link", inventory.LinkDamaged}},
		})
	case f != nil && f.State == inventory.LinkTorn && b.Inventory.Contents.At(img.ID).Present():
		b.write(f, inventory.PutRevision)
	}
	return lost
}

// write has a link hold the digest that its path names: for a sha256 digest and
// for a revision no other content is right, and what is there is what a crash
// left of it.
func (b *builder) write(f *inventory.LinkFault, kind inventory.MendKind) {
	b.act(Action{
		Kind: WriteLink, Path: f.Path, Repository: f.Repository, Tag: f.Tag, Digest: f.Digest, HasDigest: true,
		Reason: f.Detail + "; its path says what it held",
		steps:  []inventory.Mend{{Kind: kind, Repository: f.Repository, Tag: f.Tag, Digest: f.Digest, Path: f.Path}},
		mends:  []problemKey{{f.Path, inventory.LinkDamaged}},
	})
}

// tags lets go those that name a lost image, and mends the history of the
// others. A tag whose manifest is there and whose revision link is not stays:
// it protects what it names until somebody pushes it again.
func (b *builder) tags(r *inventory.Repository, lost map[inventory.ID]bool) {
	for _, t := range r.Tags {
		if t.Read && lost[t.Target] {
			b.removeTag(r, t)
		} else if t.Read && b.Inventory.Contents.At(t.Target).Present() {
			b.remedies[problemKey{b.tagLink(r, t.Name), inventory.TagDangling}] = remedyUnlinked
		}
	}
	for _, f := range b.histories[r.Name] {
		if f.State == inventory.LinkTorn && !b.gone[b.tagFolder(r, f.Tag)] {
			b.write(f, inventory.PutTagHistory)
		}
	}
}

func (b *builder) tagLink(r *inventory.Repository, tag string) string {
	return b.Path(inventory.Item{Kind: inventory.TagLink, Repository: r.Name, Tag: tag})
}

func (b *builder) tagFolder(r *inventory.Repository, tag string) string {
	return b.Path(inventory.Item{Kind: inventory.TagFolder, Repository: r.Name, Tag: tag})
}

func (b *builder) removeTag(r *inventory.Repository, t inventory.Tag) {
	d := b.digest(t.Target)
	a := Action{
		Kind: RemoveTag, Path: b.tagFolder(r, t.Name),
		Repository: r.Name, Tag: t.Name, Digest: d, HasDigest: true,
		Reason: "it names " + d.String() + ", whose manifest is gone from the storage",
		Loses:  "the name; nothing can be pulled by it",
		mends:  []problemKey{{b.tagLink(r, t.Name), inventory.TagDangling}},
	}
	for _, kind := range []inventory.MendKind{inventory.DropTagHistory, inventory.DropTagLink, inventory.DropTagFolder} {
		a.steps = append(a.steps, inventory.Mend{Kind: kind, Repository: r.Name, Tag: t.Name, Digest: d})
	}
	b.act(a)
}

// layers mends layer links, lets go those that lead nowhere and that no image
// needs, and counts those that go. One that an image needs stays: with it, the
// blob need only be restored.
func (b *builder) layers(r *inventory.Repository, lost map[inventory.ID]bool) int {
	needed, known := b.needs(r, lost)
	gone := 0
	for _, link := range r.Layers {
		d := b.digest(link.ID)
		item := inventory.Item{Kind: inventory.LayerLink, Repository: r.Name, Digest: d}
		f := b.fault(item)
		switch {
		case f != nil && f.State != inventory.LinkTorn:
		case b.nowhere(link.ID):
			if known && !needed[link.ID] {
				gone++
				b.removeLayer(r, d, b.Path(item))
			}
		case f != nil && b.Inventory.Contents.At(link.ID).Present():
			b.write(f, inventory.PutLayerLink)
		}
	}
	return gone
}

func (b *builder) removeLayer(r *inventory.Repository, d image.Digest, path string) {
	b.act(Action{
		Kind: RemoveLayerLink, Path: path, Repository: r.Name, Digest: d, HasDigest: true,
		Reason: "its blob is gone from the storage, and no image of the repository needs it",
		Loses:  "the right to a blob that is not there",
		steps:  []inventory.Mend{{Kind: inventory.DropLayerLink, Repository: r.Name, Digest: d}},
		mends:  []problemKey{{path + "/link", inventory.LinkDamaged}},
	})
}

// nowhere tells whether a layer link is proven to lead to no blob. One whose
// content alone tells where it leads, and was not understood, is not.
func (b *builder) nowhere(id inventory.ID) bool {
	stored := b.Inventory.Stored[id]
	if b.digest(id).Algorithm() != "sha256" && len(stored) == 0 {
		return false
	}
	return b.absent(id) && !slices.ContainsFunc(stored, func(other inventory.ID) bool { return !b.absent(other) })
}

// needs are what the images that a repository keeps need; not known where one
// of them could not be understood.
func (b *builder) needs(r *inventory.Repository, lost map[inventory.ID]bool) (needed map[inventory.ID]bool, known bool) {
	needed = map[inventory.ID]bool{}
	for _, img := range r.Images {
		if lost[img.ID] {
			continue
		}
		m := b.Inventory.Manifests[img.ID]
		if m == nil {
			return nil, false
		}
		for _, need := range m.Needs {
			needed[need.ID] = true
			for _, stored := range b.Inventory.Stored[need.ID] {
				needed[stored] = true
			}
		}
	}
	return needed, true
}
