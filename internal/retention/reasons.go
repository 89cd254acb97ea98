package retention

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/ebb-io/ebb/internal/image"
	"github.com/ebb-io/ebb/internal/reason"
)

func because(code reason.Code, format string, args ...any) reason.Reason {
	return reason.Reason{Code: code, Detail: fmt.Sprintf(format, args...)}
}

func (d *Decision) keep(code reason.Code, format string, args ...any) {
	d.Delete = false
	d.Reasons = append(d.Reasons, because(code, format, args...))
}

// strength orders the reasons of one image: what would hurt most first, what
// merely delays last.
func strength(code reason.Code) int {
	return slices.Index([]reason.Code{
		reason.Unreadable, reason.InUse, reason.KeptByPolicy, reason.OtherRepository, reason.OtherStream, reason.NotAVersion,
		reason.Pinned, reason.NewerThanPin, reason.PreviousOfPin, reason.PinMissing, reason.Unclaimed,
		reason.RecentlyUsed, reason.AgeUnknown, reason.TooYoung, reason.RefusedBefore, reason.DigestOnly,
		reason.OlderThanPrevious, reason.Untagged,
	}, code)
}

// compare orders decisions by repository, then the oldest version first, then
// ID.
func compare(a, b Decision) int {
	va, vb := lowest(a), lowest(b)
	return cmp.Or(
		cmp.Compare(place(a), place(b)),
		cmp.Compare(va.Stream().String(), vb.Stream().String()),
		va.Compare(vb),
		a.Image.ID.Compare(b.Image.ID))
}

// place is the repository that a decision is shown under.
func place(d Decision) string {
	if d.Repository != "" {
		return d.Repository
	}
	if home := homes(d.Image); len(home) > 0 {
		return home[0]
	}
	return ""
}

// lowest is the lowest of an image's versions; without one, none.
func lowest(d Decision) image.Version {
	var found image.Version
	for _, n := range d.Image.Names {
		v, ok := n.Version()
		if ok && (found.String() == "" || v.Compare(found) < 0) {
			found = v
		}
	}
	return found
}
