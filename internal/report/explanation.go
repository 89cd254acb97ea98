package report

import (
	"time"

	"github.com/ebb-io/ebb/internal/inventory"
	"github.com/ebb-io/ebb/internal/plan"
	"github.com/ebb-io/ebb/internal/reason"
)

// Explanation is the document of why images and blobs stay or go.
type Explanation struct {
	Kind
	PlannedAt Time             `json:"plannedAt"`
	Options   Options          `json:"options"`
	Store     Store            `json:"store"`
	Image     string           `json:"image"` // as it was asked for
	Images    []ExplainedImage `json:"images"`
	Blobs     []ExplainedBlob  `json:"blobs"`
	Uploads   []KeptUpload     `json:"uploads"` // unfinished, of the repository that was asked for
}

// ExplainedImage is an image with the images that it is kept for: the index
// that lists it, what that describes, and so on to one that is kept by itself.
type ExplainedImage struct {
	Decision
	Chain []Decision `json:"chain"`
}

// ExplainedBlob is a blob with the images that need it.
type ExplainedBlob struct {
	Digest   string          `json:"digest"`
	Bytes    int64           `json:"bytes"`
	Decision string          `json:"decision"`
	Reasons  []reason.Reason `json:"reasons"`
	NeededBy []Decision      `json:"neededBy"`
}

// KeptUpload is an upload, whether it stays or goes.
type KeptUpload struct {
	Upload
	Decision string `json:"decision"`
}

// Found is what a person asked about.
type Found struct {
	Images     []int          // indices of decisions
	Blobs      []inventory.ID // contents
	Repository string         // when a whole one was asked for
}

// NewExplanation writes an explanation down.
func NewExplanation(p *plan.Plan, query string, found Found, options Options, store Store) Explanation {
	e := Explanation{
		Kind: kindOf(KindExplanation), PlannedAt: Time{p.Now}, Options: options, Store: store, Image: query,
		Images: []ExplainedImage{}, Blobs: []ExplainedBlob{}, Uploads: []KeptUpload{},
	}
	for _, i := range found.Images {
		e.Images = append(e.Images, ExplainedImage{newDecision(&p.Decisions[i]), chain(p, i)})
	}
	if len(found.Blobs) == 0 && found.Repository == "" {
		return e
	}
	x := explainer{p, goingItems(p)}
	for _, id := range found.Blobs {
		e.Blobs = append(e.Blobs, x.blob(id))
	}
	e.Uploads = x.uploads(found.Repository)
	return e
}

// chain follows what keeps an image to its root. Images that keep each other
// end it.
func chain(p *plan.Plan, i int) []Decision {
	links := []Decision{}
	seen := map[int]bool{i: true}
	for {
		next, ok := p.Via(i)
		if !ok || seen[next] {
			return links
		}
		seen[next] = true
		links = append(links, newDecision(&p.Decisions[next]))
		i = next
	}
}

type explainer struct {
	*plan.Plan
	going plan.Named
}

func goingItems(p *plan.Plan) plan.Named {
	going := plan.Named{}
	for _, phase := range p.Deletions(nil) {
		for _, item := range phase {
			going.Add(item)
		}
	}
	return going
}

func (x explainer) blob(id inventory.ID) ExplainedBlob {
	content := x.Inventory().Contents.At(id)
	goes := x.going[inventory.Item{Kind: inventory.Blob, Digest: content.Digest}]
	b := ExplainedBlob{Digest: content.Digest.String(), Bytes: max(content.Size, 0), Decision: verdict(goes), NeededBy: x.neededBy(id)}
	switch {
	case goes:
		b.Reasons = []reason.Reason{plan.Unreferenced()}
	default:
		b.Reasons = list(x.whyBlobStays(id, content, b.NeededBy))
	}
	return b
}

func (x explainer) neededBy(id inventory.ID) []Decision {
	needers := []Decision{}
	for i := range x.Decisions {
		d := &x.Decisions[i]
		own, _ := x.Inventory().Contents.Find(d.Digest)
		m := x.Inventory().Manifests[own]
		needs := own == id
		if m != nil {
			for _, need := range m.Needs {
				needs = needs || need.ID == id
			}
		}
		if needs {
			needers = append(needers, newDecision(d))
		}
	}
	return needers
}

// whyBlobStays says it in the words of images: kept ones need it, or something
// speaks against its deletion.
func (x explainer) whyBlobStays(id inventory.ID, content inventory.Content, needers []Decision) []reason.Reason {
	var reasons []reason.Reason
	say := func(code reason.Code, detail string) {
		reasons = append(reasons, reason.Reason{Code: code, Detail: detail})
	}
	if content.Size == inventory.Absent {
		say(reason.Unreadable, "it is named and not there")
		return reasons
	}
	for _, needer := range needers {
		if needer.Decision == Keep {
			say(reason.NeededByKept, "a part of "+needer.Repository+"@"+needer.Digest)
			return reasons
		}
	}
	if x.Inventory().Unlisted {
		say(reason.Unreadable, "a folder could not be listed, so no blob is proven to be unneeded")
	}
	if age := x.Policy.MinAge; age > 0 && content.ModTime == 0 {
		say(reason.AgeUnknown, "it has no time stamp")
	} else if x.Now.Sub(content.ModTime.Time()) < age {
		say(reason.TooYoung, "old enough at "+content.ModTime.Time().Add(age).Format(time.RFC3339))
	}
	if repository := x.linkedIn(id); repository != "" {
		say(reason.KeptByPolicy, "a layer link in "+repository+" stays")
	}
	if len(reasons) == 0 {
		say(reason.KeptByPolicy, "it is out of scope, or something that stays needs it")
	}
	return reasons
}

// linkedIn is a repository whose link to the content stays; empty: none.
func (x explainer) linkedIn(id inventory.ID) string {
	for i := range x.Inventory().Repositories {
		r := &x.Inventory().Repositories[i]
		for _, link := range r.Layers {
			item := inventory.Item{Kind: inventory.LayerLink, Repository: r.Name, Digest: x.Inventory().Contents.Digest(link.ID)}
			if link.ID == id && !x.going[item] {
				return r.Name
			}
		}
	}
	return ""
}

func (x explainer) uploads(repository string) []KeptUpload {
	found := []KeptUpload{}
	for i := range x.Inventory().Repositories {
		r := &x.Inventory().Repositories[i]
		if r.Name != repository {
			continue
		}
		for _, u := range r.Uploads {
			goes := x.going[inventory.Item{Kind: inventory.UploadFolder, Repository: r.Name, Upload: u.ID}]
			why := reason.Reason{Code: reason.AbandonedUpload, Detail: untouched(u.ModTime)}
			if !goes {
				why = x.whyUploadStays(u)
			}
			found = append(found, KeptUpload{
				Upload:   Upload{Repository: r.Name, ID: u.ID, Bytes: u.Size, Reasons: []reason.Reason{why}},
				Decision: verdict(goes),
			})
		}
	}
	return found
}

func (x explainer) whyUploadStays(u inventory.Upload) reason.Reason {
	age := x.Policy.UploadAge
	switch {
	case age > 0 && u.ModTime == 0:
		return reason.Reason{Code: reason.AgeUnknown, Detail: "it has no time stamp"}
	case x.Now.Sub(u.ModTime.Time()) < age:
		return reason.Reason{Code: reason.TooYoung, Detail: "old enough at " + u.ModTime.Time().Add(age).Format(time.RFC3339)}
	}
	return reason.Reason{Code: reason.KeptByPolicy, Detail: "its repository is out of scope, or not fully known"}
}
