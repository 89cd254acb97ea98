package engines

import (
	"math/rand/v2"
	"testing"

	"github.com/ebb-io/ebb/internal/engine"
	"github.com/ebb-io/ebb/internal/testkit/engines"
)

// layerBytes is what a layer of these tests has, far above what an engine's own
// files come to.
const layerBytes = 8 << 20

// What a run frees is what was promised, and what the disk then shows. A layer
// that also an image has which stays is in neither; one that only images have
// which go is no single one's, so that it is not promised.
func TestBytesThatARunFreesOnARealEngine(t *testing.T) {
	for kind, copies := range map[engine.StoreKind]int64{engine.GraphDriver: 1, engine.Containerd: 2} { // as files, and as they were loaded
		t.Run(string(kind), func(t *testing.T) {
			e := engines.StartIn(t, engines.OwnDisk(t), kind)
			e.Load(t, engines.Image(t, noise(0), noise(1), noise(2)), "example.org/big:1.0.0")
			e.Load(t, engines.Image(t, noise(0), noise(1), noise(3)), "example.org/big:1.1.0")
			e.Load(t, engines.Image(t, noise(0), noise(4)), "example.org/big:1.2.0")
			e.Load(t, engines.Image(t, noise(0), noise(5)), "example.org/big:1.3.0")
			d := newEbb(t, e).run(t, "--pin", "example.org/big:1.3.0", "--min-age", "0s")
			d.deleted(t, e, "example.org/big:1.0.0", "example.org/big:1.1.0")
			about(t, "promised", d.Totals.ReclaimableBytes, 2*copies*layerBytes)
			about(t, "freed", d.FreedBytes, 2*copies*layerBytes)
			if about(t, "measured", d.MeasuredFreedBytes, 3*copies*layerBytes); !d.Measured {
				t.Error("it was not measured")
			}
			whole(t, e, "example.org/big:1.2.0", "example.org/big:1.3.0")
		})
	}
}

// about allows for manifests, and for what the engine writes for itself.
func about(t *testing.T, what string, got, want int64) {
	t.Helper()
	if got < want-layerBytes/8 || got > want+layerBytes/8 {
		t.Errorf("%s %d bytes and not about %d", what, got, want)
	}
}

// noise can not be packed.
func noise(seed uint64) string {
	data := make([]byte, layerBytes)
	_, _ = rand.NewChaCha8([32]byte{byte(seed)}).Read(data) // it never fails
	return string(data)
}
