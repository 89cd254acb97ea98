package manifests

import (
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// kubectlList is a list with owners and a Pod in the middle of it, as kubectl
// writes it.
func kubectlList(t *testing.T) string {
	t.Helper()
	content, err := os.ReadFile("testdata/kubectl/list.yaml")
	if err != nil {
		t.Fatal(err)
	}
	head, tail, found := strings.Cut(string(content), "\nkind: List\n")
	if !found {
		t.Fatal("the list does not end as kubectl ends it")
	}
	last := strings.ReplaceAll(diskYAML, "namespace: team", "namespace: team, uid: dddddddd-0000-4000-8000-000000000004")
	return head + "\n" + asItem(podYAML, "") + asItem(last, "") + "kind: List\n" + tail
}

// asJSON writes a list in JSON, indented as kubectl does or in one line.
func asJSON(t *testing.T, list, indent string) string {
	t.Helper()
	value, err := decode([]byte(list))
	if err != nil {
		t.Fatal(err)
	}
	content, err := json.MarshalIndent(value, "", indent)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// found is all that a text holds, UIDs too.
func found(text string) ([]string, error) {
	e, err := parse([]byte(text))
	if err != nil {
		return nil, err
	}
	set := e.collector.Set()
	all := seen(set)
	for _, o := range set.Owners {
		all = append(all, o.UID)
	}
	return all, nil
}

// TestCutOffAnywhere: no beginning of a list passes for less than the whole,
// wherever it ends.
func TestCutOffAnywhere(t *testing.T) {
	list := kubectlList(t)
	indented := asJSON(t, list, "    ")
	header := "{\n    \"apiVersion\": \"v1\",\n"
	forms := map[string]string{
		"YAML":                     list,
		"YAML with CRLF":           strings.ReplaceAll(list, "\n", "\r\n"),
		"JSON":                     indented + "\n",
		"JSON with CRLF":           strings.ReplaceAll(indented, "\n", "\r\n"),
		"JSON in one line":         asJSON(t, list, ""),
		"JSON with the kind first": strings.Replace(strings.Replace(indented, ",\n    \"kind\": \"List\"", "", 1), header, header+"    \"kind\": \"List\",\n", 1),
	}
	for name, text := range forms {
		want, err := found(text)
		if err != nil || len(want) < 10 {
			t.Fatalf("%s: the whole holds %q, %v", name, want, err)
		}
		for n := range len(text) {
			got, err := found(text[:n])
			if err != nil {
				if !errors.Is(err, ErrIncomplete) {
					t.Fatalf("%s cut off after %d bytes: %v, want ErrIncomplete", name, n, err)
				}
				continue
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("%s cut off after %d bytes is taken for the whole (-want +got):\n%s", name, n, diff)
			}
		}
	}
}

func TestCutOff(t *testing.T) {
	item := asItem(diskYAML, "")
	tests := []struct{ text, want, reason string }{
		{strings.TrimSuffix(diskYAML, "\n"), "it does not end with a line break, so it may be cut off: write it again", "YAML that ends in a brace"},
		{diskYAML + "# x", "line break", "a comment at the end"},
		{"apiVersion: v1\nitems:\n" + item + "kind: List", "line break", "a list without its last line break"},
		{"apiVersion: v1\r\nitems: []\r\nkind: List\r", "line break", "half a line break"},
		{diskJSON + "\n---\n" + strings.TrimSuffix(podYAML, "\n"), "line break", "YAML behind JSON"},
		{diskJSON + "\n---", "line break", "a marker behind JSON"},
		{"apiVersion: v1\nkind: List\nitems:\n" + item, "document 1: is a list whose kind stands before its items, so it can not show that it was cut off: write the list as kubectl does, kind behind the items, or as JSON", "the kind first"},
		{"kind: VirtualDiskList\napiVersion: x/v1\nmetadata: {}\nitems: []\n", "kind stands before", "a list of one kind, in one line"},
		{"apiVersion: v1\n\"kind\": List\n\"items\":\n" + item, "kind stands before", "quoted keys"},
		{diskYAML + "---\napiVersion: v1\nkind: List\nitems:\n" + item, "document 2: is a list whose kind", "in a later document"},
		{"apiVersion: v1\nitems:\nkind: List\n", "document 1: has items without a value, so it may be cut off", "YAML items without a value"},
		{"apiVersion: v1\nitems: null\nkind: List\n", "items: [] where there are none", "YAML items that are null"},
		{`{"apiVersion": "v1", "items": null, "kind": "List"}`, "items without a value", "JSON items that are null"},
		{"apiVersion: x/v1\nkind: VirtualDiskList\nmetadata:\n  resourceVersion: \"1\"\n", "a list without items", "a list of one kind, cut off before its items"},
		{"apiVersion: virtualization.deckhouse.io/v1alpha2\nkind: VirtualDisk\nmetadata: {name: d, namespace: team, uid: aaaaaaaa-0000-4000-8000}\n", "VirtualDisk team/d: has a metadata.uid that is no lower-case UUID", "half a UID"},
		{diskYAML + "---\napiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: team}\n", "document 2: Pod team/p: holds no containers, so it may be cut off", "a Pod without containers"},
	}
	for _, test := range tests {
		path := write(t, "x.yaml", test.text)
		_, err := load(path)
		if !errors.Is(err, ErrIncomplete) || !strings.Contains(err.Error(), test.want) || !strings.HasPrefix(err.Error(), "owners "+path+": ") {
			t.Errorf("%s: %v, want %q", test.reason, err, test.want)
		}
	}
}

func TestStreamsWarn(t *testing.T) {
	list := "apiVersion: v1\nitems:\n" + asItem(diskYAML, "") + asItem(podYAML, "") + "kind: List\n"
	tests := []struct {
		text   string
		warns  bool
		reason string
	}{
		{list, false, "one list"},
		{"---\n" + list + "...\n", false, "one list between markers"},
		{diskJSON, false, "one object in JSON"},
		{"apiVersion: v1\nitems: []\nkind: List\n", false, "an empty list"},
		{diskYAML, true, "one object, which may be the first of more"},
		{diskYAML + "---\n" + podYAML, true, "two objects"},
		{list + "---\n" + list, true, "two lists"},
		{diskJSON + "\n" + diskJSON + "\n", true, "two objects in JSON"},
	}
	for _, test := range tests {
		path := write(t, "x.yaml", test.text)
		c, err := load(path)
		want := "owners " + path + ": a stream of documents can not show that it was cut off: use one list, as kubectl get writes"
		if err != nil || slices.Contains(c.Warnings(), want) != test.warns {
			t.Errorf("%s: %v, warnings %q, want one: %v", test.reason, err, c.Warnings(), test.warns)
		}
	}
}

func TestNoWorkloadsWarnsOnceOfAllSources(t *testing.T) {
	disk, pod := write(t, "disk.yaml", diskYAML), write(t, "pod.yaml", podYAML)
	for _, test := range []struct {
		paths []string
		warns bool
	}{{[]string{disk}, true}, {[]string{disk, pod}, false}, {[]string{pod, disk}, false}} {
		c, err := load(test.paths...)
		if err != nil || slices.Contains(c.Warnings(), noPods) != test.warns {
			t.Errorf("%v: %v, warnings %q", test.paths, err, c.Warnings())
		}
	}
}
