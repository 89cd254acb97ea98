package retention

import (
	"time"

	"github.com/ebb-io/ebb/internal/reason"
)

// wait keeps what would go for as long as only time speaks for it.
func (j *judge) wait(d *Decision) {
	seen := j.Record.Images[d.Image.ID]
	if refused := j.Record.Refused[d.Image.ID]; refused.Until.After(j.Now) {
		d.waitUntil(refused.Until, because(reason.RefusedBefore, "%s", refused.Why))
	}
	if used := j.past(seen.LastUsed); !seen.LastUsed.IsZero() && used.Add(j.Policy.UnusedFor).After(j.Now) {
		d.waitUntil(used.Add(j.Policy.UnusedFor), because(reason.RecentlyUsed, "last used or pinned %s", written(used)))
	}
	if known := j.known(d, seen.FirstSeen); known.Add(j.Policy.MinAge).After(j.Now) {
		d.waitUntil(known.Add(j.Policy.MinAge), because(reason.TooYoung, "first seen %s", written(known)))
	}
}

// known is since when an image is known to be here: since the journal saw it
// first, or the engine recorded its pull. Unknown is now. Before there was a
// journal nobody noted what was needed, so that no image is older than that.
func (j *judge) known(d *Decision, firstSeen time.Time) time.Time {
	known, pulled, began := j.past(firstSeen), j.past(d.Image.Pulled), j.past(j.Record.Since)
	if pulled.Before(began) {
		pulled = began
	}
	if pulled.Before(known) {
		known = pulled
	}
	return known
}

// past is a time as far as it can be believed: no time, or one to come, is now.
func (j *judge) past(t time.Time) time.Time {
	if t.IsZero() || t.After(j.Now) {
		return j.Now
	}
	return t
}

func (d *Decision) waitUntil(t time.Time, why reason.Reason) {
	d.Delete = false
	d.Reasons = append(d.Reasons, why)
	if t.After(d.Until) {
		d.Until = t
	}
}

func written(t time.Time) string { return t.UTC().Format(time.RFC3339) }
