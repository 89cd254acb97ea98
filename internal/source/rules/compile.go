package rules

import (
	"fmt"
	"strings"

	"github.com/ebb-io/ebb/internal/refs"
)

// Compile checks a list of owners and prepares it. An error names the entry,
// says what is wrong with it and what to write instead.
func Compile(configs []Config) (*Rules, error) {
	r := &Rules{hosts: map[string]bool{}}
	for i, c := range configs {
		err := duplicate(configs, i)
		if err == nil {
			err = r.add(c)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", where(i, c), err)
		}
	}
	return r, nil
}

// Default is what holds without a list of owners: the preset virtualization,
// which claims, and workloads, which only protects.
func Default() *Rules {
	r, err := Compile([]Config{{Preset: Virtualization}, {Preset: Workloads}})
	if err != nil {
		panic("rules: the presets do not compile: " + err.Error())
	}
	return r
}

func (r *Rules) add(c Config) error {
	if c.Preset == "" {
		return r.addRule(definition{Config: c, done: "neededWhen says that its image is not needed"})
	}
	if err := validatePreset(c); err != nil {
		return err
	}
	if c.Preset == Workloads {
		r.workloads = true
		for _, h := range c.Hosts {
			r.hosts[canonicalHost(h)] = true
		}
	}
	definitions, _ := preset(c.Preset)
	for _, d := range definitions {
		if err := r.addRule(d); err != nil {
			return err
		}
	}
	return nil
}

func (r *Rules) addRule(d definition) error {
	if err := validateCustom(d.Config); err != nil {
		return err
	}
	repository, err := repositoryPattern(d.Repository)
	if err != nil {
		return err
	}
	tag, err := tagPattern(d.Tag)
	if err != nil {
		return err
	}
	needed, err := compileCondition(d.NeededWhen)
	if err != nil {
		return fmt.Errorf("neededWhen: %w", err)
	}
	kind := d.Resource.Kind
	if kind == "" {
		kind = d.Resource.Resource
	}
	r.rules = append(r.rules, rule{
		Rule:     refs.Rule{Name: d.Name, Kind: kind, Repository: repository, Tag: tag, Shortened: d.shortened},
		resource: d.Resource,
		needed:   needed,
		done:     d.done,
		imported: d.imported,
	})
	return nil
}

// canonicalHost writes Docker Hub in one way, and any host in lower case.
func canonicalHost(h string) string {
	switch h = strings.ToLower(h); h {
	case "", "index.docker.io", "registry-1.docker.io":
		return dockerHub
	}
	return h
}

const dockerHub = "docker.io"
