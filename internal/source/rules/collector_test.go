package rules

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ebb-io/ebb/internal/image"
	"github.com/ebb-io/ebb/internal/refs"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"
)

const (
	uidA = "aaaaaaaa-0000-4000-8000-000000000001"
	uidB = "bbbbbbbb-0000-4000-8000-000000000002"
)

func object(t testing.TB, text string) map[string]any {
	t.Helper()
	var o map[string]any
	if err := yaml.Unmarshal([]byte(text), &o); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return o
}

func compiled(t testing.TB, configs ...Config) *Rules {
	t.Helper()
	r, err := Compile(configs)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// collect adds objects that must all be recognized.
func collect(t testing.TB, r *Rules, objects ...map[string]any) *Collector {
	t.Helper()
	c := NewCollector(r)
	for _, o := range objects {
		if ok, err := c.Add(o); err != nil || !ok {
			t.Fatalf("Add(%v) = %v, %v", o, ok, err)
		}
	}
	return c
}

// virtual is an object of the platform; more is its spec and status, in YAML.
func virtual(t testing.TB, kind, namespace, name, uid, more string) map[string]any {
	o := object(t, "apiVersion: virtualization.deckhouse.io/v1alpha2\nkind: "+kind+"\n"+more)
	metadata := map[string]any{"name": name}
	if namespace != "" {
		metadata["namespace"] = namespace
	}
	if uid != "" {
		metadata["uid"] = uid
	}
	o["metadata"] = metadata
	return o
}

func TestOwners(t *testing.T) {
	r := compiled(t, Config{Preset: Virtualization})
	set := collect(t, r,
		virtual(t, "VirtualDisk", "n", "d", uidB, "status: {phase: Ready}"),
		virtual(t, "ClusterVirtualImage", "", "c", uidA, "status: {phase: Ready}"),
	).Set()
	want := []refs.Owner{
		{Rule: 0, Values: refs.Values{Name: "c", UID: uidA}, Detail: "phase Ready"},
		{Rule: 1, Values: refs.Values{Name: "c", UID: uidA}, Detail: "phase Ready"},
		{Rule: 3, Values: refs.Values{Namespace: "n", Name: "d", UID: uidB}, Done: true, Detail: "phase Ready: its disk is filled"},
	}
	if diff := cmp.Diff(want, set.Owners); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	for i, want := range []int{1, 1, 0, 1} {
		if set.Rules[i].Objects != want {
			t.Errorf("rule %s counts %d objects, want %d: one that is done counts too", set.Rules[i].Name, set.Rules[i].Objects, want)
		}
	}
}

func TestTerminatingObjectsLive(t *testing.T) {
	o := virtual(t, "ClusterVirtualImage", "", "c", uidA, "")
	o["metadata"].(map[string]any)["deletionTimestamp"] = "2026-01-02T03:04:05Z"
	set := collect(t, compiled(t, Config{Preset: Virtualization}), o).Set()
	if got := set.Owners[0]; got.Done || got.Detail != "it is being deleted" || set.Rules[0].Objects != 1 {
		t.Errorf("%+v: a finalizer may hold it while its image is in use", got)
	}
}

// verdict is what the first claim says of a tag.
func verdict(t *testing.T, set refs.Set, repository, tag string) refs.Verdict {
	t.Helper()
	claims := refs.NewIndex(set).Claims(repository)
	if len(claims) == 0 {
		t.Fatalf("%s is not claimed", repository)
	}
	return claims[0].Judge(tag)
}

func TestCustomRule(t *testing.T) {
	r := compiled(t, golden())
	tests := []struct {
		text       string
		recognized bool
		done       bool
		detail     string
		reason     string
	}{
		{"{apiVersion: example.org/v1, kind: GoldenImage, status: {phase: Ready}}", true, true, "phase Ready: neededWhen says that its image is not needed", "the condition is false"},
		{"{apiVersion: example.org/v2beta1, kind: GoldenImage, status: {phase: New}}", true, false, "phase New", "any version of the group"},
		{"{apiVersion: example.org/v1, kind: GoldenImage}", true, false, "needed, because neededWhen can not be told (no such key: status)", "doubt keeps"},
		{"{apiVersion: example.com/v1, kind: GoldenImage, status: {phase: Ready}}", false, false, "", "another group"},
		{"{apiVersion: v1, kind: GoldenImage, status: {phase: Ready}}", false, false, "", "the core group"},
		{"{apiVersion: example.org/v1, kind: Golden, status: {phase: Ready}}", false, false, "", "another kind"},
	}
	for _, test := range tests {
		o := object(t, test.text)
		o["metadata"] = map[string]any{"name": "a", "namespace": "n", "uid": uidA}
		c := NewCollector(r)
		recognized, err := c.Add(o)
		if err != nil || recognized != test.recognized {
			t.Errorf("%s: recognized %v, %v", test.reason, recognized, err)
		}
		set := c.Set()
		if recognized && (set.Owners[0].Done != test.done || set.Owners[0].Detail != test.detail || set.Rules[0].Kind != "GoldenImage") {
			t.Errorf("%s: %+v of kind %s", test.reason, set.Owners[0], set.Rules[0].Kind)
		}
	}
}

// TestCustomRuleReadsNoStatus: what the platform's status means is not known of
// other kinds.
func TestCustomRuleReadsNoStatus(t *testing.T) {
	o := object(t, "{apiVersion: example.org/v1, kind: GoldenImage, metadata: {name: a, namespace: ns}, status: {phase: New, target: {registryURL: h.x/golden/ns/a:1}}}")
	if got := collect(t, compiled(t, golden()), o).Set().References; len(got) != 0 {
		t.Errorf("%+v, want none", got)
	}
}

func TestConditionThatIsNoAnswerKeeps(t *testing.T) {
	tests := map[string]string{
		"object.spec.wanted":          "neither true nor false",
		"object.spec.wanted.more":     "needed, because",
		"object.spec.list[70] == 'x'": "needed, because",
		"!object.spec.list.all(a, object.spec.list.all(b, object.spec.list.all(c, object.spec.list.all(d, object.spec.list.all(e, true)))))": "cost limit",
	}
	for expression, want := range tests {
		c := golden()
		c.NeededWhen = expression
		var list []string
		for i := range 50 {
			list = append(list, fmt.Sprint(i))
		}
		o := object(t, "{apiVersion: example.org/v1, kind: GoldenImage, metadata: {name: a, namespace: ns}, spec: {wanted: soon, list: ["+strings.Join(list, ", ")+"]}}")
		got := collect(t, compiled(t, c), o).Set().Owners[0]
		if got.Done || !strings.Contains(got.Detail, want) {
			t.Errorf("%s: %+v, want it needed and %q", expression, got, want)
		}
	}
}

func TestAddRefusesWhatItCanNotPlace(t *testing.T) {
	tests := []struct{ text, want, reason string }{
		{"{apiVersion: example.org/v1, kind: GoldenImage}", "no metadata.name", "no metadata at all"},
		{"{apiVersion: example.org/v1, kind: GoldenImage, metadata: {name: 123, namespace: ns}}", "no metadata.name that is a text", "a name that is a number was not written by kubectl"},
		{"{apiVersion: example.org/v1, kind: GoldenImage, metadata: {name: a}}", "no metadata.namespace, which repository golden/{namespace}/{name} needs", "it would protect nothing"},
		{"{apiVersion: example.org/v1, kind: GoldenImage, metadata: {name: a, namespace: ns, uid: aaaaaaaa-0000-4000-8000-00000000000}}", "no lower-case UUID, so it was cut off", "a UID that was cut off"},
		{"{apiVersion: example.org/v1, kind: GoldenImage, metadata: {name: a, namespace: ns, uid: AAAAAAAA-0000-4000-8000-000000000001}}", "no lower-case UUID", "a UID in upper case"},
		{"{apiVersion: example.org/v1, kind: GoldenImage, metadata: {name: a, namespace: ns, uid: null}}", "no lower-case UUID", "a UID without a value"},
		{"{apiVersion: example.org/v1, kind: GoldenImage, metadata: {name: a, namespace: ns, uid: ''}}", "no lower-case UUID", "an empty UID"},
		{"{apiVersion: example.org/v1, kind: GoldenImage, metadata: {name: a, namespace: ns, uid: 7}}", "no lower-case UUID", "a UID that is a number"},
	}
	for _, test := range tests {
		_, err := NewCollector(compiled(t, golden())).Add(object(t, test.text))
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", test.reason, err, test.want)
		}
	}
}

