package policy

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Share is a part of a whole in per cent, 0 to 100.
type Share float64

// ParseShare reads "50%"; the sign may be left out.
func ParseShare(s string) (Share, error) {
	value, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(s, "%")), 64)
	if err != nil || math.IsNaN(value) || value < 0 || value > 100 {
		return 0, fmt.Errorf("share %q: want a value between 0%% and 100%%", s)
	}
	return Share(value), nil
}

// String writes the share as ParseShare reads it.
func (s Share) String() string { return strconv.FormatFloat(float64(s), 'f', -1, 64) + "%" }

// Exceeded tells whether part is more of the whole than the share allows.
func (s Share) Exceeded(part, whole int64) bool {
	return whole > 0 && float64(part)*100 > float64(s)*float64(whole)
}

// Excess is a limit that a plan is over.
type Excess struct {
	What        string // such as images or bytes
	Part, Whole int64
	Allowed     string // the share, as it is written
}

// Text says what would be done, such as deleted, to too many.
func (e Excess) Text(done string) string {
	return fmt.Sprintf("%d of %d %s (%.0f%%) would be %s, max-delete-share allows %s",
		e.Part, e.Whole, e.What, float64(e.Part)*100/float64(e.Whole), done, e.Allowed)
}

// Excess is what the share is exceeded by; nothing where it is not.
func (s Share) Excess(what string, part, whole int64) []Excess {
	if !s.Exceeded(part, whole) {
		return nil
	}
	return []Excess{{What: what, Part: part, Whole: whole, Allowed: s.String()}}
}

// ParseAge reads a duration as Go writes it, and whole days as "30d".
func ParseAge(s string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(s, "d"); ok {
		n, err := strconv.ParseUint(days, 10, 32)
		const day = 24 * time.Hour
		if err != nil || n > uint64(math.MaxInt64/day) {
			return 0, fmt.Errorf("age %q: want a number of days such as 30d", s)
		}
		return time.Duration(n) * day, nil
	}
	age, err := time.ParseDuration(s)
	if err != nil || age < 0 {
		return 0, fmt.Errorf("age %q: want a duration such as 1h, 90m or 30d", s)
	}
	return age, nil
}
