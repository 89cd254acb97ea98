package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/ebb-io/ebb/internal/inventory"
)

// Fingerprint is the same for two plans exactly when they delete the same
// items in the same order: the sha256 sum of all of them in hexadecimal digits.
func (p *Plan) Fingerprint() string {
	h := sha256.New()
	for number, phase := range p.Steps(nil) {
		for _, item := range phase {
			writeItem(h, number, item)
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

// writeItem never fails, as a hash does not.
func writeItem(w interface{ Write([]byte) (int, error) }, phase int, item inventory.Item) {
	_, _ = fmt.Fprintf(w, "%d %d %q %q %q %q %s %d\n",
		phase, item.Kind, item.Repository, item.Tag, item.Path, item.Upload, item.Digest, item.Size)
}
