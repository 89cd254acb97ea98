package repair

import (
	"github.com/ebb-io/ebb/internal/inventory"
)

// problems are all that were found, each once: what reading a link tells of it
// says more than its length.
func problems(in Input) []inventory.Problem {
	var all []inventory.Problem
	said := map[problemKey]bool{}
	for _, f := range in.Survey.Faults {
		all = append(all, inventory.Problem{Path: f.Path, Code: inventory.LinkDamaged, Detail: f.Detail})
		said[problemKey{f.Path, inventory.LinkDamaged}] = true
	}
	for _, p := range in.Inventory.Problems {
		if !said[problemKey{p.Path, p.Code}] {
			all = append(all, p)
		}
	}
	return inventory.SortProblems(append(all, in.Survey.Problems...))
}

// remain lists the damage that no action mends.
func (b *builder) remain() {
	mended := map[problemKey]bool{}
	for i := range b.plan.Actions {
		for _, key := range b.plan.Actions[i].mends {
			mended[key] = true
		}
	}
	for _, p := range problems(b.Input) {
		if p.Damage() && !mended[problemKey{p.Path, p.Code}] {
			b.plan.Remaining = append(b.plan.Remaining, Remaining{Problem: p, Remedy: b.remedy(p)})
		}
	}
}

const remedyUnlinked = "the manifest is in the storage, the repository's right to it is not: push the tag again, or remove the tag's folder"

// remedy is what a person can do about a problem.
func (b *builder) remedy(p inventory.Problem) string {
	if text, ok := b.remedies[problemKey{p.Path, p.Code}]; ok {
		return text
	}
	if f := b.faults[p.Path]; f != nil && p.Code == inventory.LinkDamaged {
		return linkRemedy(f)
	}
	switch p.Code {
	case inventory.BlobMissing, inventory.ManifestMissing:
		return "restore the blob from a backup, or push the image again"
	case inventory.LayerLinkMissing:
		return "push the image again"
	case inventory.SizeMismatch, inventory.DigestMismatch, inventory.ManifestUnread:
		return "restore the blob from a backup, or remove its folder and push the image again"
	case inventory.TagUnread, inventory.TagDangling:
		return "push the tag again, or remove its folder"
	case inventory.LinkDamaged:
		return "push the image again: its path does not say what it held"
	case inventory.NotListed:
		return "see to permissions, mounts and the disk; nothing there is touched"
	case inventory.UnexpectedContent:
		return "look at it and move it away"
	}
	return "look at it"
}

// linkRemedy is for a link that is not written anew: nothing but its digest may
// stand in it, but whoever wrote something else may have had a reason, and the
// right to a content that is gone is of no use.
func linkRemedy(f *inventory.LinkFault) string {
	switch f.State {
	case inventory.LinkForeign:
		return "it holds something else than its path says: find out who wrote it, then push the image again"
	case inventory.LinkUnread:
		return "see to permissions, mounts and the disk; it is not touched"
	}
	return "restore the blob that its path names and repair again, or push the image again"
}