func TestAddRefusesAMissingUIDOnlyWhereThePathNeedsIt(t *testing.T) {
	c := golden()
	o := object(t, "{apiVersion: example.org/v1, kind: GoldenImage, metadata: {name: a, namespace: ns}}")
	collect(t, compiled(t, c), o)
	c.Repository, c.Tag = "golden/{uid}", ""
	if _, err := NewCollector(compiled(t, c)).Add(o); err == nil || !strings.Contains(err.Error(), "no metadata.uid") {
		t.Errorf("%v, want it refused", err)
	}
}

func TestDuplicates(t *testing.T) {
	ready := virtual(t, "VirtualDisk", "n", "d", uidA, "status: {phase: Ready}")
	pending := virtual(t, "VirtualDisk", "n", "d", uidA, "status: {phase: Pending}")
	other := virtual(t, "VirtualDisk", "n", "d", uidB, "status: {phase: Ready}")
	r := compiled(t, Config{Preset: Virtualization})
	tests := []struct {
		objects         []map[string]any
		owners, counted int
		reason          string
	}{
		{[]map[string]any{ready, ready}, 1, 1, "the same twice is one"},
		{[]map[string]any{ready, pending, ready}, 2, 1, "two states of one object both count as owner, and as one object"},
		{[]map[string]any{ready, other}, 2, 2, "another UID is another object"},
	}
	for _, test := range tests {
		set := collect(t, r, test.objects...).Set()
		if len(set.Owners) != test.owners || set.Rules[3].Objects != test.counted {
			t.Errorf("%s: %d owners, %d objects", test.reason, len(set.Owners), set.Rules[3].Objects)
		}
	}
	set := collect(t, r, ready, pending).Set()
	if got := verdict(t, set, "vd/n/d", uidA); !got.Keep {
		t.Errorf("%+v: the state that needs the image must win", got)
	}
}

