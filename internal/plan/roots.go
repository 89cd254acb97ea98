package plan

import (
	"fmt"
	"slices"
	"time"

	"github.com/ebb-io/ebb/internal/image"
	"github.com/ebb-io/ebb/internal/inventory"
	"github.com/ebb-io/ebb/internal/reason"
	"github.com/ebb-io/ebb/internal/refs"
)

// findRoots gives every image the reasons it has on its own account, for and
// against.
func (b *builder) findRoots() {
	for i := range b.repos {
		r := &b.repos[i]
		first, end := nodesOf(r)
		for n := first; n < end; n++ {
			b.judge(r, n)
		}
		b.doubt(r)
	}
}

func (b *builder) judge(r *repo, n int) {
	node := &b.nodes[n]
	b.refer(r, node)
	b.holdClaims(r, node)
	node.candidate = b.isCandidate(r, node)
	if node.describes && !r.gone && b.Inventory.Unlisted {
		node.keep = append(node.keep, reason.Reason{Code: reason.Unreadable, Detail: "the image that it describes may be where nothing could be listed"})
	}
	for _, t := range node.tags {
		b.judgeTag(r, node, r.Tags[t].Name)
	}
	if len(node.tags) == 0 {
		b.judgeUntagged(r, node)
	}
	if code := b.young(b.touched(r, node)); code != "" {
		node.keep = append(node.keep, b.ageReason(code, b.touched(r, node), b.Policy.MinAge))
	}
	if !r.inside {
		node.keep = append(node.keep, reason.Reason{Code: reason.KeptByPolicy, Detail: "its repository is not to be cleaned"})
	}
}

// isCandidate tells whether the image stands and falls with its subject. It is
// not so in a repository that only collects what describes images elsewhere.
func (b *builder) isCandidate(r *repo, node *node) bool {
	return node.attached && !node.ordinarilyTagged && r.ordinary && !r.gone
}

// judgeTag asks the rules of every name. Under a name that no rule claims a tag
// keeps; under a claimed one any rule's word keeps.
func (b *builder) judgeTag(r *repo, node *node, tag string) {
	if node.candidate {
		return
	}
	for i, name := range r.names {
		if len(r.claims[i]) == 0 {
			node.keep = append(node.keep, reason.Reason{Code: reason.Tagged, Detail: tagDetail(r, name, tag)})
			continue
		}
		for _, claim := range r.claims[i] {
			b.judgeClaim(node, claim, tag)
		}
	}
}

func tagDetail(r *repo, name, tag string) string {
	if name == r.Name {
		return "tag " + tag
	}
	return fmt.Sprintf("tag %s as %s", tag, name)
}

func (b *builder) judgeClaim(node *node, claim refs.Claim, tag string) {
	v := claim.Judge(tag)
	if v.Keep {
		node.keep = append(node.keep, v.Reason)
		return
	}
	node.drop = append(node.drop, v.Reason)
}

// holdClaims keeps the image where a claim must not delete.
func (b *builder) holdClaims(r *repo, node *node) {
	for _, claims := range r.claims {
		for _, claim := range claims {
			if b.holds(claim) {
				node.keep = append(node.keep, b.hold(r, claim))
			}
		}
	}
}

// holds tells whether a claim must not delete although no owner lives.
func (b *builder) holds(c refs.Claim) bool { return c.Held() && !b.Policy.Confirmed }

func (b *builder) judgeUntagged(r *repo, node *node) {
	if node.candidate {
		return
	}
	for i := range r.names {
		if len(r.claims[i]) == 0 {
			b.judgeUnclaimed(node)
			continue
		}
		for _, claim := range r.claims[i] {
			judgeUntaggedClaim(r, node, claim)
		}
	}
}

// judgeUntaggedClaim says of an owner that is done with all its images that it
// is done with this one: a run that was cut short has taken the tag already,
// and the next one must not meet the limit that this one did not.
func judgeUntaggedClaim(r *repo, node *node, claim refs.Claim) {
	if owner, lacks := claim.Lacks(r.tagNames); lacks {
		node.keep = append(node.keep, reason.Reason{Code: reason.Owned, Detail: owner + " lives and no tag is its own: this may be its image"})
		return
	}
	v := claim.Judge("")
	if v.Keep {
		v.Reason = reason.Reason{Code: reason.Untagged, Detail: "no tag leads to it"}
	}
	node.drop = append(node.drop, v.Reason)
}

// judgeUnclaimed keeps an untagged image that no rule claims: people pull by
// digest without telling anyone. It goes only when asked, and when it is old.
func (b *builder) judgeUnclaimed(node *node) {
	switch {
	case !b.Policy.DeleteUntagged:
		node.keep = append(node.keep, reason.Reason{Code: reason.Unclaimed, Detail: "no rule claims its repository, and it may be pulled by digest"})
	case node.attached:
		node.keep = append(node.keep, reason.Reason{Code: reason.Unclaimed, Detail: "it describes an image, and nothing proves that image lost"})
	case node.ModTime == 0 && b.Policy.UntaggedAge > 0:
		node.keep = append(node.keep, b.ageReason(reason.AgeUnknown, node.ModTime, b.Policy.UntaggedAge))
	case b.Policy.UntaggedAge > 0 && b.age(node.ModTime) < b.Policy.UntaggedAge:
		node.keep = append(node.keep, b.ageReason(reason.TooYoung, node.ModTime, b.Policy.UntaggedAge))
	default:
		node.drop = append(node.drop, reason.Reason{Code: reason.Untagged, Detail: "no tag leads to it"})
	}
}

