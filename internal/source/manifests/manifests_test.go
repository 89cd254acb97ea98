package manifests

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ebb-io/ebb/internal/refs"
	"github.com/ebb-io/ebb/internal/source/rules"
	"github.com/google/go-cmp/cmp"
)

// write makes a file in a fresh folder, or in one given.
func write(t testing.TB, path, content string) string {
	t.Helper()
	if !filepath.IsAbs(path) {
		path = filepath.Join(t.TempDir(), path)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// load reads paths under the default rules.
func load(paths ...string) (*rules.Collector, error) {
	c := rules.NewCollector(defaults())
	return c, Load(paths, c)
}

// seen is everything that was found: owners by kind and name, then references.
func seen(set refs.Set) []string {
	var all []string
	for _, o := range set.Owners {
		text := strings.Trim(o.Namespace+"/"+o.Name, "/") + " " + o.Detail
		if o.Done {
			text += " (done)"
		}
		all = append(all, set.Rules[o.Rule].Repository.String()+" "+text)
	}
	for _, r := range set.References {
		all = append(all, r.By+" -> "+r.Repository+":"+r.Tag)
	}
	return all
}

func TestKubectlList(t *testing.T) {
	c, err := load("testdata/kubectl/list.yaml")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"cvi/{name} ubuntu phase Ready",
		"vi/{name} ubuntu phase Ready",
		"vi/{namespace}/{name} on/123 phase Ready: it lives in a volume (done)",
		"vd/{namespace}/{name} team/disk phase WaitForFirstConsumer",
		"ClusterVirtualImage ubuntu -> cvi/ubuntu:aaaaaaaa-0000-4000-8000-000000000001",
	}
	if diff := cmp.Diff(want, seen(c.Set())); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if diff := cmp.Diff([]string{noPods}, c.Warnings()); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

const (
	diskYAML = "apiVersion: virtualization.deckhouse.io/v1alpha2\nkind: VirtualDisk\nmetadata: {name: d, namespace: team}\nstatus: {phase: Ready}\n"
	diskJSON = `{"apiVersion": "virtualization.deckhouse.io/v1alpha2", "kind": "VirtualDisk", "metadata": {"name": "d", "namespace": "team"}, "status": {"phase": "Ready"}}`
	podYAML  = "apiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: team}\nspec: {containers: [{image: r.x/web:1}]}\n"
	disk     = "vd/{namespace}/{name} team/d phase Ready: its disk is filled (done)"
	noPods   = "no Pod and no Pod template was seen: images that only workloads use are not protected"
	pod      = "Pod team/p -> web:1"
)

// asItem indents a YAML object as an item of a list.
func asItem(object, indent string) string {
	return indent + "- " + strings.ReplaceAll(strings.TrimSuffix(object, "\n"), "\n", "\n"+indent+"  ") + "\n"
}

func TestForms(t *testing.T) {
	both := []string{disk, pod}
	podJSON := `{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "team"}, "spec": {"containers": [{"image": "r.x/web:1"}]}}`
	tests := []struct {
		text   string
		want   []string
		reason string
	}{
		{diskYAML, []string{disk}, "a single object"},
		{diskJSON, []string{disk}, "a single object in JSON"},
		{diskYAML + "---\n" + podYAML, both, "two documents"},
		{"---\n" + diskYAML + "---\n---\n# a comment\n--- # another\n" + podYAML + "...\n", both, "empty documents and markers with comments"},
		{diskYAML + "...\n" + podYAML, both, "a document's end without a start of the next"},
		{diskJSON + podJSON, both, "two JSON documents, one behind the other"},
		{diskJSON + "\n" + podJSON + "\n", both, "with a line break between"},
		{"---\n" + diskJSON + "\n---\n" + podYAML, both, "JSON and YAML in one file"},
		{"\xef\xbb\xbf" + diskYAML, []string{disk}, "a byte order mark"},
		{strings.ReplaceAll(diskYAML+"---\n"+podYAML, "\n", "\r\n"), both, "lines that end as on Windows"},
		{"apiVersion: v1\nitems:\n" + asItem(diskYAML, "") + asItem(podYAML, "") + "kind: List\n", both, "a list as kubectl writes it"},
		{"apiVersion: v1\nitems:\n" + asItem(diskYAML, "  ") + "\n  # a comment\n" + asItem(podYAML, "  ") + "kind: List\n", both, "a list as other tools write it"},
		{"apiVersion: v1\r\nitems:\r\n" + strings.ReplaceAll(asItem(diskYAML, "")+asItem(podYAML, ""), "\n", "\r\n") + "kind: List\r\n", both, "a list with lines as on Windows"},
		{"apiVersion: v1\nitems: # all of them\n# first\n-\n  " + strings.TrimPrefix(asItem(diskYAML, ""), "- ") + asItem(podYAML, "") + "kind: List\n", both, "dashes on lines of their own"},
		{"apiVersion: v1\nitems: [" + diskJSON + ", " + podJSON + "]\nkind: List\n", both, "a list in one line"},
		{`{"apiVersion": "v1", "items": [` + diskJSON + "," + podJSON + `], "kind": "List", "metadata": {"resourceVersion": ""}}`, both, "a list in JSON"},
		{"apiVersion: v1\nitems:\n" + asItem("apiVersion: v1\nitems:\n"+asItem(diskYAML, "")+"kind: List\n", "") + asItem(podYAML, "") + "kind: List\n", both, "a list in a list"},
		{"apiVersion: virtualization.deckhouse.io/v1alpha2\nitems:\n- metadata: {name: d, namespace: team}\n  status: {phase: Ready}\nkind: VirtualDiskList\nmetadata: {continue: '', remainingItemCount: 0}\n", []string{disk}, "a list of one kind, whose items need not name it"},
		{`{"kind": "VirtualDiskList", "apiVersion": "virtualization.deckhouse.io/v1alpha2", "items": [{"metadata": {"name": "d", "namespace": "team"}, "status": {"phase": "Ready"}}]}`, []string{disk}, "the same in JSON"},
		{`{"items": [{"metadata": {"name": "d", "namespace": "team"}, "status": {"phase": "Ready"}}], "kind": "VirtualDiskList", "apiVersion": "virtualization.deckhouse.io/v1alpha2"}`, []string{disk}, "with the kind behind the items"},
		{"apiVersion: x/v1\nitems:\n" + asItem(diskYAML, "") + "kind: ThingList\n", []string{disk}, "items that name another kind than their list"},
		{"\xef\xbb\xbf" + diskJSON, []string{disk}, "a byte order mark before JSON"},
		{"apiVersion: v1\nitems: []\nkind: List\n", nil, "an empty list"},
		{"apiVersion: v1\nitems: []\nkind: List\n---\napiVersion: v1\nkind: ConfigMap\n", nil, "an empty list beside a strange kind"},
		{`{"apiVersion": "v1", "items": [], "kind": "List"}{"apiVersion": "v1", "kind": "ConfigMap"}`, nil, "the same in JSON"},
		{`{"apiVersion": "v1", "items": [], "kind": "List"}`, nil, "an empty list in JSON"},
		{"apiVersion: v1\nitems:\n- &a\n  " + asItem(diskYAML, "")[2:] + "- *a\nkind: List\n", []string{disk}, "an item that refers to another"},
		{"apiVersion: v1\nitems:\n" + asItem(diskYAML, "") + "kind: \"Li\\\nst\"\n", []string{disk}, "a text over two lines"},
		{"apiVersion: v1\nitems:\n" + asItem(diskYAML, "") + "  text: \"looks like\n- an item\"\n" + asItem(podYAML, "") + "kind: List\n", both, "a text that looks like an item"},
	}
	for _, test := range tests {
		c, err := load(write(t, "x.yaml", test.text))
		if err != nil {
			t.Errorf("%s: %v\n%s", test.reason, err, test.text)
			continue
		}
		if diff := cmp.Diff(test.want, seen(c.Set())); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.reason, diff)
		}
	}
}