func TestSetIsACopy(t *testing.T) {
	c := collect(t, Default(), virtual(t, "VirtualImage", "n", "a", uidA, ""))
	c.Set().Owners[0].Name = "changed"
	c.Set().Rules[2].Objects = 7
	if set := c.Set(); set.Owners[0].Name != "a" || set.Rules[2].Objects != 1 {
		t.Errorf("a set shares its lists: %+v", set)
	}
}

func TestPropertyOrderDoesNotMatter(t *testing.T) {
	d := image.SHA256([]byte("x")).String()
	objects := []map[string]any{
		virtual(t, "VirtualDisk", "n", "d", uidA, "status: {phase: Ready}"),
		virtual(t, "VirtualDisk", "n", "d", uidA, "status: {phase: Pending}"),
		virtual(t, "VirtualImage", "n", "a", uidB, "spec: {dataSource: {objectRef: {kind: VirtualImage, name: b}}}"),
		virtual(t, "ClusterVirtualImage", "", "a", uidB, "status: {target: {registryURL: h.x/cvi/a:v1}}"),
		object(t, "{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: ns}, spec: {containers: [{image: nginx}, {image: 'web@"+d+"'}, {image: 'B A D'}]}}"),
		object(t, "{apiVersion: v1, kind: Pod, metadata: {name: q, namespace: ns}, spec: {containers: [{image: nginx}, {image: 'w e b'}]}}"),
	}
	want := collect(t, Default(), objects...)
	rapid.Check(t, func(rt *rapid.T) {
		got := collect(t, Default(), rapid.Permutation(objects).Draw(rt, "order")...)
		if diff := cmp.Diff(want.Set(), got.Set(), cmp.Comparer(func(a, b refs.Pattern) bool { return a.String() == b.String() }), cmp.Comparer(func(a, b image.Digest) bool { return a == b })); diff != "" {
			rt.Fatalf("-want +got:\n%s", diff)
		}
		if diff := cmp.Diff(want.Warnings(), got.Warnings()); diff != "" {
			rt.Fatalf("warnings (-want +got):\n%s", diff)
		}
	})
}

func TestWarningsAreBoundedAndSorted(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(0, 120).Draw(rt, "n")
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf("%03d", i))
		}
		c := NewCollector(Default())
		for _, text := range rapid.Permutation(append(all, all...)).Draw(rt, "order") {
			c.Warn(text)
		}
		want := all
		if n > maxWarnings {
			want = append(all[:maxWarnings:maxWarnings], "only the first 50 warnings are shown")
		}
		if diff := cmp.Diff(want, c.Warnings()); n > 0 && diff != "" {
			rt.Fatalf("-want +got:\n%s", diff)
		}
	})
}
