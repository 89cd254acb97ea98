package repair_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ebb-io/ebb/internal/image"
	"github.com/ebb-io/ebb/internal/inventory"
	"github.com/ebb-io/ebb/internal/policy"
	"github.com/ebb-io/ebb/internal/repair"
)

var now = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)

func digest(text string) image.Digest { return image.SHA256([]byte(text)) }

// path is enough of a layout to tell items apart.
func path(item inventory.Item) string {
	switch item.Kind {
	case inventory.Revision:
		return item.Repository + "/r/" + item.Digest.Short()
	case inventory.LayerLink:
		return item.Repository + "/l/" + item.Digest.Short()
	case inventory.TagLink:
		return item.Repository + "/t/" + item.Tag + "/current/link"
	case inventory.TagFolder:
		return item.Repository + "/t/" + item.Tag
	}
	return item.Repository
}

// input is a repository with a whole image, one whose manifest is gone, a tag
// for each, and a torn link. What is unknown says of a text whether its blob may
// be there unseen.
func input(unknown func(string) bool) repair.Input {
	var blobs []inventory.Content
	for _, text := range []string{"manifest", "layer"} {
		blobs = append(blobs, inventory.Content{Digest: digest(text), Size: 1})
	}
	contents := inventory.NewContents(blobs, func(d image.Digest) bool {
		return slices.ContainsFunc([]string{"lost", "dead"}, func(text string) bool { return d == digest(text) && unknown(text) })
	})
	id := func(text string) inventory.ID { return contents.Intern(digest(text)) }
	r := inventory.Repository{
		Name:   "a",
		Images: []inventory.Image{{ID: id("manifest"), Linked: true, Broken: true}, {ID: id("lost"), Linked: true}},
		Tags:   []inventory.Tag{{Name: "v1", Target: id("manifest"), Read: true}, {Name: "v2", Target: id("lost"), Read: true}},
		Layers: []inventory.Link{{ID: id("layer")}, {ID: id("dead")}},
	}
	revision := inventory.Item{Kind: inventory.Revision, Repository: "a", Digest: digest("manifest")}
	return repair.Input{
		Inventory: &inventory.Inventory{
			Contents: contents, Repositories: []inventory.Repository{r},
			Manifests: map[inventory.ID]*inventory.Manifest{id("manifest"): {Needs: []inventory.Need{{ID: id("layer"), Role: image.Layer}}}},
		},
		Survey: &inventory.Survey{Faults: []inventory.LinkFault{{
			Kind: inventory.Revision, Repository: "a", Digest: digest("manifest"), Path: path(revision) + "/link", Detail: "it is empty",
		}}},
		Path: path, MaxDeleteShare: 100, Now: now, LeftoverAge: time.Hour,
	}
}

func nothing(string) bool { return false }

func kinds(p *repair.Plan) []string {
	var found []string
	for _, a := range p.Actions {
		found = append(found, string(a.Kind)+" "+a.Path)
	}
	return found
}

func everything() []string {
	return []string{
		"RemoveTag a/t/v2", "RemoveRevision a/r/" + digest("lost").Short(),
		"RemoveLayerLink a/l/" + digest("dead").Short(), "WriteLink a/r/" + digest("manifest").Short() + "/link",
	}
}

func TestBuild(t *testing.T) {
	only := func(words ...string) []string {
		return slices.DeleteFunc(everything(), func(a string) bool {
			return !slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(a, w) })
		})
	}
	for _, c := range []struct {
		reason string
		in     func() repair.Input
		want   []string
	}{
		{"all is seen", func() repair.Input { return input(nothing) }, everything()},
		{"the repository was not seen in full by the snapshot", func() repair.Input {
			in := input(nothing)
			in.Inventory.Repositories[0].Unlisted = true
			return in
		}, nil},
		{"nor by the survey", func() repair.Input {
			in := input(nothing)
			in.Survey.Unseen = map[string]bool{"a": true}
			return in
		}, nil},
		{"it is out of scope", func() repair.Input {
			in := input(nothing)
			g, err := policy.ParseGlob("a")
			if err != nil {
				t.Fatal(err)
			}
			in.Scope.Exclude = []policy.Glob{g}
			return in
		}, nil},
		{"a blob may be there unseen, so the manifest is not gone", func() repair.Input {
			return input(func(text string) bool { return text == "lost" })
		}, only("WriteLink")}, // nor is known what that image needs
		{"the same of a layer", func() repair.Input {
			return input(func(text string) bool { return text == "dead" })
		}, only("WriteLink", "RemoveTag", "RemoveRevision")},
		{"what an image needs is not known, so no layer link is unneeded", func() repair.Input {
			in := input(nothing)
			in.Inventory.Manifests = nil
			return in
		}, only("WriteLink", "RemoveTag", "RemoveRevision")},
		{"a link holds another digest, which somebody may have meant", func() repair.Input {
			in := input(nothing)
			in.Survey.Faults[0].State = inventory.LinkForeign
			return in
		}, only("RemoveTag", "RemoveRevision", "RemoveLayerLink")},
		{"a link could not be read", func() repair.Input {
			in := input(nothing)
			in.Survey.Faults[0].State = inventory.LinkUnread
			return in
		}, only("RemoveTag", "RemoveRevision", "RemoveLayerLink")},
		{"the lost image's link holds another digest: that one may be what is served", func() repair.Input {
			in := input(nothing)
			in.Survey.Faults = append(in.Survey.Faults, inventory.LinkFault{
				Kind: inventory.Revision, Repository: "a", Digest: digest("lost"), State: inventory.LinkForeign,
				Path: path(inventory.Item{Kind: inventory.Revision, Repository: "a", Digest: digest("lost")}) + "/link",
			})
			return in
		}, only("WriteLink")},
		{"a layer link leads from the lost image's digest to another, by which old registries serve it", func() repair.Input {
			in := input(nothing)
			in.Survey.Faults = append(in.Survey.Faults, inventory.LinkFault{
				Kind: inventory.LayerLink, Repository: "a", Digest: digest("lost"), State: inventory.LinkForeign,
				Path: path(inventory.Item{Kind: inventory.LayerLink, Repository: "a", Digest: digest("lost")}) + "/link",
			})
			return in
		}, only("WriteLink")},
		{"so does one whose digest is no sha256", func() repair.Input {
			in := input(nothing)
			id, _ := in.Inventory.Contents.Find(digest("lost"))
			in.Inventory.Stored = map[inventory.ID][]inventory.ID{id: {0}}
			return in
		}, only("WriteLink")},
	} {
		if diff := cmp.Diff(c.want, kinds(repair.Build(c.in()))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.reason, diff)
		}
	}
}

