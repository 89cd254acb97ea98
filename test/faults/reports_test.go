package faults

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	app "github.com/ebb-io/ebb/internal/app/registry"
	"github.com/ebb-io/ebb/internal/inventory"
	"github.com/ebb-io/ebb/internal/policy"
	"github.com/ebb-io/ebb/internal/reason"
	"github.com/ebb-io/ebb/internal/refs"
	"github.com/ebb-io/ebb/internal/store/blob/fs"
	"github.com/ebb-io/ebb/internal/testkit/trial"
	"github.com/ebb-io/ebb/internal/testkit/world"
)

// TestReports has a test for each kind of public report that concerns storage:
// what tools like this one have deleted by mistake, stumbled over or left
// behind. Each is numbered and names its fault.
func TestReports(t *testing.T) {
	t.Parallel()
	for _, reports := range [][]condition{usedReports, describedReports, ownedReports, badEntryReports, leftoverReports} {
		for _, c := range reports {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				w := newTown(t)
				w.survives(t, c.make(t, w)...)
			})
		}
	}
}

func virtualImage(name, uid string) string {
	return "apiVersion: virtualization.deckhouse.io/v1alpha2\nkind: VirtualImage\nmetadata: {name: " + name + ", namespace: ns, uid: " + uid + "}\n"
}

// platforms writes an index of two images, of which only the index is tagged.
func (w *town) platforms(repo, tag string, options ...world.Option) (index, amd, arm world.Image) {
	amd = w.Image(repo, append([]world.Option{world.Layers(w.base, w.Layer("amd64 "+repo))}, options...)...)
	arm = w.Image(repo, append([]world.Option{world.Layers(w.base, w.Layer("arm64 "+repo)), world.Platform("linux", "arm64")}, options...)...)
	index = w.Index(repo, []world.Image{amd, arm}, append([]world.Option{world.Tag(tag)}, options...)...)
	return index, amd, arm
}

func deleteUntagged(q *trial.Question) { q.Policy.DeleteUntagged = true }

var usedReports = []condition{
	{"1 3 5 7 16, children of a tagged list are untagged", func(_ *testing.T, w *town) []damage {
		w.question = deleteUntagged
		index, amd, arm := w.platforms("multi", "v1", world.Docker)
		w.keeps(index, "v1")
		w.keeps(amd)
		w.keeps(arm)
		return nil
	}},
	{"6 8 12, an OCI index of a single platform without media types", func(_ *testing.T, w *town) []damage {
		w.question = deleteUntagged
		child := w.keeps(w.Image("single", world.NoMediaType, world.Layers(w.base, w.Layer("single"))))
		w.keeps(w.Index("single", []world.Image{child}, world.NoMediaType, world.Tag("v1")), "v1")
		return nil
	}},
	{"11, an index is listed twice and nested", func(_ *testing.T, w *town) []damage {
		index, amd, _ := w.platforms("loop", "v1")
		w.keeps(index, "v1")
		w.keeps(w.Index("loop", []world.Image{index, index, amd}, world.Tag("v2")), "v2")
		return nil
	}},
	{"15, an attestation without a platform", func(_ *testing.T, w *town) []damage {
		w.question = deleteUntagged
		image := w.keeps(w.Image("attested", world.Layers(w.base)))
		attestation := w.keeps(w.Image("attested", world.ArtifactType("application/vnd.in-toto+json"), world.Layers(w.Layer("attestation"))))
		w.keeps(w.Index("attested", []world.Image{image, attestation}, world.Tag("v1")), "v1")
		return nil
	}},
	{"31, old content under a link without an old age: pushed again a minute ago", func(_ *testing.T, w *town) []damage {
		image := w.Image("vi/ns/again", world.Layers(w.Layer("again")), world.Tag(uid(7)), world.LinkAge(time.Minute))
		w.keeps(image, uid(7))
		return nil
	}},
	{"33, one of two tags of an image goes", func(_ *testing.T, w *town) []damage {
		image := w.Image("vi/ns/alive", world.Layers(w.Layer("two tags")), world.Tag(uid(8)))
		w.Tag("vi/ns/alive", "by-hand", image.Digest)
		w.keeps(image, "by-hand")
		return nil
	}},
	{"37, an image shared with what goes whole", func(_ *testing.T, w *town) []damage {
		index, amd, _ := w.platforms("vi/ns/gone", "multi")
		w.loses(index, "multi")
		w.keeps(w.Push("multi/kept", amd, world.Tag("v1")), "v1")
		return nil
	}},
	{"38, a list of pins by hand", func(_ *testing.T, w *town) []damage {
		image := w.keeps(w.Image("vi/ns/pinned", world.Layers(w.Layer("pinned")), world.Tag(uid(6))), uid(6))
		w.question = func(q *trial.Question) {
			q.Owners.References = append(q.Owners.References, refs.Reference{Code: reason.Pinned, By: "--keep", Repository: image.Repository, Tag: uid(6)})
		}
		return nil
	}},
}

