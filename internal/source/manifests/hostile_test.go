package manifests

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/ebb-io/ebb/internal/source/rules"
	"github.com/google/go-cmp/cmp"
)

// defaults are compiled once: that costs more than reading a short file.
var defaults = sync.OnceValue(rules.Default)

func parse(content []byte) (*entry, error) {
	e := &entry{path: "x", collector: rules.NewCollector(defaults()), kinds: map[string]bool{}}
	return e, e.parse("x", content)
}

// bomb is YAML of a few hundred bytes that stands for 9^9 nodes.
func bomb() string {
	text := "a0: &a0 [x, x, x, x, x, x, x, x, x]\n"
	for i := 1; i < 9; i++ {
		text += fmt.Sprintf("a%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 9), ", "))
	}
	return text
}

func TestHostile(t *testing.T) {
	deep := 200_000
	tests := []struct{ text, want, reason string }{
		{"apiVersion: v1\nkind: Pod\n" + bomb(), "aliases stand for too much", "an alias bomb"},
		{"apiVersion: v1\nitems:\n- " + strings.ReplaceAll(bomb(), "\n", "\n  ") + "\nkind: List\n", "aliases stand for too much", "an alias bomb in an item"},
		{"apiVersion: v1\nkind: &k Pod\nspec: &s\n  again: *s\n", "aliases stand for too much", "a node in itself"},
		{"apiVersion: v1\nkind: Pod\nspec: " + strings.Repeat("[", deep) + "\n", "depth", "deep lists in YAML"},
		{"apiVersion: v1\nkind: Pod\nspec: " + strings.Repeat("- ", deep) + "\n", "not YAML", "deep lists in block form"},
		{`{"apiVersion": "v1", "kind": "Pod", "spec": ` + strings.Repeat("[", deep), "depth", "deep lists in JSON"},
		{`{"apiVersion": "v1", "kind": "Pod", "spec": ` + strings.Repeat(`{"a":`, deep), "depth", "deep objects in JSON"},
		{"items:\n" + strings.Repeat("- a\n", deep), "no kind", "many items of no list"},
	}
	for _, test := range tests {
		if _, err := parse([]byte(test.text)); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", test.reason, err, test.want)
		}
	}
}

// TestManyKeys: a check for keys that stand twice must not compare each with
// each, which would take this test minutes.
func TestManyKeys(t *testing.T) {
	text := strings.Builder{}
	text.WriteString("apiVersion: v1\nkind: ConfigMap\ndata:\n")
	for i := range 300_000 {
		fmt.Fprintf(&text, "  k%d: v\n", i)
	}
	if e, err := parse([]byte(text.String())); err != nil || !e.kinds["ConfigMap"] {
		t.Errorf("%v, kinds %v", err, e.kinds)
	}
}

// TestObjectsAreNotKept: what stays alive of a long list is less than its text,
// while the objects themselves need many times that.
func TestObjectsAreNotKept(t *testing.T) {
	const count = 4000
	content := virtualImages(count)
	e, err := parse(content)
	if err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	owners := len(e.collector.Set().Owners)
	e = nil
	runtime.GC()
	runtime.ReadMemStats(&after)
	if kept := int64(before.HeapAlloc) - int64(after.HeapAlloc); owners != count || kept > int64(len(content)) {
		t.Errorf("%d owners keep %d bytes alive of a text of %d", owners, kept, len(content))
	}
	runtime.KeepAlive(content)
}

// TestItemByItemIsTheSame: a list that is cut as text means what it means when
// it is read at once.
func TestItemByItemIsTheSame(t *testing.T) {
	content := virtualImages(50)
	rest, items, ok := cutItems(content)
	if !ok || len(items) != 50 {
		t.Fatalf("%d items, %v", len(items), ok)
	}
	if want := "apiVersion: v1\nitems:\nkind: List\nmetadata:\n  resourceVersion: \"\"\n"; string(rest) != want {
		t.Errorf("the rest is\n%s", rest)
	}
	sameAtOnce(t, content)
}

