package report

import (
	"fmt"
	"strconv"
	"time"

	"github.com/ebb-io/ebb/internal/policy"
)

// HostOptions is every choice that shapes a plan for a Docker host, in the form
// in which it was made. Paths are absolute.
type HostOptions struct {
	Pin            []string `json:"pin"`
	PinsFrom       []string `json:"pinsFrom"`
	Compose        []string `json:"compose"`
	PinRunning     bool     `json:"pinRunning"`
	Keep           []string `json:"keep"`
	KeepPrevious   int      `json:"keepPrevious"`
	KeepNewer      string   `json:"keepNewer"` // a number, or all
	MinAge         string   `json:"minAge"`
	UnusedFor      string   `json:"unusedFor"`
	RequireHealthy bool     `json:"requireHealthy"`
	QuietFor       string   `json:"quietFor"`
	MaxDeletes     string   `json:"maxDeletes"` // a number, or none
	MaxDeleteShare string   `json:"maxDeleteShare"`
}

// The words for a number that limits nothing.
const (
	AllNewer = "all"
	NoLimit  = "none"
)

// HostPolicyOptions writes a policy down, with no pins.
func HostPolicyOptions(h policy.Host, quietFor time.Duration) HostOptions {
	return HostOptions{
		Pin: []string{}, PinsFrom: []string{}, Compose: []string{}, Keep: texts(h.Keep),
		KeepPrevious: h.KeepPrevious, KeepNewer: Limit(h.KeepNewer, AllNewer), MinAge: Age(h.MinAge), UnusedFor: Age(h.UnusedFor),
		RequireHealthy: h.RequireHealthy, QuietFor: Age(quietFor),
		MaxDeletes: Limit(h.MaxDeletes, NoLimit), MaxDeleteShare: h.MaxDeleteShare.String(),
	}
}

// Policy reads the policy back, and for how long an engine must be quiet.
// Nothing in it is confirmed.
func (o HostOptions) Policy() (h policy.Host, quietFor time.Duration, err error) {
	h = policy.Host{KeepPrevious: o.KeepPrevious, RequireHealthy: o.RequireHealthy}
	for _, age := range []struct {
		name, text string
		to         *time.Duration
	}{{"minAge", o.MinAge, &h.MinAge}, {"unusedFor", o.UnusedFor, &h.UnusedFor}, {"quietFor", o.QuietFor, &quietFor}} {
		if *age.to, err = policy.ParseAge(age.text); err != nil {
			return h, 0, fmt.Errorf("%s: %w", age.name, err)
		}
	}
	if h.KeepNewer, err = ParseLimit(o.KeepNewer, AllNewer); err != nil {
		return h, 0, fmt.Errorf("keepNewer: %w", err)
	}
	if h.MaxDeletes, err = ParseLimit(o.MaxDeletes, NoLimit); err != nil {
		return h, 0, fmt.Errorf("maxDeletes: %w", err)
	}
	if h.MaxDeleteShare, err = policy.ParseShare(o.MaxDeleteShare); err != nil {
		return h, 0, fmt.Errorf("maxDeleteShare: %w", err)
	}
	if h.Keep, err = globs(o.Keep); err != nil {
		return h, 0, err
	}
	return h, quietFor, h.Validate()
}

// Limit writes a number, or the word for one that limits nothing.
func Limit(n int, unlimited string) string {
	if n == policy.Unlimited {
		return unlimited
	}
	return strconv.Itoa(n)
}

// ParseLimit reads what Limit writes.
func ParseLimit(s, unlimited string) (int, error) {
	if s == unlimited && s != "" {
		return policy.Unlimited, nil
	}
	n, err := strconv.ParseUint(s, 10, 31)
	switch {
	case err != nil && unlimited == "":
		return 0, fmt.Errorf("%q is no number: want 3", s)
	case err != nil:
		return 0, fmt.Errorf("%q is no number: want 3, or %s", s, unlimited)
	}
	return int(n), nil
}