var describedReports = []condition{
	{"9 14 22, bare referrers of an image, an index and a referrer", func(_ *testing.T, w *town) []damage {
		w.question = deleteUntagged
		index, amd, arm := w.platforms("described", "v1")
		w.keeps(index, "v1")
		signature := w.keeps(w.Referrer("described", index.Digest))
		w.keeps(w.Referrer("described", signature.Digest))
		w.keeps(w.Index("described", []world.Image{amd, arm}, world.Subject(amd.Digest), world.Annotation("kind", "index with a subject")))
		return nil
	}},
	{"13, referrers of a platform's manifest", func(_ *testing.T, w *town) []damage {
		w.question = deleteUntagged
		index, amd, _ := w.platforms("described", "v1")
		w.keeps(index, "v1")
		w.keeps(w.Referrer("described", amd.Digest))
		w.keeps(w.CosignTag("described", amd.Digest, ".sig"), world.SubjectTag(amd.Digest, ".sig"))
		return nil
	}},
	{"17, the signature of a signature", func(_ *testing.T, w *town) []damage {
		index, _, _ := w.platforms("described", "v1")
		w.keeps(index, "v1")
		signature := w.keeps(w.CosignTag("described", index.Digest, ".sig"), world.SubjectTag(index.Digest, ".sig"))
		w.keeps(w.CosignTag("described", signature.Digest, ".att"), world.SubjectTag(signature.Digest, ".att"))
		return nil
	}},
	{"18, a signed image goes with its signatures", func(_ *testing.T, w *town) []damage {
		old := w.loses(w.Image("vi/ns/alive", world.Layers(w.base, w.Layer("signed")), world.Tag(uid(8))), uid(8))
		w.loses(w.Referrer("vi/ns/alive", old.Digest))
		w.loses(w.CosignTag("vi/ns/alive", old.Digest, ".sig"), world.SubjectTag(old.Digest, ".sig"))
		return nil
	}},
	{"19 20, all that describes an image long gone", func(_ *testing.T, w *town) []damage {
		lost := world.Digest("lost")
		w.keeps(w.Image("described", world.Layers(w.base), world.Tag("v1")), "v1")
		for _, suffix := range []string{".sig", ".att", ".sbom"} {
			w.loses(w.CosignTag("described", lost, suffix), world.SubjectTag(lost, suffix))
		}
		referrer := w.loses(w.Referrer("described", lost))
		w.loses(w.FallbackTag("described", lost, []world.Image{referrer}), world.SubjectTag(lost, ""))
		return nil
	}},
	{"a signature repository for images elsewhere", func(_ *testing.T, w *town) []damage {
		lost := world.Digest("lost")
		w.keeps(w.CosignTag("signatures", lost, ".sig"), world.SubjectTag(lost, ".sig"))
		w.keeps(w.CosignTag("signatures", world.Digest("lost too"), ".sig"), world.SubjectTag(world.Digest("lost too"), ".sig"))
		w.keeps(w.Referrer("signatures", lost))
		return nil
	}},
}

var ownedReports = []condition{
	{"26 27 28 30, images that Pods and Pod templates name", func(_ *testing.T, w *town) []damage {
		kinds := map[string]string{
			"Deployment": "spec: {replicas: 0, template: {spec: {containers: [{image: %q}]}}}", "StatefulSet": "spec: {template: {spec: {containers: [{image: other}], initContainers: [{image: %q}]}}}",
			"ReplicaSet": "spec: {replicas: 0, template: {spec: {containers: [{image: %q}]}}}", "Job": "spec: {template: {spec: {containers: [{image: %q}]}}}",
			"DaemonSet": "spec: {template: {spec: {containers: [{image: other}], volumes: [{image: {reference: %q}}]}}}", "CronJob": "spec: {jobTemplate: {spec: {template: {spec: {containers: [{image: %q}]}}}}}",
		}
		for kind, spec := range kinds {
			repo := "vi/ns/of-" + strings.ToLower(kind)
			w.keeps(w.Image(repo, world.Layers(w.base, w.Layer(kind)), world.Tag("v1")), "v1")
			w.owners += "---\napiVersion: apps/v1\nkind: " + kind + "\nmetadata: {name: a, namespace: ns}\n" + fmt.Sprintf(spec, "any.host/"+repo+":v1") + "\n"
		}
		return nil
	}},
	{"a restored owner whose status names the old image", func(_ *testing.T, w *town) []damage {
		old := w.keeps(w.Image("vi/ns/restored", world.Layers(w.Layer("restored")), world.Tag(uid(5))), uid(5))
		w.owners += "---\n" + virtualImage("restored", uid(50)) +
			"status: {phase: Ready, target: {registryURL: 'dvcr.d8-virtualization.svc/" + old.Repository + ":" + uid(5) + "'}}\n"
		return nil
	}},
	{"tags under an owner that are no UUIDs", func(_ *testing.T, w *town) []damage {
		w.keeps(w.Image("vi/ns/alive", world.Layers(w.Layer("latest")), world.Tag("latest")), "latest")
		return nil
	}},
	{"the last object of a kind is deleted", func(_ *testing.T, w *town) []damage {
		w.keeps(w.Image("cvi/held", world.Layers(w.Layer("held")), world.Tag(uid(4))), uid(4))
		w.owners = virtualImage("alive", uid(1))
		return nil
	}},
}