// Links are written before anything goes, and what names something goes before
// what it names.
func TestPhases(t *testing.T) {
	var got []inventory.MendKind
	for _, phase := range repair.Build(input(nothing)).Phases() {
		for _, step := range phase {
			got = append(got, step.Mend.Kind)
		}
	}
	want := []inventory.MendKind{
		inventory.PutRevision, inventory.DropTagHistory, inventory.DropTagLink, inventory.DropTagFolder,
		inventory.DropRevision, inventory.DropLayerLink,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestLeftovers(t *testing.T) {
	at := func(age time.Duration) inventory.Time { return inventory.TimeOf(now.Add(-age)) }
	for _, c := range []struct {
		reason string
		survey inventory.Survey
		want   []string
	}{
		{"old enough", inventory.Survey{Strays: []inventory.Stray{{Path: "b/x", ModTime: at(time.Hour)}}}, []string{"RemoveTemporary b/x"}},
		{"too young", inventory.Survey{Strays: []inventory.Stray{{Path: "b/x", ModTime: at(time.Hour - 1)}}}, nil},
		{"of no age", inventory.Survey{Strays: []inventory.Stray{{Path: "b/x"}}}, nil},
		{"from the future", inventory.Survey{Strays: []inventory.Stray{{Path: "b/x", ModTime: at(-time.Hour)}}}, nil},
		{"of a repository that came meanwhile", inventory.Survey{Strays: []inventory.Stray{{Path: "n/x", Repository: "new", ModTime: at(time.Hour)}}}, nil},
		{"an old folder", inventory.Survey{Folders: []inventory.Folder{{Path: "b", ModTime: at(time.Hour)}}}, []string{"RemoveFolder b"}},
		{"a folder of no age", inventory.Survey{Folders: []inventory.Folder{{Path: "b"}}}, nil},
		{
			"a folder with a young file",
			inventory.Survey{
				Folders: []inventory.Folder{{Path: "b", ModTime: at(time.Hour)}}, Strays: []inventory.Stray{{Path: "b/x", ModTime: at(0)}},
			},
			nil,
		},
		{
			"a folder with an old file goes after it",
			inventory.Survey{
				Folders: []inventory.Folder{{Path: "b", ModTime: at(time.Hour)}}, Strays: []inventory.Stray{{Path: "b/x", ModTime: at(time.Hour)}},
			},
			[]string{"RemoveTemporary b/x", "RemoveFolder b"},
		},
	} {
		in := input(nothing)
		in.Inventory.Repositories, in.Survey = nil, &c.survey
		if diff := cmp.Diff(c.want, kinds(repair.Build(in))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.reason, diff)
		}
	}
}

func TestLimit(t *testing.T) {
	in := input(nothing)
	in.MaxDeleteShare = 50
	if p := repair.Build(in); len(p.Exceeded) > 0 {
		t.Errorf("half of all is over a limit of half: %v", p.Exceeded)
	}
	in.MaxDeleteShare = 49
	var got []string
	for _, e := range repair.Build(in).Exceeded {
		got = append(got, e.Text("removed"))
	}
	want := []string{
		"1 of 2 images (50%) would be removed, max-delete-share allows 49%",
		"1 of 2 tags (50%) would be removed, max-delete-share allows 49%",
		"1 of 2 layer links (50%) would be removed, max-delete-share allows 49%",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
