package report

import (
	"cmp"
	"slices"
	"strings"

	"github.com/ebb-io/ebb/internal/inventory"
	"github.com/ebb-io/ebb/internal/plan"
	"github.com/ebb-io/ebb/internal/reason"
)

// images lists every image that goes, the largest first, and what else goes;
// or every image that stays, by name.
func (p *page) images(plan *plan.Plan, going bool) {
	t := &table{columns: []column{
		{"DECISION", false},
		{"REPOSITORY", false},
		{"DIGEST", false},
		{"TAGS", false},
		{"EXCLUSIVE", true},
		{"SHARED", true},
		{"OWNER", false},
		{"REASONS", false},
	}}
	for _, d := range chosen(plan, going) {
		t.add(verdict(d.Delete), d.Repository, p.digests(d.Digest.String()), orDash(strings.Join(d.Tags, ",")),
			Size(d.Bytes.Exclusive), Size(d.Bytes.Shared), orDash(d.Owner), p.digests(reasonText(d.Reasons)))
	}
	if going {
		p.addSwept(t, plan, plan.Deletions(nil))
	}
	if len(t.rows) > 0 {
		p.gap()
		p.wideTable(t)
	}
}

// wideTable shortens nothing but digests: whoever asks for wide has the room,
// or a pipe.
func (p *page) wideTable(t *table) {
	limit := p.Width
	p.Width = 0
	p.table(t)
	p.Width = limit
}

func chosen(p *plan.Plan, goes bool) []*plan.Decision {
	var found []*plan.Decision
	for i := range p.Decisions {
		if p.Decisions[i].Delete == goes {
			found = append(found, &p.Decisions[i])
		}
	}
	if goes {
		slices.SortStableFunc(found, func(a, b *plan.Decision) int { return cmp.Compare(b.Bytes.Exclusive, a.Bytes.Exclusive) })
	}
	return found
}

// addSwept adds the uploads, the contents of no image and the empty
// repositories.
func (p *page) addSwept(t *table, made *plan.Plan, phases [][]inventory.Item) {
	parts := partsOfImages(made)
	since := lastTouched(made.Inventory())
	for _, phase := range phases {
		for _, item := range phase {
			switch item.Kind {
			case inventory.Blob, inventory.ManifestBlob:
				if id, ok := made.Inventory().Contents.Find(item.Digest); !ok || !parts[id] {
					t.add(Delete, "-", p.digests(item.Digest.String()), "-", Size(item.Size), Size(0), "-", reasonText([]reason.Reason{plan.Unreferenced()}))
				}
			case inventory.UploadFolder:
				at := since[keyOf(item)]
				t.add(Delete, item.Repository, "upload "+item.Upload, "-", Size(item.Size), Size(0), "-",
					string(reason.AbandonedUpload)+" ("+untouched(at)+")")
			case inventory.UnfinishedUpload:
				t.add(Delete, orDash(item.Repository), "parts of "+item.Path, "-", Size(item.Size), Size(0), "-",
					string(reason.AbandonedUpload)+" ("+untouched(since[keyOf(item)])+")")
			case inventory.RepositoryFolder:
				t.add(Delete, item.Repository, "-", "-", Size(0), Size(0), "-", string(reason.EmptyRepository))
			}
		}
	}
}

// partsOfImages marks every content that some image consists of.
func partsOfImages(p *plan.Plan) []bool {
	inv := p.Inventory()
	parts := make([]bool, inv.Contents.Len())
	for i := range inv.Repositories {
		for _, img := range inv.Repositories[i].Images {
			parts[img.ID] = true
			if m := inv.Manifests[img.ID]; m != nil {
				for _, need := range m.Needs {
					parts[need.ID] = true
				}
			}
		}
	}
	return parts
}

func reasonText(reasons []reason.Reason) string {
	parts := make([]string, len(reasons))
	for i, r := range reasons {
		parts[i] = string(r.Code)
		if r.Detail != "" {
			parts[i] += " (" + r.Detail + ")"
		}
	}
	return strings.Join(parts, "; ")
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// Names are the images that the plan deletes and stays does not hold back, as
// repository@digest, one a line.
func Names(p *plan.Plan, stays plan.Stays) []byte {
	page := &page{}
	for i := range p.Decisions {
		d := &p.Decisions[i]
		item := inventory.Item{Kind: inventory.Revision, Repository: d.Repository, Digest: d.Digest}
		if d.Delete && (stays == nil || !stays(item)) {
			page.line("%s@%s", Escape(d.Repository), d.Digest)
		}
	}
	return page.Bytes()
}
