package rules

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/ebb-io/ebb/internal/refs"
)

// Config is one entry of a configuration's list of owners: a preset by its
// name, or a rule of one's own.
type Config struct {
	Preset string `json:"preset,omitempty" yaml:"preset,omitempty"`
	// Hosts limits the preset workloads to references that name one of these
	// registry hosts; none means any.
	Hosts []string `json:"hosts,omitempty" yaml:"hosts,omitempty"`

	Name       string   `json:"name,omitempty" yaml:"name,omitempty"`
	Resource   Resource `json:"resource,omitzero" yaml:"resource,omitempty"`
	Repository string   `json:"repository,omitempty" yaml:"repository,omitempty"`
	Tag        string   `json:"tag,omitempty" yaml:"tag,omitempty"`
	// NeededWhen is a CEL expression over "object"; empty means always.
	NeededWhen string `json:"neededWhen,omitempty" yaml:"neededWhen,omitempty"`
}

// Resource names a kind of object as the Kubernetes API does. The group of the
// core API is empty. Kind is needed only where it can not be told from the
// resource's name.
type Resource struct {
	Group    string `json:"group,omitempty" yaml:"group,omitempty"`
	Version  string `json:"version,omitempty" yaml:"version,omitempty"`
	Resource string `json:"resource,omitempty" yaml:"resource,omitempty"`
	Kind     string `json:"kind,omitempty" yaml:"kind,omitempty"`
}

// where names an entry of the list in errors.
func where(index int, c Config) string {
	name := c.Name
	if c.Preset != "" {
		name = "preset " + c.Preset
	}
	if name == "" {
		return fmt.Sprintf("owners[%d]", index)
	}
	return fmt.Sprintf("owners[%d] (%s)", index, name)
}

// validatePreset checks an entry that names a preset.
func validatePreset(c Config) error {
	if _, ok := preset(c.Preset); !ok {
		return fmt.Errorf("preset %q is unknown: write one of %s", c.Preset, strings.Join(presetNames(), ", "))
	}
	for _, field := range customFields(c) {
		if field.set {
			return fmt.Errorf("%s can not stand beside a preset: drop it, or write a rule without preset", field.name)
		}
	}
	if len(c.Hosts) > 0 && c.Preset != Workloads {
		return fmt.Errorf("hosts has no meaning here: only the preset %s takes it, so drop it", Workloads)
	}
	return validateHosts(c.Hosts)
}

type field struct {
	name string
	set  bool
}

func customFields(c Config) []field {
	return []field{
		{"name", c.Name != ""},
		{"resource", c.Resource != Resource{}},
		{"repository", c.Repository != ""},
		{"tag", c.Tag != ""},
		{"neededWhen", c.NeededWhen != ""},
	}
}

// hostName is the host of an image's name, with its port.
var hostName = regexp.MustCompile(`^(\[[0-9a-fA-F:]+\]|[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?)(:[0-9]+)?$`)

func validateHosts(hosts []string) error {
	for _, h := range hosts {
		if !hostName.MatchString(h) {
			return fmt.Errorf("host %q is none: write it as in an image's name, such as registry.example.org:5000", h)
		}
	}
	return nil
}

// validateCustom checks the form of a rule of one's own; patterns and the
// expression are checked where they are compiled.
func validateCustom(c Config) error {
	switch {
	case c.Name == "":
		return errors.New("name is missing: give the rule a name, or write preset")
	case len(c.Hosts) > 0:
		return fmt.Errorf("hosts has no meaning here: only the preset %s takes it, so drop it", Workloads)
	case c.Resource.Resource == "":
		return errors.New("resource.resource is missing: write the plural name that kubectl api-resources shows")
	case c.Resource.Resource != strings.ToLower(c.Resource.Resource) || strings.ContainsAny(c.Resource.Resource, "/. "):
		return fmt.Errorf("resource.resource %q is no plural name: write it in lower case as kubectl api-resources shows it, with its group under resource.group", c.Resource.Resource)
	case strings.ContainsAny(c.Resource.Group, "/ "):
		return fmt.Errorf("resource.group %q is no group: write it without the version, which belongs under resource.version", c.Resource.Group)
	case c.Repository == "":
		return errors.New(`repository is missing: write a pattern such as "golden/{namespace}/{name}"`)
	}
	return nil
}

// sample stands for any object when the form of a pattern is checked.
func sample() refs.Values {
	return refs.Values{Namespace: "a", Name: "a", UID: "00000000-0000-0000-0000-000000000000"}
}

var (
	// repositoryName is one of the OCI distribution specification.
	repositoryName = regexp.MustCompile(`^[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*(/[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*)*$`)
	// tagName is one of the same specification.
	tagName = regexp.MustCompile(`^[a-zA-Z0-9_][a-zA-Z0-9._-]{0,127}$`)
)

func repositoryPattern(text string) (refs.Pattern, error) {
	p, err := refs.ParsePattern(text)
	if err != nil {
		return refs.Pattern{}, fmt.Errorf("repository: %w", err)
	}
	if !p.HasLiteral() {
		return refs.Pattern{}, fmt.Errorf("repository: pattern %q claims everything: put fixed text in it, such as \"golden/%s\"", text, text)
	}
	if built, ok := p.Build(sample()); !ok || !repositoryName.MatchString(built) {
		return refs.Pattern{}, fmt.Errorf("repository: pattern %q builds no repository name: write lower-case letters, digits and single separators, without a host", text)
	}
	return p, nil
}

// tagPattern reads a rule's tag. Only a UID tells the tag of an earlier object
// from one that somebody chose, so a tag without it would let those be deleted.
func tagPattern(text string) (refs.Pattern, error) {
	if text == "" {
		return refs.Pattern{}, nil
	}
	p, err := refs.ParsePattern(text)
	if err != nil {
		return refs.Pattern{}, fmt.Errorf("tag: %w", err)
	}
	if !p.Uses("{uid}") {
		return refs.Pattern{}, fmt.Errorf("tag: pattern %q does not tell objects of one name apart: write {uid} in it, or drop it and every tag follows its owner", text)
	}
	if built, ok := p.Build(sample()); !ok || !tagName.MatchString(built) {
		return refs.Pattern{}, fmt.Errorf("tag: pattern %q builds no tag: write letters, digits, dots, underscores and dashes around {uid}", text)
	}
	return p, nil
}

// duplicate finds a name or a preset that an earlier entry has.
func duplicate(configs []Config, index int) error {
	c := configs[index]
	same := func(o Config) bool { return o.Preset == c.Preset && o.Name == c.Name }
	if at := slices.IndexFunc(configs[:index], same); at >= 0 {
		return fmt.Errorf("stands in the list twice (also as owners[%d]): drop one or rename it", at)
	}
	return nil
}