var badEntryReports = []condition{
	{"39 47, empty links of every kind at once", func(_ *testing.T, w *town) []damage {
		image := w.Image("ill", world.Layers(w.base, w.Layer("ill")), world.Tag("v1"), world.Tag("v2"))
		w.EmptyRevisionLink("ill", image.Digest)
		w.EmptyLayerLink("ill", image.Layers[1])
		w.EmptyTagLink("ill", "v1")
		w.left = append(w.left, world.BlobPath(image.Digest), world.BlobPath(image.Layers[1]))
		return []damage{
			{world.RevisionLink("ill", image.Digest), inventory.LinkDamaged},
			{world.LayerLink("ill", image.Layers[1]), inventory.LinkDamaged},
			{world.TagLink("ill", "v1"), inventory.TagUnread},
		}
	}},
	{"40, a repository without revisions", func(_ *testing.T, w *town) []damage {
		image := w.ill()
		w.RemoveRevisionsDir("ill")
		w.left = append(w.left, world.BlobPath(image.Digest), world.BlobPath(image.Layers[1]), world.LayerLink("ill", image.Layers[1]))
		return []damage{{world.TagLink("ill", "v1"), inventory.TagDangling}}
	}},
	{"41, a folder of another algorithm among the blobs", func(_ *testing.T, w *town) []damage {
		w.StrayBlobDir("blobs/md5/ab/abcdef/data")
		return []damage{{"blobs/md5/ab/abcdef", inventory.UnexpectedContent}}
	}},
	{"44, a manifest with two JSON values", func(_ *testing.T, w *town) []damage {
		image := w.ill()
		w.Rewrite(world.BlobPath(image.Digest), string(image.Raw)+"{}")
		w.left = append(w.left, world.BlobPath(image.Layers[1]))
		return []damage{{world.BlobPath(image.Digest), inventory.ManifestUnread}}
	}},
	{"45, schema 1 beside images", func(_ *testing.T, w *town) []damage {
		old := w.keeps(w.Schema1("ill", "old"), "old")
		w.keeps(w.ill(), "v1")
		return []damage{{world.BlobPath(old.Digest), inventory.NotUnderstood}}
	}},
	{"51, a layer is missing", func(_ *testing.T, w *town) []damage {
		image := w.keeps(w.ill(), "v1")
		w.RemoveBlob(image.Layers[1])
		return []damage{{world.BlobPath(image.Layers[1]), inventory.BlobMissing}}
	}},
	{"a layer is cut off", func(_ *testing.T, w *town) []damage {
		image := w.keeps(w.ill(), "v1")
		w.TruncateBlob(image.Layers[1])
		return []damage{{world.BlobPath(image.Layers[1]), inventory.SizeMismatch}}
	}},
	{"a damaged repository whose owner is gone goes whole", func(_ *testing.T, w *town) []damage {
		torn := w.loses(w.Image("vi/ns/torn", world.Layers(w.base, w.Layer("torn")), world.Tag(uid(3))), uid(3))
		other := w.loses(w.Image("vi/ns/torn", world.Layers(w.Layer("torn too")), world.Tag(uid(4))), uid(4))
		w.TruncateBlob(torn.Digest)
		w.EmptyTagLink("vi/ns/torn", uid(4))
		w.gone = append(w.gone, world.RepositoryPath("vi/ns/torn"), world.BlobPath(torn.Layers[1]), world.BlobPath(other.Layers[0]))
		return []damage{{world.BlobPath(torn.Digest), inventory.ManifestUnread}, {world.TagLink("vi/ns/torn", uid(4)), inventory.TagUnread}}
	}},
}

