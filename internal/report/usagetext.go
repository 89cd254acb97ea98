package report

import (
	"strconv"
	"strings"

	"github.com/ebb-io/ebb/internal/usage"
)

// The groups without a name. Where a repository is called like one of them, it
// is quoted.
const (
	noOwnerTitle       = "(no owner)"
	noNamespaceTitle   = "(no namespace)"
	notUnderstoodTitle = "(not understood)"
)

// Text shows a person who takes the space. Quiet it is the groups alone: rows
// of three kinds are no data that a script can read.
func (u Usage) Text(view View) []byte {
	page := &page{View: view}
	page.usageTotals(&u)
	page.usageGroups(&u)
	if !view.Quiet {
		page.biggestImages(&u)
		page.sharedLayers(&u)
	}
	page.damage(u.Problems, mostRows)
	return page.Bytes()
}

func (p *page) usageTotals(u *Usage) {
	t, one := u.Totals, groupNoun(u.By)
	if t.Blobs+t.Uploads.Count == 0 {
		p.prose("Nothing takes space: there are no blobs and no uploads.")
		return
	}
	p.prose("%s in %s: %s needed by one %s alone, %s by several, %s by no image. %s (%s) can be reclaimed.",
		p.paint(bold, Size(t.Bytes)), Count(t.Blobs, "blob"), Size(t.Exclusive), one, Size(t.Shared), Size(t.Unreferenced),
		Size(t.Reclaimable), percent(t.Reclaimable, t.Bytes))
	if t.Uploads.Count > 0 {
		p.prose("%s more in %s, of which %s can be reclaimed.",
			Size(t.Uploads.Bytes), Count(t.Uploads.Count, "unfinished upload"), Size(t.Uploads.Reclaimable))
	}
}

// groupNoun is what a group is called in a sentence.
func groupNoun(by usage.By) string { return strings.ReplaceAll(string(by), "-", " ") }

// usageGroups has one line for each group. What a group would need if it were
// alone is for those who have the room.
func (p *page) usageGroups(u *Usage) {
	t := &table{columns: []column{{"EXCLUSIVE", true}, {"SHARED", true}, {"RECLAIMABLE", true}, {"IMAGES", true}}}
	if p.Wide {
		t.columns = append(t.columns, column{"SIZE", true})
	}
	t.columns = append(t.columns, column{strings.ToUpper(groupNoun(u.By)), false})
	for i := range u.Groups {
		g := &u.Groups[i]
		cells := []string{Size(g.Bytes.Exclusive), Size(g.Bytes.Shared), Size(g.Bytes.Reclaimable), imagesOf(g)}
		if p.Wide {
			cells = append(cells, Size(g.Bytes.Size))
		}
		t.add(append(cells, groupTitle(g))...)
	}
	p.usageList("", t, u.LeftOut.Groups)
}

func imagesOf(g *usage.Group) string {
	if g.Class == usage.Unreferenced {
		return "-"
	}
	return Number(int64(g.Images))
}

// groupTitle names a group such that no name passes for a group without one.
func groupTitle(g *usage.Group) string {
	switch g.Class {
	case usage.NoOwner:
		return noOwnerTitle
	case usage.NoNamespace:
		return noNamespaceTitle
	case usage.NotUnderstood:
		return notUnderstoodTitle
	case usage.Unreferenced:
		return orphanTitle
	}
	if strings.HasPrefix(g.Name, "(") {
		return strconv.Quote(g.Name)
	}
	return g.Name
}

func (p *page) biggestImages(u *Usage) {
	t := &table{columns: []column{{"SIZE", true}, {"DECISION", false}, {"DIGEST", false}, {"IMAGE", false}}}
	if p.Wide {
		t.columns = []column{
			{"SIZE", true},
			{"EXCLUSIVE", true},
			{"SHARED", true},
			{"DECISION", false},
			{"DIGEST", false},
			{"REPOSITORY", false},
			{"TAGS", false},
			{"OWNER", false},
		}
	}
	for i := range u.BiggestImages {
		t.add(p.imageCells(&u.BiggestImages[i])...)
	}
	p.usageList("The biggest images:", t, u.LeftOut.BiggestImages)
}

func (p *page) imageCells(i *UsedImage) []string {
	digest := p.digests(i.Digest)
	if p.Wide {
		return []string{
			Size(i.Size), Size(i.Bytes.Exclusive), Size(i.Bytes.Shared), i.Decision,
			digest, i.Repository, orDash(strings.Join(i.Tags, ",")), orDash(i.Owner),
		}
	}
	name := i.Repository
	if len(i.Tags) > 0 {
		name += ":" + strings.Join(i.Tags, ",")
	}
	return []string{Size(i.Size), i.Decision, digest, name}
}

func (p *page) sharedLayers(u *Usage) {
	t := &table{columns: []column{{"SAVES", true}, {"SIZE", true}, {"IMAGES", true}, {"REPOSITORIES", true}, {"LAYER", false}}}
	for _, l := range u.SharedLayers {
		t.add(Size(l.SavedBytes), Size(l.Size), Number(int64(l.Images)), Number(int64(l.Repositories)), p.digests(l.Digest))
	}
	p.usageList("The layers that save the most by being shared:", t, u.LeftOut.SharedLayers)
}

// usageList is a table below its title, and what it leaves out.
func (p *page) usageList(title string, t *table, left int) {
	if len(t.rows) == 0 {
		return
	}
	p.gap()
	if title != "" {
		p.prose("%s", title)
	}
	if p.Wide {
		p.wideTable(t)
	} else {
		p.table(t)
	}
	if !p.Quiet {
		p.more(left, "--top all shows them")
	}
}
