package report

import (
	"time"

	"github.com/ebb-io/ebb/internal/inventory"
	"github.com/ebb-io/ebb/internal/plan"
	"github.com/ebb-io/ebb/internal/reason"
)

// Sweep names what goes beside images.
type Sweep struct {
	Blobs        []string          `json:"blobs"` // digests
	LayerLinks   []LayerLinks      `json:"layerLinks"`
	Uploads      []Upload          `json:"uploads"`
	Unfinished   []Unfinished      `json:"unfinished"`
	Repositories []EmptyRepository `json:"repositories"`
}

// LayerLinks are the links of one repository that no image of it needs.
type LayerLinks struct {
	Repository string   `json:"repository"`
	Digests    []string `json:"digests"`
}

// Upload is one that nobody goes on with.
type Upload struct {
	Repository string          `json:"repository"`
	ID         string          `json:"id"`
	Bytes      int64           `json:"bytes"`
	Reasons    []reason.Reason `json:"reasons"`
}

// Unfinished is an object store's upload in parts that nobody goes on with.
type Unfinished struct {
	Path    string          `json:"path"` // of the file that it would have become
	ID      string          `json:"id"`
	Bytes   int64           `json:"bytes"`
	Reasons []reason.Reason `json:"reasons"`
}

// EmptyRepository is one of which nothing remains.
type EmptyRepository struct {
	Repository string          `json:"repository"`
	Reasons    []reason.Reason `json:"reasons"`
}

func newSweep(p *plan.Plan) (Sweep, Blobs) {
	s := Sweep{Blobs: []string{}, LayerLinks: []LayerLinks{}, Uploads: []Upload{}, Unfinished: []Unfinished{}, Repositories: []EmptyRepository{}}
	b := Blobs{Count: p.Inventory().Contents.Blobs()}
	since := lastTouched(p.Inventory())
	for _, phase := range p.Deletions(nil) {
		for _, item := range phase {
			s.add(item, since)
			if item.Kind == inventory.Blob || item.Kind == inventory.ManifestBlob {
				b.Delete++
				b.DeleteBytes += item.Size
			}
		}
	}
	return s, b
}

func (s *Sweep) add(item inventory.Item, since map[uploadKey]inventory.Time) {
	switch item.Kind {
	case inventory.ManifestBlob, inventory.Blob:
		s.Blobs = append(s.Blobs, item.Digest.String())
	case inventory.LayerLink:
		s.addLink(item)
	case inventory.UploadFolder:
		at := since[keyOf(item)]
		s.Uploads = append(s.Uploads, Upload{
			Repository: item.Repository, ID: item.Upload, Bytes: item.Size,
			Reasons: []reason.Reason{{Code: reason.AbandonedUpload, Detail: untouched(at)}},
		})
	case inventory.UnfinishedUpload:
		s.Unfinished = append(s.Unfinished, Unfinished{
			Path: item.Path, ID: item.Upload, Bytes: item.Size,
			Reasons: []reason.Reason{{Code: reason.AbandonedUpload, Detail: untouched(since[keyOf(item)])}},
		})
	case inventory.RepositoryFolder:
		s.Repositories = append(s.Repositories, EmptyRepository{
			Repository: item.Repository,
			Reasons:    []reason.Reason{{Code: reason.EmptyRepository, Detail: "nothing remains in it"}},
		})
	}
}

func (s *Sweep) addLink(item inventory.Item) {
	last := len(s.LayerLinks) - 1
	if last < 0 || s.LayerLinks[last].Repository != item.Repository {
		s.LayerLinks = append(s.LayerLinks, LayerLinks{Repository: item.Repository})
		last++
	}
	s.LayerLinks[last].Digests = append(s.LayerLinks[last].Digests, item.Digest.String())
}

// uploadKey is a folder, or a path, with an ID.
type uploadKey struct{ place, id string }

func keyOf(item inventory.Item) uploadKey {
	if item.Kind == inventory.UnfinishedUpload {
		return uploadKey{item.Path, item.Upload}
	}
	return uploadKey{item.Repository, item.Upload}
}

func lastTouched(inv *inventory.Inventory) map[uploadKey]inventory.Time {
	at := map[uploadKey]inventory.Time{}
	for i := range inv.Repositories {
		r := &inv.Repositories[i]
		for _, u := range r.Uploads {
			at[uploadKey{r.Name, u.ID}] = u.ModTime
		}
	}
	for _, u := range inv.Unfinished {
		at[uploadKey{u.Path, u.ID}] = u.Touched
	}
	return at
}

func untouched(at inventory.Time) string {
	if at == 0 {
		return "it has no time stamp"
	}
	return "untouched since " + at.Time().Format(time.RFC3339)
}
