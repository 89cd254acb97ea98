package faults

import (
	"fmt"
	"testing"
	"time"

	"github.com/ebb-io/ebb/internal/policy"
	"github.com/ebb-io/ebb/internal/testkit/trial"
	"github.com/ebb-io/ebb/internal/testkit/world"
)

const day = 24 * time.Hour

// uid is the n-th object's.
func uid(n int) string { return fmt.Sprintf("00000000-0000-4000-8000-%012d", n) }

// richOwners leave vi/ns/gone, vi/ns/broken, vi/ns/used, vi/ns/by-id and
// cvi/gone without an owner. A Pod uses one image by its tag and one by the
// digest of its config, as older runtimes report it.
func richOwners(config string) string {
	return `
apiVersion: v1
items:
- {apiVersion: virtualization.deckhouse.io/v1alpha2, kind: VirtualImage, metadata: {name: alive, namespace: ns, uid: ` + uid(1) + `}, status: {phase: Ready}}
- {apiVersion: virtualization.deckhouse.io/v1alpha2, kind: VirtualDisk, metadata: {name: ready, namespace: ns, uid: ` + uid(2) + `}, status: {phase: Ready}}
- {apiVersion: virtualization.deckhouse.io/v1alpha2, kind: ClusterVirtualImage, metadata: {name: alive, uid: ` + uid(3) + `}, status: {phase: Ready}}
- apiVersion: v1
  kind: Pod
  metadata: {name: web, namespace: ns}
  spec:
    containers:
    - {name: byTag, image: "registry.example.org/vi/ns/used:running"}
  status:
    containerStatuses:
    - {name: byTag, image: "` + config + `", imageID: "` + config + `"}
kind: List
`
}

// rich writes a world with everything that a registry can hold: shared
// layers, nested indexes, all that describes images, owners of all sorts,
// damage, and what is not understood. It returns the objects that own it.
func rich(w *world.World) (owners string) {
	base := w.Layer("base")
	richApps(w, base)
	richLost(w, base)
	richOwned(w, base)
	richGone(w, base)
	richDamage(w, base)
	byID := w.Image("vi/ns/by-id", world.Layers(base, w.Layer("by id")), world.Tag(uid(14)))
	w.Image("vi/ns/by-id", world.Layers(base, w.Layer("not by id")), world.Tag(uid(15)))
	return richOwners(byID.Config)
}

// richApps is what no rule claims and everything needs.
func richApps(w *world.World, base world.Blob) {
	web := w.Image("apps/web", world.Layers(base, w.Layer("web")), world.Tag("v1"), world.Tag("latest"))
	amd := w.Image("apps/web", world.Layers(base, w.Layer("amd")))
	arm := w.Image("apps/web", world.Layers(base), world.Platform("linux", "arm64"))
	multi := w.Index("apps/web", []world.Image{amd, arm}, world.Tag("multi"))
	w.Index("apps/web", []world.Image{multi, web}, world.Tag("nested"))
	w.Index("apps/web", []world.Image{arm}, world.Sparse(world.Digest("absent")), world.Tag("sparse"))
	signature := w.Referrer("apps/web", arm.Digest)
	w.Referrer("apps/web", signature.Digest)
	w.FallbackTag("apps/web", arm.Digest, []world.Image{signature})
	w.CosignTag("apps/web", web.Digest, ".sig")
	w.CosignTag("signatures", web.Digest, ".att")
	w.Image("apps/docker", world.Docker, world.Layers(base, w.ForeignLayer("windows", world.Docker)), world.Tag("v1"))
	w.Image("apps/alias", world.Layers(base, w.Layer("aliased", world.SHA512Alias)), world.Tag("v1"))
	w.Image("apps/long", world.SHA512, world.Layers(base, w.Layer("long", world.SHA512)), world.Tag("v1"))
	w.Push("apps/mirror", web, world.Tag("v1"))
}

