package rules

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// golden is a rule as the design shows it; tests change one thing in it.
func golden() Config {
	return Config{
		Name:       "golden-images",
		Resource:   Resource{Group: "example.org", Version: "v1", Resource: "goldenimages"},
		Repository: "golden/{namespace}/{name}",
		Tag:        "{uid}",
		NeededWhen: "object.status.phase != 'Ready'",
	}
}

func with(change func(*Config)) []Config {
	c := golden()
	change(&c)
	return []Config{c}
}

func TestConfigFieldNames(t *testing.T) {
	const text = `
- preset: virtualization
- preset: workloads
  hosts: [registry.example.org]
- name: golden-images
  resource: {group: example.org, version: v1, resource: goldenimages, kind: GoldenImage}
  repository: "golden/{namespace}/{name}"
  tag: "{uid}"
  neededWhen: "object.status.phase != 'Ready'"
`
	var got []Config
	if err := yaml.UnmarshalStrict([]byte(text), &got); err != nil {
		t.Fatal(err)
	}
	custom := golden()
	custom.Resource.Kind = "GoldenImage"
	want := []Config{{Preset: Virtualization}, {Preset: Workloads, Hosts: []string{"registry.example.org"}}, custom}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if _, err := Compile(got); err != nil {
		t.Errorf("the list in the design does not compile: %v", err)
	}
	if written, err := json.Marshal(want[0]); err != nil || string(written) != `{"preset":"virtualization"}` {
		t.Errorf("a preset is written as %s, %v", written, err)
	}
}

func TestCompileRefuses(t *testing.T) {
	tests := []struct {
		configs []Config
		want    []string // all of it, in one sentence
		reason  string
	}{
		{[]Config{{Preset: "virtualisation"}}, []string{"owners[0] (preset virtualisation)", "unknown", "virtualization, workloads"}, "a misspelt preset"},
		{[]Config{{Preset: Virtualization, Name: "x"}}, []string{"owners[0]", "name can not stand beside a preset"}, "a preset with a name"},
		{[]Config{{Preset: Virtualization, Tag: "{uid}"}}, []string{"tag can not stand beside a preset"}, "a preset with a tag"},
		{[]Config{{Preset: Workloads, Repository: "x/{name}"}}, []string{"repository can not stand beside a preset"}, "a preset with a repository"},
		{[]Config{{Preset: Workloads, NeededWhen: "true"}}, []string{"neededWhen can not stand beside a preset"}, "a preset with a condition"},
		{[]Config{{Preset: Workloads, Resource: Resource{Group: "x"}}}, []string{"resource can not stand beside a preset"}, "a preset with a resource"},
		{[]Config{{Preset: Virtualization, Hosts: []string{"r"}}}, []string{"hosts", "only the preset workloads"}, "hosts where they mean nothing"},
		{with(func(c *Config) { c.Hosts = []string{"r"} }), []string{"hosts", "only the preset workloads"}, "hosts in a rule"},
		{[]Config{{Preset: Workloads, Hosts: []string{"https://r.example.org"}}}, []string{`host "https://r.example.org"`}, "a host with a scheme would match nothing"},
		{[]Config{{Preset: Workloads, Hosts: []string{"r.example.org/team"}}}, []string{`host "r.example.org/team"`}, "a host with a path would match nothing"},
		{[]Config{{Preset: Workloads, Hosts: []string{""}}}, []string{`host ""`}, "an empty host"},
		{[]Config{{}}, []string{"owners[0]:", "name is missing"}, "an empty entry"},
		{with(func(c *Config) { c.Name = "" }), []string{"owners[0]:", "name is missing"}, "no name"},
		{with(func(c *Config) { c.Resource = Resource{} }), []string{"owners[0] (golden-images)", "resource.resource is missing"}, "no resource"},
		{with(func(c *Config) { c.Resource.Resource = "GoldenImage" }), []string{`"GoldenImage" is no plural name`}, "a kind in its place"},
		{with(func(c *Config) { c.Resource.Resource = "goldenimages.example.org" }), []string{"is no plural name", "resource.group"}, "the group in its name"},
		{with(func(c *Config) { c.Resource.Group = "example.org/v1" }), []string{`"example.org/v1" is no group`}, "an apiVersion as group"},
		{with(func(c *Config) { c.Repository = "" }), []string{"repository is missing"}, "no repository"},
		{with(func(c *Config) { c.Repository = "{namespace}/{name}" }), []string{"claims everything", `"golden/{namespace}/{name}"`}, "a pattern of variables alone"},
		{with(func(c *Config) { c.Repository = "{name}" }), []string{"claims everything"}, "the shortest of them"},
		{with(func(c *Config) { c.Repository = "golden" }), []string{"names no object"}, "a pattern without a variable"},
		{with(func(c *Config) { c.Repository = "golden/{namespace}-{name}" }), []string{"repository:", "can not be read backwards"}, "where does the namespace end"},
		{with(func(c *Config) { c.Repository = "golden/{name}/{name}" }), []string{"twice"}, "a variable twice"},
		{with(func(c *Config) { c.Repository = "golden/{team}" }), []string{"{team} is unknown"}, "an unknown variable"},
		{with(func(c *Config) { c.Repository = "Golden/{name}" }), []string{"builds no repository name"}, "no repository has upper case"},
		{with(func(c *Config) { c.Repository = "r.example.org:5000/golden/{name}" }), []string{"builds no repository name", "without a host"}, "a host in the path"},
		{with(func(c *Config) { c.Repository = "golden images/{name}" }), []string{"builds no repository name"}, "a space"},
		{with(func(c *Config) { c.Tag = "latest" }), []string{"tag:", "names no object"}, "a tag without a variable"},
		{with(func(c *Config) { c.Tag = "{name}" }), []string{"tag:", "does not tell objects of one name apart"}, "any tag would be another object's"},
		{with(func(c *Config) { c.Tag = "v/{uid}" }), []string{"tag:", "builds no tag"}, "a slash in a tag"},
		{with(func(c *Config) { c.Tag = "-{uid}" }), []string{"tag:", "builds no tag"}, "no tag starts with a dash"},
		{with(func(c *Config) { c.Tag = "{uid}{name}" }), []string{"tag:", "can not be read backwards"}, "two variables"},
		{with(func(c *Config) { c.NeededWhen = "object.status.phase !=" }), []string{"neededWhen:", "is not CEL", "column 23: it ends too early"}, "half an expression"},
		{with(func(c *Config) { c.NeededWhen = "phase == 'Ready'" }), []string{"neededWhen:", "undeclared reference to 'phase'"}, "an unknown variable"},
		{with(func(c *Config) { c.NeededWhen = "'yes'" }), []string{"neededWhen:", "of type string", "true or false"}, "a text"},
		{with(func(c *Config) { c.NeededWhen = "size(object.items)" }), []string{"of type int"}, "a number"},
		{[]Config{golden(), golden()}, []string{"owners[1] (golden-images)", "twice", "owners[0]"}, "a name twice"},
		{[]Config{{Preset: Workloads}, golden(), {Preset: Workloads}}, []string{"owners[2] (preset workloads)", "twice", "owners[0]"}, "a preset twice"},
	}
	for _, test := range tests {
		_, err := Compile(test.configs)
		if err == nil {
			t.Errorf("%s: no error", test.reason)
			continue
		}
		for _, want := range test.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %q lacks %q", test.reason, err, want)
			}
		}
		if strings.ContainsAny(err.Error(), "\n\t") {
			t.Errorf("%s: %q is more than a sentence", test.reason, err)
		}
	}
}