func TestIncomplete(t *testing.T) {
	list := func(items string) string { return "apiVersion: v1\nitems:\n" + items + "kind: List\n" }
	full := list(asItem(diskYAML, "") + asItem(podYAML, ""))
	tests := []struct{ text, want, reason string }{
		{"", "is empty", "kubectl failed and wrote nothing"},
		{"\n# only a comment\n---\n", "is empty", "no document in it"},
		{
			"Error from server (Forbidden): virtualdisks is forbidden\n",
			`an error of kubectl, which failed (Error from server (Forbidden): virtualdisks is forbidden): mend that and write it again`,
			"kubectl's error, which is YAML by chance",
		},
		{
			"Error from server (Forbidden): pods is forbidden: User \"a\" cannot list resource \"pods\"\n",
			`kubectl, which failed (Error from server (Forbidden): pods is forbidden: User "a" cannot`, "kubectl's error, which is not YAML",
		},
		{full + "Error from server (Forbidden): virtualdisks is forbidden\n", "an error of kubectl", "one kind of several failed"},
		{"Error from server (NotFound): x\r\n" + full, `failed (Error from server (NotFound): x)`, "the error stands first"},
		{diskJSON + "\nError from server (Forbidden): pods is forbidden\n", "an error of kubectl", "an error behind JSON"},
		{diskYAML + "---\nerror: the server doesn't have a resource type \"virtualdisks\"\n", "an error of kubectl", "an unknown kind"},
		{"Unable to connect to the server: dial tcp: lookup example.org: no such host\n", "an error of kubectl", "no way to the server"},
		{"The connection to the server localhost:8080 was refused - did you specify the right host or port?\n", "an error of kubectl", "no configuration"},
		{"E0418 12:11:10.123456   12345 memcache.go:265] couldn't get current server API group list\n", "an error of kubectl", "a line of its log"},
		{"No resources found in team namespace.\n", `the text "No resources found`, "kubectl's remark"},
		{"error: You must be logged in to the server (Unauthorized): {", "an error of kubectl", "an error that is not even YAML"},
		{"hello: [", "not YAML", "not YAML"},
		{"kind: Pod\nkind: Pod\n", `"kind" stands there twice`, "a key twice"},
		{list(asItem(diskYAML+"status: {phase: Ready}\n", "")), `"status" stands there twice`, "a key twice in an item"},
		{"apiVersion: v1\nitems: []\nitems:\n" + asItem(diskYAML, "") + "kind: List\n", "twice", "two lists of items"},
		{"apiVersion: v1\nitems:\n- a: 1\nitems:\n- b: 2\nkind: List\n", "twice", "two lists of items, both with some"},
		{full[:strings.Index(full, "kind: List")], "cut off", "a list without its end"},
		{full[:strings.Index(full, "kind: Pod")+7], "cut off", "a list cut off in an item"},
		{full[:strings.Index(full, "web:1")+2], "cut off", "a list cut off in a text"},
		{strings.TrimSuffix(full, "ist\n"), "is no list's", "a list cut off in its kind"},
		{list(asItem(diskYAML, "") + "- a string\n"), `item 2 of document 1: is the text "a string"`, "an item that is no object"},
		{list("-\n" + asItem(diskYAML, "")), "item 1 of document 1: is nothing", "an empty item"},
		{list("- []\n"), "bare list", "an item that is a list"},
		{list("- 7\n"), "the value 7", "an item that is a number"},
		{list("- apiVersion: v1\n  metadata: {name: a}\n"), "item 1 of document 1: has no kind", "an item without kind in a mixed list"},
		{list("- kind: Pod\n  metadata: {name: a}\n"), "no apiVersion", "an item without apiVersion in a mixed list"},
		{"apiVersion: v1\nkind: List\n", "a list without items", "a list without items"},
		{"apiVersion: v1\nitems: {a: 1}\nkind: List\n", "items that are of another form", "items that are no list"},
		{"apiVersion: v1\nitems: soon\nkind: List\n", "items that are the text", "items that are a text"},
		{"apiVersion: v1\nmetadata: {name: a}\n", "has no kind", "an object without kind"},
		{"kind: Pod\nmetadata: {name: a}\n", "no apiVersion", "an object without apiVersion"},
		{"apiVersion: v1\nkind: {a: b}\n", "has no kind", "a kind that is no text"},
		{full + "metadata: {continue: eyJ2Ij}\n", "one page", "the first page of a long list"},
		{full + "metadata: {remainingItemCount: 3}\n", "one page", "items remain"},
		{`{"apiVersion": "x/v1", "kind": "VirtualDiskList", "metadata": {"continue": "x"}, "items": []}`, "one page", "a page in JSON"},
		{`{"apiVersion": "x/v1", "kind": "VirtualDiskList", "items": [], "metadata": {"remainingItemCount": 1}}`, "one page", "items remain, in JSON"},
		{"apiVersion: v1\nkind: Status\nstatus: Failure\nmessage: 'disks is forbidden'\n", "disks is forbidden", "an error of the API"},
		{diskYAML + "---\n" + `{"kind": "Status", "apiVersion": "v1", "message": "gone"}`, "document 2: is an error of the Kubernetes API (gone)", "an error behind a good document"},
		{diskYAML + "---\nkind", "document 2", "a cut-off second document"},
		{diskJSON[:len(diskJSON)-1], "cut off in the middle of JSON", "JSON cut off at its end"},
		{diskJSON[:40], "cut off in the middle of JSON", "JSON cut off in a text"},
		{`{"apiVersion": "v1", "items": [` + diskJSON, "cut off in the middle of JSON", "JSON cut off behind an item"},
		{`{"apiVersion": "v1", "items": [` + diskJSON + `,`, "cut off in the middle of JSON", "JSON cut off before an item"},
		{`{"apiVersion": "v1", "items": [` + diskJSON + `]`, "cut off in the middle of JSON", "JSON cut off behind its items"},
		{`{"apiVersion": "v1", "items":`, "cut off in the middle of JSON", "JSON cut off before its items"},
		{`{"apiVersion": "v1", "items": [` + diskJSON + `]}`, "has items but no kind", "JSON that names no kind"},
		{`{"apiVersion": "v1", "kind": "List", "items": [` + diskJSON + `, 7]}`, "item 2 of document 1: is the value 7", "a JSON item that is no object"},
		{`{"apiVersion": "v1", "kind": "List", "items": {}}`, "items that are an object", "JSON items that are no list"},
		{`{"apiVersion": "v1", "kind": "List", "items": 7}`, "items that are", "JSON items that are a number"},
		{`{"apiVersion": "v1", "kind": "List"}`, "a list without items", "JSON without items"},
		{`{"kind": "List", "items": [], "items": []}`, `the key "items" twice`, "JSON with two lists of items"},
		{`{"kind": "List", "kind": "List"}`, `the key "kind" twice`, "JSON with a key twice"},
		{diskJSON + "\nsome text", "not JSON", "text behind JSON"},
		{"{kind: Pod}", "not JSON", "YAML that looks like JSON"},
		{"[" + diskJSON + "]", "is no JSON object", "a bare list"},
		{"- a\n- b\n", "bare list", "a bare list in YAML"},
		{"kind: Pod\n'a': 1\n? [x, y]\n: 2\n", "a key is no plain text", "a key that is a list"},
		{"base: &b {kind: Pod}\n<<: *b\n", "a key is no plain text", "merge keys, which are not of Kubernetes"},
		{"  apiVersion: v1\n  kind: ConfigMap\nkind: Pod\n", "not YAML", "text that follows the document's end"},
		{"\xff\xfek\x00i\x00n\x00d\x00", "UTF-16", "what PowerShell writes"},
		{"kind: \x01\n", "not YAML", "control characters"},
		{"apiVersion: virtualization.deckhouse.io/v1alpha2\nkind: VirtualDisk\nmetadata: {name: d}\n", "VirtualDisk d: has no metadata.namespace", "an owner that can not be placed"},
		{"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\napiVersion: v1\nkind: Service\n", "unknown kinds (ConfigMap, Service)", "kinds that no rule names"},
		{"apiVersion: example.org/v1\nkind: Status\n", "unknown kinds (Status)", "a kind of somebody's that is called like the API's errors"},
		{"apiVersion: v1\nitems: [{metadata: {name: a}}]\nkind: ConfigMapList\n", "unknown kinds (ConfigMap)", "a list of them"},
	}
	for _, test := range tests {
		path := write(t, "x.yaml", test.text)
		_, err := load(path)
		if !errors.Is(err, ErrIncomplete) {
			t.Errorf("%s: %v, want ErrIncomplete", test.reason, err)
			continue
		}
		if !strings.Contains(err.Error(), test.want) || !strings.HasPrefix(err.Error(), "owners "+path+": ") {
			t.Errorf("%s: %q lacks %q or its place", test.reason, err, test.want)
		}
		if strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %q is more than a sentence", test.reason, err)
		}
	}
}