func TestCutItems(t *testing.T) {
	tests := []struct {
		text, rest string
		items      []string
		reason     string
	}{
		{"items:\n- a: |\n    - b\n- c\nkind: List\n", "items:\nkind: List\n", []string{"- a: |\n    - b\n", "- c\n"}, "deeper text is no item"},
		{"items:\n  - a\n  # x\n\n  - b\nkind: List\n", "items:\nkind: List\n", []string{"  - a\n  # x\n\n", "  - b\n"}, "indented items end where something is less indented"},
		{"items:\n-\ta\n-\n  b", "items:\n", []string{"-\ta\n", "-\n  b"}, "tabs and bare dashes, and no line break at the end"},
		{"items:\nkind: List\n", "", nil, "no items"},
		{"items: []\n", "", nil, "items in the line itself"},
		{"  items:\n  - a\n", "", nil, "items of something else"},
		{"items:", "", nil, "the end"},
	}
	for _, test := range tests {
		rest, cut, ok := cutItems([]byte(test.text))
		var items []string
		for _, item := range cut {
			items = append(items, string(item))
		}
		if diff := cmp.Diff(test.items, items); diff != "" || string(rest) != test.rest || ok != (test.items != nil) {
			t.Errorf("%s: rest %q, %v (-want +got):\n%s", test.reason, rest, ok, diff)
		}
	}
}

// sameAtOnce compares both ways to read a document where both take it.
func sameAtOnce(t *testing.T, document []byte) {
	cut := newFile()
	rest, items, ok := cutItems(document)
	if !ok || cut.yamlList(rest, items) != nil {
		return
	}
	whole := newFile()
	value, err := decode(document)
	if err != nil {
		t.Fatalf("item by item it is taken, at once it is not: %v\n%q", err, document)
	}
	if err := whole.object(value); err != nil {
		t.Fatalf("item by item it is taken, at once it is not: %v\n%q", err, document)
	}
	if diff := cmp.Diff(seen(whole.collector.Set()), seen(cut.collector.Set())); diff != "" {
		t.Fatalf("at once and item by item differ:\n%s\n%q", diff, document)
	}
	if diff := cmp.Diff(whole.kinds, cut.kinds); diff != "" {
		t.Fatalf("at once and item by item differ in kinds:\n%s\n%q", diff, document)
	}
}

func newFile() *file {
	return &file{entry: &entry{path: "x", collector: rules.NewCollector(defaults()), kinds: map[string]bool{}}, path: "x"}
}

func FuzzLoad(f *testing.F) {
	f.Add([]byte(diskYAML + "---\n" + podYAML))
	f.Add([]byte(diskJSON + diskJSON))
	f.Add([]byte("apiVersion: v1\nitems:\n" + asItem(diskYAML, "") + asItem(podYAML, "") + "kind: List\n"))
	f.Add([]byte("apiVersion: v1\nitems:\n" + asItem(diskYAML, "  ") + "  # x\n\n" + asItem(podYAML, "  ") + "kind: List\n"))
	f.Add([]byte("apiVersion: v1\nkind: List\nitems:\n" + asItem(diskYAML, "")))
	f.Add([]byte("apiVersion: v1\nitems:\n- |\n  - x\n- \"a\n- b\"\n- &a {<<: *a}\n- *a\nkind: PodList\n"))
	f.Add([]byte("items:\n- ? x\n  : y\n- !!binary aGk=\n- 2026-01-02\nkind: List\n"))
	f.Fuzz(func(t *testing.T, content []byte) {
		if len(content) > 1<<16 {
			return
		}
		a, errA := parse(content)
		b, errB := parse(content)
		if (errA == nil) != (errB == nil) {
			t.Fatalf("%v, then %v", errA, errB)
		}
		if diff := cmp.Diff(seen(a.collector.Set()), seen(b.collector.Set())); diff != "" {
			t.Fatalf("read twice it differs:\n%s", diff)
		}
		for document := range documents(content) {
			sameAtOnce(t, document)
		}
	})
}