func TestCompileTakes(t *testing.T) {
	tests := map[string][]Config{
		"nothing":                     nil,
		"the design's rule":           {golden()},
		"no tag":                      with(func(c *Config) { c.Tag = "" }),
		"no condition":                with(func(c *Config) { c.NeededWhen = "" }),
		"text around the UID":         with(func(c *Config) { c.Tag = "v-{uid}" }),
		"the core API":                with(func(c *Config) { c.Resource = Resource{Version: "v1", Resource: "configmaps"} }),
		"text in one segment":         with(func(c *Config) { c.Repository = "img-{name}" }),
		"a namespace's repository":    with(func(c *Config) { c.Repository = "golden/{namespace}" }),
		"a field of any type":         with(func(c *Config) { c.NeededWhen = "object.spec.wanted" }),
		"functions on text":           with(func(c *Config) { c.NeededWhen = "object.metadata.name.lowerAscii() == 'x'" }),
		"hosts with and without port": {{Preset: Workloads, Hosts: []string{"registry", "r.example.org:5000", "[::1]:5000"}}},
	}
	for name, configs := range tests {
		if _, err := Compile(configs); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestDefault(t *testing.T) {
	r := Default()
	want := []Resource{
		{virtualizationGroup, "v1alpha2", "clustervirtualimages", "ClusterVirtualImage"},
		{virtualizationGroup, "v1alpha2", "virtualdisks", "VirtualDisk"},
		{virtualizationGroup, "v1alpha2", "virtualimages", "VirtualImage"},
	}
	if diff := cmp.Diff(want, r.Resources()); diff != "" {
		t.Errorf("resources (-want +got):\n%s", diff)
	}
	var patterns []string
	for _, rule := range NewCollector(r).Set().Rules {
		patterns = append(patterns, rule.Kind+" "+rule.Repository.String()+":"+rule.Tag.String())
	}
	wantPatterns := []string{
		"ClusterVirtualImage cvi/{name}:{uid}", "ClusterVirtualImage vi/{name}:{uid}",
		"VirtualImage vi/{namespace}/{name}:{uid}", "VirtualDisk vd/{namespace}/{name}:{uid}",
	}
	if diff := cmp.Diff(wantPatterns, patterns); diff != "" {
		t.Errorf("patterns (-want +got):\n%s", diff)
	}
	if !r.Workloads() {
		t.Error("workloads must protect by default")
	}
}

func TestWorkloadsClaimNothing(t *testing.T) {
	r, err := Compile([]Config{{Preset: Workloads}})
	if err != nil || len(r.Resources()) != 0 || len(NewCollector(r).Set().Rules) != 0 || !r.Workloads() {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestKinds: which resource an object belongs to follows Kubernetes' own guess.
func TestKinds(t *testing.T) {
	tests := []struct {
		resource, kind, object string
		want                   bool
	}{
		{"goldenimages", "", "GoldenImage", true},
		{"policies", "", "Policy", true},
		{"ingresses", "", "Ingress", true},
		{"boxes", "", "Box", true},
		{"endpoints", "", "Endpoints", true},
		{"goldenimages", "", "GoldenImages", false},
		{"goldenimages", "", "Golden", false},
		{"policies", "", "Policie", true}, // Kubernetes' guess can not tell
		{"indices", "Index", "Index", true},
		{"indices", "", "Index", false},
		{"goldenimages", "GoldenImage", "goldenimage", false},
		{"goldenimages", "", "", false},
	}
	for _, test := range tests {
		r := rule{resource: Resource{Group: "g", Resource: test.resource, Kind: test.kind}}
		if got := r.matches("g", test.object); got != test.want {
			t.Errorf("resource %s, kind %q: %q matches = %v", test.resource, test.kind, test.object, got)
		}
		if r.matches("other", test.object) {
			t.Errorf("%q of another group matches", test.object)
		}
	}
}