func TestYAMLTypes(t *testing.T) {
	text := `apiVersion: virtualization.deckhouse.io/v1alpha2
kind: VirtualDisk
metadata:
  name: on
  namespace: n
  creationTimestamp: 2026-01-02T03:04:05Z
  labels: {1: a, yes: b, 2026-01-02: c}
spec: {size: 18446744073709551615, more: 184467440737095516150, exact: 9007199254740993}
`
	value, err := decode([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	fields := value.(map[string]any)
	want := map[string]any{
		"name": "on", "namespace": "n", "creationTimestamp": "2026-01-02T03:04:05Z",
		"labels": map[string]any{"1": "a", "yes": "b", "2026-01-02": "c"},
	}
	if diff := cmp.Diff(want, fields["metadata"]); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	numbers := map[string]any{"size": uint64(18446744073709551615), "more": 184467440737095516150.0, "exact": 9007199254740993}
	if diff := cmp.Diff(numbers, fields["spec"]); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestEntriesAreJudgedApart(t *testing.T) {
	good := write(t, "disk.yaml", diskYAML)
	strange := write(t, "map.yaml", "apiVersion: v1\nkind: ConfigMap\n")
	if _, err := load(good, strange); !errors.Is(err, ErrIncomplete) || !strings.Contains(err.Error(), strange) {
		t.Errorf("%v, want the file without owners named", err)
	}
	if c, err := load(good, good); err != nil || len(c.Set().Owners) != 1 {
		t.Errorf("the same file twice: %v, %v", seen(c.Set()), err)
	}
	if _, err := load(); err != nil {
		t.Errorf("nothing to read: %v", err)
	}
}

func TestManyUnknownKinds(t *testing.T) {
	var text strings.Builder
	for i := range 3 * maxKinds {
		fmt.Fprintf(&text, "---\napiVersion: v1\nkind: Kind%04d\n", i)
	}
	_, err := load(write(t, "x.yaml", text.String()))
	if err == nil || !strings.Contains(err.Error(), "(Kind0000, Kind0001,") || len(err.Error()) > 600 {
		t.Errorf("%v, want the first few", err)
	}
	if e, err := parse([]byte(text.String())); err != nil || len(e.kinds) != maxKinds {
		t.Errorf("%v, %d kinds remembered, want %d", err, len(e.kinds), maxKinds)
	}
}
