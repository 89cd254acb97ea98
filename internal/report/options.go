package report

import (
	"fmt"
	"strings"
	"time"

	"github.com/ebb-io/ebb/internal/policy"
)

// Options is every choice that shapes a plan, in the form in which it was
// made. Paths are absolute.
type Options struct {
	MinAge         string      `json:"minAge"`
	UploadAge      string      `json:"uploadAge"`
	DeleteUntagged bool        `json:"deleteUntagged"`
	UntaggedAge    string      `json:"untaggedAge"`
	MaxDeleteShare string      `json:"maxDeleteShare"`
	Repository     []string    `json:"repository"`
	Exclude        []string    `json:"exclude"`
	Keep           []string    `json:"keep"`
	Owners         []string    `json:"owners"` // files and folders with objects
	OwnerRules     []OwnerRule `json:"ownerRules"`
}

// OwnerRule is one owner rule in force.
type OwnerRule struct {
	Preset     string   `json:"preset"`
	Hosts      []string `json:"hosts"`
	Name       string   `json:"name"`
	Resource   Resource `json:"resource"`
	Repository string   `json:"repository"`
	Tag        string   `json:"tag"`
	NeededWhen string   `json:"neededWhen"`
}

// Resource is the kind of object that a rule names.
type Resource struct {
	Group    string `json:"group"`
	Version  string `json:"version"`
	Resource string `json:"resource"`
	Kind     string `json:"kind"`
}

// PolicyOptions writes a policy down.
func PolicyOptions(p policy.Policy) Options {
	return Options{
		MinAge: Age(p.MinAge), UploadAge: Age(p.UploadAge), UntaggedAge: Age(p.UntaggedAge),
		DeleteUntagged: p.DeleteUntagged, MaxDeleteShare: p.MaxDeleteShare.String(),
		Repository: texts(p.Scope.Include), Exclude: texts(p.Scope.Exclude),
		Keep: []string{}, Owners: []string{}, OwnerRules: []OwnerRule{},
	}
}

// Policy reads the policy back. Nothing in it is confirmed.
func (o Options) Policy() (policy.Policy, error) {
	p := policy.Policy{DeleteUntagged: o.DeleteUntagged}
	var err error
	for _, age := range []struct {
		name, text string
		to         *time.Duration
	}{
		{"minAge", o.MinAge, &p.MinAge}, {"uploadAge", o.UploadAge, &p.UploadAge}, {"untaggedAge", o.UntaggedAge, &p.UntaggedAge},
	} {
		if *age.to, err = policy.ParseAge(age.text); err != nil {
			return p, fmt.Errorf("%s: %w", age.name, err)
		}
	}
	if p.MaxDeleteShare, err = policy.ParseShare(o.MaxDeleteShare); err != nil {
		return p, fmt.Errorf("maxDeleteShare: %w", err)
	}
	if p.Scope.Include, err = globs(o.Repository); err != nil {
		return p, err
	}
	if p.Scope.Exclude, err = globs(o.Exclude); err != nil {
		return p, err
	}
	return p, p.Validate()
}

func globs(texts []string) ([]policy.Glob, error) {
	var found []policy.Glob
	for _, text := range texts {
		g, err := policy.ParseGlob(text)
		if err != nil {
			return nil, err
		}
		found = append(found, g)
	}
	return found, nil
}

func texts(globs []policy.Glob) []string {
	found := make([]string, len(globs))
	for i, g := range globs {
		found[i] = g.String()
	}
	return found
}

// Age writes a duration in the shortest form that policy.ParseAge reads.
func Age(d time.Duration) string {
	const day = 24 * time.Hour
	if d > 0 && d%day == 0 {
		return fmt.Sprintf("%dd", d/day)
	}
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
