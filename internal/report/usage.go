package report

import (
	"time"

	"github.com/ebb-io/ebb/internal/inventory"
	"github.com/ebb-io/ebb/internal/plan"
	"github.com/ebb-io/ebb/internal/usage"
)

// Usage is the document of who takes the space of a storage.
type Usage struct {
	Kind
	PlannedAt Time    `json:"plannedAt"`
	Options   Options `json:"options"`
	Store     Store   `json:"store"`
	// By is what images are grouped by: repository, owner, kind, namespace or
	// media-type.
	By usage.By `json:"by"`
	// Totals cover everything, whatever the lists leave out.
	Totals usage.Totals `json:"totals"`
	// Groups come by exclusive plus shared bytes, the most first, then by name.
	Groups []usage.Group `json:"groups"`
	// BiggestImages come by size, then by repository and digest.
	BiggestImages []UsedImage `json:"biggestImages"`
	// SharedLayers come by the bytes that sharing saves, then by digest.
	SharedLayers []SharedLayer `json:"sharedLayers"`
	// LeftOut is how many more of each there are than --top lists.
	LeftOut  LeftOut             `json:"leftOut"`
	Problems []inventory.Problem `json:"problems"`
}

// UsedImage is an image and what it takes.
type UsedImage struct {
	Repository string   `json:"repository"`
	Digest     string   `json:"digest"`
	Tags       []string `json:"tags"`
	MediaType  string   `json:"mediaType"`
	Owner      string   `json:"owner"`
	Decision   string   `json:"decision"` // Keep or Delete
	// Size is what the image needs for itself: its manifest, config and layers,
	// exclusive and shared.
	Size  int64      `json:"size"`
	Bytes plan.Bytes `json:"bytes"`
}

// SharedLayer is a layer of several images.
type SharedLayer struct {
	Digest       string `json:"digest"`
	Size         int64  `json:"size"`
	Images       int    `json:"images"`       // that need it
	Repositories int    `json:"repositories"` // in which there are such images
	SavedBytes   int64  `json:"savedBytes"`   // what a copy for each image would take beside it
}

// LeftOut counts what lists do not show.
type LeftOut struct {
	Groups        int `json:"groups"`
	BiggestImages int `json:"biggestImages"`
	SharedLayers  int `json:"sharedLayers"`
}

// NewUsage writes down who takes the space, as it was planned at a time, and
// what is wrong with the storage.
func NewUsage(u *usage.Usage, at time.Time, problems []inventory.Problem, options Options, store Store) Usage {
	d := Usage{
		Kind: kindOf(KindUsage), PlannedAt: Time{at}, Options: options, Store: store, By: u.By, Totals: u.Totals,
		Groups: list(u.Groups.Items), BiggestImages: []UsedImage{}, SharedLayers: []SharedLayer{},
		LeftOut:  LeftOut{Groups: u.Groups.More, BiggestImages: u.Images.More, SharedLayers: u.Layers.More},
		Problems: list(problems),
	}
	for _, i := range u.Images.Items {
		d.BiggestImages = append(d.BiggestImages, UsedImage{
			Repository: i.Repository, Digest: i.Digest.String(), Tags: list(i.Tags), MediaType: i.MediaType, Owner: i.Owner,
			Decision: verdict(i.Delete), Size: usage.SizeOf(i), Bytes: i.Bytes,
		})
	}
	for _, l := range u.Layers.Items {
		d.SharedLayers = append(d.SharedLayers, SharedLayer{
			Digest: l.Digest.String(), Size: l.Size, Images: l.Images, Repositories: l.Repositories, SavedBytes: l.Saved,
		})
	}
	return d
}

// Names are the names of the groups, one a line.
func (u Usage) Names() []byte {
	page := &page{}
	for _, g := range u.Groups {
		if g.Class == usage.Named {
			page.line("%s", Escape(g.Name))
		}
	}
	return page.Bytes()
}
