package manifests

import (
	"encoding/json"
	"fmt"
	"strings"
)

// header is a list without its items.
type header struct{ apiVersion, kind string }

// top checks what a document says of itself beside its items, and tells a list
// from a single object.
func (f *file) top(fields map[string]any, hasItems bool) (header, error) {
	h := header{}
	h.apiVersion, _ = fields["apiVersion"].(string)
	h.kind, _ = fields["kind"].(string)
	isList := strings.HasSuffix(h.kind, "List")
	switch {
	case h.kind == "" && hasItems:
		return h, f.errorf("has items but no kind, so the list was cut off: %s", again)
	case h.kind == "":
		return h, f.errorf("has no kind, so it is no object or was cut off: %s", again)
	case h.kind == "Status" && !strings.Contains(h.apiVersion, "/"):
		message, _ := fields["message"].(string)
		return h, f.errorf("is an error of the Kubernetes API (%s): mend that and %s", message, again)
	case h.apiVersion == "":
		return h, f.errorf("has a kind but no apiVersion: %s", again)
	case hasItems && !isList:
		return h, f.errorf("has items but its kind %q is no list's, so it was cut off: %s", h.kind, again)
	case isList && !hasItems && (h.kind == "List" || !named(fields)):
		return h, f.errorf("is a list without items, so it was cut off: %s", again)
	case hasItems:
		return h, f.whole(fields)
	}
	return h, nil
}

// named tells an object, whose kind may end as a list's does, from a list.
func named(fields map[string]any) bool {
	metadata, _ := fields["metadata"].(map[string]any)
	return metadata["name"] != nil
}

// whole refuses one page of a longer list.
func (f *file) whole(fields map[string]any) error {
	metadata, _ := fields["metadata"].(map[string]any)
	more, remaining := metadata["continue"], metadata["remainingItemCount"]
	if (more == nil || more == "") && (remaining == nil || fmt.Sprint(remaining) == "0") {
		return nil
	}
	return f.errorf("is one page of a longer list (metadata.continue or remainingItemCount is set): write it again with kubectl get -o yaml, which follows the pages")
}

// object takes a document that was read in full: a list or a single object.
func (f *file) object(value any) error {
	fields, ok := value.(map[string]any)
	if !ok {
		return f.errorf("is %s and no object: %s", describe(value), again)
	}
	items, hasItems := fields["items"]
	h, err := f.top(fields, hasItems)
	if err != nil {
		return err
	}
	if !hasItems {
		return f.add(fields)
	}
	return f.items(h, items)
}

func (f *file) items(h header, value any) error {
	if value == nil {
		return f.errorf("has items without a value, so it may be cut off: %s, or as items: [] where there are none", again)
	}
	items, ok := value.([]any)
	if !ok {
		return f.errorf("has items that are %s and no list: %s", describe(value), again)
	}
	if len(items) == 0 {
		f.emptyList = true
	}
	for i, item := range items {
		f.item = i + 1
		if err := f.listed(h, item); err != nil {
			return err
		}
	}
	f.item = 0
	return nil
}

// listed takes one item of a list. In a list of one kind the API leaves kind
// and apiVersion out of its items.
func (f *file) listed(h header, value any) error {
	fields, ok := value.(map[string]any)
	if !ok {
		return f.errorf("is %s and no object: %s", describe(value), again)
	}
	if kind, typed := strings.CutSuffix(h.kind, "List"); typed && kind != "" {
		fill(fields, "kind", kind)
		fill(fields, "apiVersion", h.apiVersion)
	}
	item := f.item
	err := f.object(fields) // which may be a list again
	f.item = item
	return err
}

func fill(fields map[string]any, key, value string) {
	if _, ok := fields[key]; !ok {
		fields[key] = value
	}
}

// describe names what stands where an object should.
func describe(value any) string {
	switch value := value.(type) {
	case nil:
		return "nothing"
	case string:
		return fmt.Sprintf("the text %q", shorten(value))
	case []any:
		return "a bare list"
	case json.Number, int, int64, uint64, float64, bool:
		return fmt.Sprintf("the value %v", value)
	}
	return "of another form"
}

func shorten(text string) string { return shortenTo(text, 60) }

func shortenTo(text string, most int) string {
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return text
}
