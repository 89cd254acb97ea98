package cli_test

import (
	"time"

	"github.com/ebb-io/ebb/internal/testkit/world"
)

// now is the clock of every world and script.
var now = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)

// The UIDs that tags of machine images carry, and the owners in scripts.
const (
	uidWeb    = "11111111-1111-4111-8111-111111111111"
	uidOld    = "22222222-2222-4222-8222-222222222222"
	uidStale  = "33333333-3333-4333-8333-333333333333"
	uidFresh  = "44444444-4444-4444-8444-444444444444"
	uidDisk   = "55555555-5555-4555-8555-555555555555"
	uidUbuntu = "66666666-6666-4666-8666-666666666666"
	uidCopy   = "77777777-7777-4777-8777-777777777777"
	uidMulti  = "88888888-8888-4888-8888-888888888888"
)

// worlds are the storages that scripts ask for by name.
var worlds = map[string]func(*world.World){
	"machines": machines,
	"damaged": func(w *world.World) {
		machines(w)
		w.RemoveBlob(world.Digest(world.Random(1, 300<<10)))        // the layer of vi/prod/web
		w.TruncateBlob(world.Digest(world.Random(6, 500<<10)))      // the shared one of cvi/ubuntu
		w.EmptyTagLink("apps/web", "v0")                            // a tag that can not be read
		w.CorruptBlob(world.Digest("config of apps/web linux/arm")) // only --deep sees it
	},
	"mendable":  mendable,
	"odd":       func(w *world.World) { w.Schema1("legacy", "v1") },
	"empty":     func(*world.World) {},
	"lostfound": func(w *world.World) { w.File("lost+found/#12", "") },
	"bare":      func(w *world.World) { w.EmptyRepository("nothing") },
	"foreign":   func(w *world.World) { w.File("photos/cat.jpg", "meow") },
	"inside":    func(w *world.World) { w.File("repositories/a/_layers/x", ""); w.File("blobs/sha256/x", "") },
	"lost":      func(w *world.World) { w.OrphanBlob("nobody's"); w.RemoveDir(world.Root + "/repositories") },
	"hostile":   hostile,
	"garbage":   func(w *world.World) { w.OrphanBlob(world.Random(40, 9000)) },
	"dotted": func(w *world.World) {
		w.Image("a.b/x", world.Tag("v1"), world.ConfigText("x"))
	},
	"untagged": func(w *world.World) {
		w.Image("apps/tool", world.Tag("v1"), world.Layers(w.Layer(world.Random(20, 4<<10))))
		for i := range 3 {
			w.Image("apps/tool", world.Layers(w.Layer(world.Random(uint64(30+i), 2<<10))))
		}
	},
}

// machines is the world of most scripts: images with owners of every kind, an
// application that nobody claims, and what is left over.
func machines(w *world.World) {
	disk := func(seed uint64, size int) world.Option { return world.Layers(w.Layer(world.Random(seed, size))) }
	w.Image("vi/prod/web", world.Tag(uidWeb), disk(1, 300<<10))
	w.Image("vi/prod/old", world.Tag(uidOld), disk(2, 700<<10))
	w.Image("vi/prod/db", world.Tag(uidStale), disk(3, 200<<10))
	w.Image("vi/prod/db", world.Tag(uidFresh), disk(4, 200<<10))
	w.Image("vd/prod/disk", world.Tag(uidDisk), disk(5, 100<<10))
	ubuntu := disk(6, 500<<10)
	w.Image("cvi/ubuntu", world.Tag(uidUbuntu), ubuntu)
	w.Image("vi/prod/copy", world.Tag(uidCopy), ubuntu, world.ConfigText("copy"))
	child := w.Image("vi/prod/multi", disk(7, 50<<10))
	w.Index("vi/prod/multi", []world.Image{child}, world.Tag(uidMulti))
	application(w)
	w.Upload("vi/prod/web", "0aa8ed90-upload", now.Add(-30*24*time.Hour), world.Random(9, 64<<10))
	w.OrphanBlob(world.Random(10, 10<<10))
}

func application(w *world.World) {
	base := w.Layer(world.Random(11, 80<<10))
	platform := func(arch string) world.Image {
		return w.Image("apps/web", world.Layers(base), world.ConfigText("config of apps/web linux/"+arch), world.Platform("linux", arch))
	}
	v1 := w.Index("apps/web", []world.Image{platform("amd64"), platform("arm")}, world.Tag("v1"))
	w.CosignTag("apps/web", v1.Digest, ".sig")
	w.Image("apps/web", world.Tag("v0"), world.Layers(w.Layer(world.Random(12, 20<<10))))
}

// mendable has what a repair mends without a person, beside what is whole.
func mendable(w *world.World) {
	machines(w)
	base := w.Layer(world.Random(11, 80<<10))
	gone := w.Image("apps/web", world.Layers(base), world.ConfigText("gone"), world.Tag("gone"))
	w.RemoveBlob(gone.Digest)
	empty := w.Image("apps/web", world.Layers(base), world.ConfigText("empty"), world.Tag("empty"))
	w.EmptyRevisionLink("apps/web", empty.Digest)
	w.OrphanLayerLink("apps/web", world.Digest("gone long ago"))
	w.File(world.RevisionLink("apps/web", empty.Digest)+".0198c9a2-7b1e-7c3d-9f4a-1234567890ab.tmp", "left")
}

// hostile has names that a terminal would obey.
func hostile(w *world.World) {
	w.Image("apps/ok", world.Tag("v1"))
	w.Image("apps/ok", world.Tag("evil\x1b[2Jtag"), world.ConfigText("evil"))
	w.Image("cvi/\x1b]0;title\x07\x1b[31mred", world.Tag("v1"), world.ConfigText("red"))
	w.Image("cvi/\u202egnp.exe", world.Tag("v1"), world.ConfigText("bidi"))
	w.Image("cvi/new\nline", world.Tag("v1"), world.ConfigText("line"))
	w.Image("cvi/\x1b]0;title\x07\x1b[31mred", world.ConfigText("red untagged"))
	w.Image("cvi/new\nline", world.ConfigText("line untagged"))
	w.Image("cvi/gone", world.Tag("\x1b[31mgone"), world.ConfigText("gone"))
	w.Image("(content of no image)", world.Tag("v1"), world.ConfigText("no group"))
	w.OrphanBlob("nobody's", world.Age(0))
}
