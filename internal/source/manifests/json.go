package manifests

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// json reads JSON values, one behind the other.
func (f *file) json(content []byte) error {
	d := json.NewDecoder(bytes.NewReader(content))
	d.UseNumber()
	for {
		f.item = 0
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		f.document++
		if err != nil {
			return f.notJSON(err)
		}
		if token != json.Delim('{') {
			return f.errorf("is no JSON object: %s", again)
		}
		if err := f.jsonObject(d); err != nil {
			return err
		}
	}
}

func (f *file) notJSON(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return f.errorf("is cut off in the middle of JSON: %s", again)
	}
	return f.errorf("is not JSON (%w): %s", err, again)
}

// jsonDocument is an object as it is read: its items are handed over at once,
// but those that need the list's kind wait for it.
type jsonDocument struct {
	fields   map[string]any
	hasItems bool
	count    int
	waiting  []waiting
}

type waiting struct {
	item  int
	value any
}

func (f *file) jsonObject(d *json.Decoder) error {
	doc := jsonDocument{fields: map[string]any{}}
	for d.More() {
		if err := f.jsonField(d, &doc); err != nil {
			return err
		}
	}
	if _, err := d.Token(); err != nil { // the closing brace
		return f.notJSON(err)
	}
	f.item = 0
	h, err := f.top(doc.fields, doc.hasItems)
	if err != nil {
		return err
	}
	if !doc.hasItems {
		return f.add(doc.fields)
	}
	if items, ok := doc.fields["items"]; ok { // not a list: an error
		return f.items(h, items)
	}
	return f.jsonRest(h, doc)
}

// jsonRest takes the items that had to wait for the kind of their list.
func (f *file) jsonRest(h header, doc jsonDocument) error {
	if doc.count == 0 {
		f.emptyList = true
	}
	for _, w := range doc.waiting {
		f.item = w.item
		if err := f.listed(h, w.value); err != nil {
			return err
		}
	}
	return nil
}

func (f *file) jsonField(d *json.Decoder, doc *jsonDocument) error {
	token, err := d.Token()
	if err != nil {
		return f.notJSON(err)
	}
	key, _ := token.(string) // the decoder lets nothing else be a key
	if _, again := doc.fields[key]; again || key == "items" && doc.hasItems {
		return f.errorf("has the key %q twice: drop one", key)
	}
	if key != "items" {
		return f.jsonValue(d, doc.fields, key)
	}
	doc.hasItems = true
	if token, err = d.Token(); err != nil {
		return f.notJSON(err)
	}
	switch token {
	case json.Delim('['):
		return f.jsonItems(d, doc)
	case json.Delim('{'):
		return f.errorf("has items that are an object and no list: %s", again)
	}
	doc.fields[key] = token // null, or what is no list either
	return nil
}

func (f *file) jsonValue(d *json.Decoder, fields map[string]any, key string) error {
	var value any
	if err := d.Decode(&value); err != nil {
		return f.notJSON(err)
	}
	fields[key] = value
	return nil
}

func (f *file) jsonItems(d *json.Decoder, doc *jsonDocument) error {
	for d.More() {
		doc.count++
		f.item = doc.count
		var value any
		if err := d.Decode(&value); err != nil {
			return f.notJSON(err)
		}
		if !complete(value) {
			doc.waiting = append(doc.waiting, waiting{doc.count, value})
			continue
		}
		if err := f.object(value); err != nil {
			return err
		}
	}
	f.item = 0
	if _, err := d.Token(); err != nil { // the closing bracket
		return f.notJSON(err)
	}
	return nil
}

// complete tells whether an item says itself what it is.
func complete(value any) bool {
	fields, _ := value.(map[string]any)
	return fields["kind"] != nil && fields["apiVersion"] != nil
}