// refer keeps what somebody names: by repository and tag, as a whole
// repository, or by a digest, which protects the manifest wherever it lies and
// every image whose config it is (the image ID of older runtimes).
func (b *builder) refer(r *repo, node *node) {
	var found []*refs.Reference
	for _, name := range r.names {
		for _, ref := range b.Refs.ByRepository(name) {
			if ref.Whole || (ref.Tag != "" && b.hasTag(r, node, ref.Tag)) {
				found = append(found, ref)
			}
		}
	}
	if b.Refs.HasDigests() {
		found = append(found, b.Refs.ByDigest(b.Inventory.Contents.Digest(node.ID))...)
		for _, config := range b.configs(node) {
			found = append(found, b.Refs.ByDigest(b.Inventory.Contents.Digest(config))...)
		}
	}
	for _, ref := range found {
		b.matched[ref.By] = true
	}
	node.keep = append(node.keep, referenceReasons(found)...)
}

func (b *builder) hasTag(r *repo, node *node, name string) bool {
	return slices.ContainsFunc(node.tags, func(t int) bool { return r.Tags[t].Name == name })
}

func (b *builder) configs(node *node) []inventory.ID {
	m := b.Inventory.Manifests[node.ID]
	if m == nil {
		return nil
	}
	var configs []inventory.ID
	for _, need := range m.Needs {
		if need.Role == image.Config {
			configs = append(configs, need.ID)
		}
	}
	return configs
}

// referenceReasons says it once for each code, however many refer.
func referenceReasons(found []*refs.Reference) []reason.Reason {
	var reasons []reason.Reason
	for _, code := range []reason.Code{reason.Pinned, reason.Referenced} {
		var by []string
		for _, ref := range found {
			if ref.Code == code {
				by = append(by, ref.By)
			}
		}
		slices.Sort(by)
		switch by = slices.Compact(by); len(by) {
		case 0:
		case 1:
			reasons = append(reasons, reason.Reason{Code: code, Detail: by[0]})
		default:
			reasons = append(reasons, reason.Reason{Code: code, Detail: fmt.Sprintf("%s and %d more", by[0], len(by)-1)})
		}
	}
	return reasons
}

// doubt keeps a whole repository of which something could not be read. A
// damaged one whose owner is gone goes all the same, when nothing in it has a
// reason to stay.
func (b *builder) doubt(r *repo) {
	detail := "something in its repository could not be read"
	switch {
	case r.Unlisted:
	case r.Doubtful && !b.goesWhole(r):
		detail = "a manifest or tag of its repository is damaged or not understood"
	default:
		r.hold = !r.inside
		return
	}
	r.hold = true
	first, end := nodesOf(r)
	for n := first; n < end; n++ {
		b.nodes[n].keep = append(b.nodes[n].keep, reason.Reason{Code: reason.Unreadable, Detail: detail})
	}
}

// goesWhole tells whether nothing at all speaks for a repository: its owner is
// gone, nobody names it, no image has a reason to stay, and no broken tag is
// young.
func (b *builder) goesWhole(r *repo) bool {
	named := slices.ContainsFunc(r.names, func(name string) bool { return len(b.Refs.ByRepository(name)) > 0 })
	broken := slices.ContainsFunc(r.Tags, func(t inventory.Tag) bool { return !t.Read && b.young(t.ModTime) == reason.TooYoung })
	return r.gone && r.inside && !named && !broken && !b.rooted(r)
}

func (b *builder) rooted(r *repo) bool {
	first, end := nodesOf(r)
	return slices.ContainsFunc(b.nodes[first:end], func(n node) bool { return len(n.keep) > 0 })
}

// touched is the newest trace that a push left on an image: distribution
// refreshes links, and not blobs, when content is pushed again.
func (b *builder) touched(r *repo, node *node) inventory.Time {
	newest := max(node.ModTime, b.Inventory.Contents.At(node.ID).ModTime)
	for _, t := range node.tags {
		newest = max(newest, r.Tags[t].ModTime)
	}
	return newest
}

// young is why a time stamp keeps, or empty.
func (b *builder) young(t inventory.Time) reason.Code {
	return young(b.Now, b.Policy.MinAge, t)
}

func young(now time.Time, minAge time.Duration, t inventory.Time) reason.Code {
	switch {
	case minAge == 0:
		return ""
	case t == 0:
		return reason.AgeUnknown
	case now.Sub(t.Time()) < minAge:
		return reason.TooYoung
	}
	return ""
}

func (b *builder) age(t inventory.Time) time.Duration { return b.Now.Sub(t.Time()) }

func (b *builder) ageReason(code reason.Code, t inventory.Time, want time.Duration) reason.Reason {
	if code == reason.AgeUnknown {
		return reason.Reason{Code: code, Detail: "it has no time stamp"}
	}
	return reason.Reason{Code: code, Detail: "old enough at " + t.Time().Add(want).Format(time.RFC3339)}
}