// richLost is garbage in a repository that no rule claims.
func richLost(w *world.World, base world.Blob) {
	lost := world.Digest("lost")
	orphan := w.Referrer("apps/web", lost)
	w.Referrer("apps/web", orphan.Digest)
	w.FallbackTag("apps/web", lost, []world.Image{orphan})
	w.CosignTag("apps/web", lost, ".sbom", world.Layers(base, w.Layer("bill of lost material")))
	w.OrphanLayerLink("apps/web", w.OrphanBlob("orphan, linked").Digest)
	w.OrphanBlob("orphan")
	w.Upload("apps/web", "11111111-0000-4000-8000-000000000000", w.Now().Add(-30*day), "half a layer")
	w.Upload("uploads/only", "22222222-0000-4000-8000-000000000000", w.Now().Add(-30*day), "half")
	w.EmptyRepository("empty/one")
}

// richOwned is what the living own, with leftovers.
func richOwned(w *world.World, base world.Blob) {
	w.Image("vi/ns/alive", world.Layers(base, w.Layer("alive")), world.Tag(uid(1)))
	old := w.Image("vi/ns/alive", world.Layers(base, w.Layer("older")), world.Tag(uid(11)))
	child := w.Image("vi/ns/alive", world.Layers(base, w.Layer("older child")))
	inner := w.Index("vi/ns/alive", []world.Image{child})
	w.Index("vi/ns/alive", []world.Image{inner, old}, world.Tag(uid(12)))
	w.CosignTag("vi/ns/alive", old.Digest, ".sig")
	w.Image("vi/ns/alive", world.Layers(w.Layer("untagged")))
	w.Image("vd/ns/ready", world.Layers(base, w.Layer("disk")), world.Tag(uid(2)))
	w.Image("cvi/alive", world.Layers(w.Layer("cluster")), world.Tag(uid(3)))
	w.Image("vi/ns/used", world.Layers(base, w.Layer("used")), world.Tag("running"))
	w.Image("vi/ns/used", world.Layers(base, w.Layer("not used")), world.Tag(uid(13)))
}

// richGone is what goes whole.
func richGone(w *world.World, base world.Blob) {
	one := w.Image("vi/ns/gone", world.Layers(base, w.Layer("gone")), world.Tag(uid(21)))
	child := w.Image("vi/ns/gone", world.Layers(base, w.Layer("gone child", world.SHA512Alias)))
	inner := w.Index("vi/ns/gone", []world.Image{child, one})
	outer := w.Index("vi/ns/gone", []world.Image{inner}, world.Tag("latest"))
	signature := w.Referrer("vi/ns/gone", child.Digest)
	w.FallbackTag("vi/ns/gone", child.Digest, []world.Image{signature})
	w.CosignTag("vi/ns/gone", outer.Digest, ".sig")
	w.Upload("vi/ns/gone", "33333333-0000-4000-8000-000000000000", w.Now().Add(-30*day), "more")
	w.Image("cvi/gone", world.Layers(w.Layer("cluster, gone")), world.Tag(uid(22)))
	w.Image("cvi/gone/nested", world.Layers(base), world.Tag("v1"))
}

// richDamage is broken in several ways, in repositories of several fates.
func richDamage(w *world.World, base world.Blob) {
	kept := w.Layer("beside damage")
	broken := w.Image("damaged", world.Layers(base, w.Layer("of an unreadable manifest")), world.Tag("broken"))
	w.Image("damaged", world.Layers(base, kept), world.Tag("v1"))
	w.Image("damaged", world.Layers(kept), world.Tag("empty"))
	w.Schema1("old", "v1")
	w.UnknownType("odd", "v1")
	torn := w.Image("vi/ns/broken", world.Layers(base, w.Layer("torn")), world.Tag(uid(31)))
	w.Image("vi/ns/broken", world.Layers(w.Layer("torn too")), world.Tag(uid(32)))
	w.TruncateBlob(broken.Digest)
	w.EmptyTagLink("damaged", "empty")
	w.CorruptBlob(torn.Digest)
	w.EmptyTagLink("vi/ns/broken", uid(32))
}

// unlimited asks without the limit: most of these worlds is garbage.
func unlimited(t testing.TB, w *world.World, owners string) trial.Question {
	t.Helper()
	q := trial.Ask(trial.Owners(t, owners), w.Now())
	q.Policy.MaxDeleteShare = policy.Share(100)
	return q
}