var leftoverReports = []condition{
	{"63, empty repositories, not those nested in them", func(_ *testing.T, w *town) []damage {
		w.EmptyRepository("hollow/one")
		w.loses(w.Image("cvi/gone", world.Layers(w.base), world.Tag(uid(6))), uid(6))
		w.keeps(w.Image("cvi/gone/nested", world.Layers(w.base), world.Tag("v1")), "v1")
		w.gone = append(w.gone, world.RepositoryPath("hollow"), world.RepositoryPath("cvi/gone/_manifests"), world.RepositoryPath("cvi/gone/_layers"))
		return nil
	}},
	{"65, abandoned uploads", func(_ *testing.T, w *town) []damage {
		w.Upload("town/web", "11111111-0000-4000-8000-000000000000", w.Now().Add(-8*day), "half")
		w.Upload("town/web", "22222222-0000-4000-8000-000000000000", w.Now().Add(-30*day), "half", world.Age(day))
		w.gone = append(w.gone, world.UploadPath("town/web", "11111111-0000-4000-8000-000000000000"))
		w.left = append(w.left, world.UploadPath("town/web", "22222222-0000-4000-8000-000000000000")+"/data")
		return nil
	}},
	{"67, an index goes with its children, not with those of others", func(_ *testing.T, w *town) []damage {
		index, amd, arm := w.platforms("vi/ns/alive", uid(8))
		w.loses(index, uid(8))
		w.loses(amd)
		w.keeps(w.Index("vi/ns/alive", []world.Image{arm}, world.Tag("by-hand")), "by-hand")
		w.keeps(arm)
		return nil
	}},
	{"residue of old registries and of crashes", func(_ *testing.T, w *town) []damage {
		image := w.loses(w.Image("vi/ns/gone", world.Layers(w.Layer("residue")), world.Tag("residue")), "residue")
		w.File(world.RevisionLink("vi/ns/gone", image.Digest)+".1b4e28ba.tmp", "sha256:")
		w.File(world.LayerLink("vi/ns/gone", image.Layers[0])+".1b4e28ba.tmp", "sha256:")
		w.File(world.BlobPath(image.Layers[0])+".1b4e28ba.tmp", "half")
		w.File(world.TagLink("vi/ns/gone", "residue")+".1b4e28ba.tmp", "sha256:")
		return nil
	}},
}

// TestReport2 is the registry that a second run destroyed: it deletes nothing,
// and a plan over the limit is refused.
func TestReport2(t *testing.T) {
	t.Parallel()
	w := newTown(t)
	w.survives(t) // with a second run
	w.owners = virtualImage("other", uid(1))
	q := trial.Ask(trial.Owners(t, w.owners), w.Now())
	q.Policy.MaxDeleteShare = policy.Share(49)
	before := trial.Tree(t, w.dir)
	if _, err := q.Run(t.Context(), open(t, w.dir)); !errors.Is(err, app.ErrLimit) {
		t.Errorf("error is %v, want the limit", err)
	}
	if after := trial.Tree(t, w.dir); len(minus(before, after))+len(minus(after, before)) > 0 {
		t.Error("a refused run changed the folder")
	}
}

// TestReports10And69To72 has the dry run tell exactly what the run does, from a
// driver that has no way to write.
func TestReports10And69To72(t *testing.T) {
	t.Parallel()
	w := newTown(t)
	q := unlimited(t, w.World, rich(w.World))
	reader, err := fs.Open(w.dir)
	if err != nil {
		t.Fatal(err)
	}
	before := trial.Tree(t, w.dir)
	p, err := q.Check(t.Context(), reader)
	if err != nil {
		t.Fatal(err)
	}
	if after := trial.Tree(t, w.dir); len(minus(before, after))+len(minus(after, before)) > 0 {
		t.Error("a check changed the folder")
	}
	result, err := q.Run(t.Context(), open(t, w.dir))
	if err != nil {
		t.Fatal(err)
	}
	if p.Fingerprint() != result.Plan.Fingerprint() {
		t.Error("the run planned something else than the check")
	}
	if got, want := result.Outcome.FreedBytes, p.Totals.ReclaimableBytes; got != want {
		t.Errorf("freed %d bytes, the check said %d", got, want)
	}
	if got, want := result.Outcome.Deleted.Manifests, p.Totals.Delete; got != want {
		t.Errorf("deleted %d images, the check said %d", got, want)
	}
}
