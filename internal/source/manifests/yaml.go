package manifests

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"
)

// maxWhole is up to which size a list that can not be read item by item is read
// at once: the parser needs about twenty times the memory of the text.
const maxWhole = 32 << 20

// errSyntax says that a part of a document is not YAML when it stands alone.
var errSyntax = errors.New("not YAML")

// yaml reads one document. A list is cut into its items, which is how a large
// one fits into memory; where that does not work out (an item that refers to
// another one, or text that looks like an item) the document is read at once.
func (f *file) yaml(document []byte) error {
	if rest, items, ok := cutItems(document); ok {
		err := f.yamlList(rest, items)
		if !errors.Is(err, errSyntax) || len(document) > maxWhole {
			return err
		}
	}
	f.item = 0
	value, err := f.outer(document)
	if err != nil {
		return err
	}
	if fields, _ := value.(map[string]any); fields["items"] == nil {
		f.loose = true
	}
	return f.object(value)
}

// outer reads a document, or what it says beside its items. A list's kind has
// to follow its items, as it does where kubectl sorts the keys: it is what shows
// that the items are all there.
func (f *file) outer(text []byte) (any, error) {
	node, err := parseYAML(text)
	if err != nil {
		return nil, f.notYAML(err)
	}
	var c converter
	value, err := c.convert(node)
	if err != nil {
		return nil, f.notYAML(err)
	}
	if kindFirst(node.Content[0]) {
		return nil, f.errorf("is a list whose kind stands before its items, so it can not show that it was cut off: write the list as kubectl does, kind behind the items, or as JSON")
	}
	return value, nil
}

// kindFirst tells whether a list names its kind before its items.
func kindFirst(n *yaml.Node) bool {
	list := false
	for i := 0; i+1 < len(n.Content) && n.Kind == yaml.MappingNode; i += 2 {
		switch n.Content[i].Value {
		case "kind":
			list = strings.HasSuffix(n.Content[i+1].Value, "List")
		case "items":
			return list
		}
	}
	return false
}

func (f *file) notYAML(err error) error {
	return f.errorf("is %w: %s", err, again)
}

func (f *file) yamlList(rest []byte, items [][]byte) error {
	value, err := f.outer(rest)
	if err != nil {
		return err
	}
	fields, ok := value.(map[string]any)
	if !ok {
		return f.notYAML(errSyntax)
	}
	h, err := f.top(fields, true)
	if err != nil {
		return err
	}
	for i, text := range items {
		f.item = i + 1
		value, err := decode(text)
		if err != nil {
			return f.notYAML(err)
		}
		item, ok := value.([]any)
		if !ok || len(item) != 1 {
			return f.notYAML(errSyntax)
		}
		if err := f.listed(h, item[0]); err != nil {
			return err
		}
	}
	return nil
}

// decode reads YAML that holds exactly one document.
func decode(text []byte) (any, error) {
	node, err := parseYAML(text)
	if err != nil {
		return nil, err
	}
	var c converter
	return c.convert(node)
}

func parseYAML(text []byte) (*yaml.Node, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var node, more yaml.Node
	if err := decoder.Decode(&node); err != nil {
		return nil, fmt.Errorf("%w (%w)", errSyntax, err)
	}
	if err := decoder.Decode(&more); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%w (text follows the document's end)", errSyntax)
	}
	return &node, nil
}

// converter turns a syntax tree into what JSON would have held. The parser's
// own decoder would make times of text and drop keys that are no text.
type converter struct {
	inAlias  int
	expanded int // nodes that were reached through an alias
}

// maxExpanded is how many nodes aliases may add: without a bound a kilobyte of
// them stands for more nodes than there are bytes in the world.
const maxExpanded = 100_000

func (c *converter) convert(n *yaml.Node) (any, error) {
	if c.inAlias > 0 {
		if c.expanded++; c.expanded > maxExpanded {
			return nil, fmt.Errorf("not usable YAML (line %d: its aliases stand for too much)", n.Line)
		}
	}
	switch n.Kind {
	case yaml.DocumentNode:
		return c.convert(n.Content[0])
	case yaml.AliasNode:
		c.inAlias++
		defer func() { c.inAlias-- }()
		return c.convert(n.Alias)
	case yaml.SequenceNode:
		return c.sequence(n)
	case yaml.MappingNode:
		return c.mapping(n)
	case yaml.ScalarNode:
		return scalar(n)
	}
	return nil, fmt.Errorf("%w (line %d: of an unknown form)", errSyntax, n.Line)
}

func (c *converter) sequence(n *yaml.Node) (any, error) {
	list := make([]any, len(n.Content))
	for i, element := range n.Content {
		value, err := c.convert(element)
		if err != nil {
			return nil, err
		}
		list[i] = value
	}
	return list, nil
}

func (c *converter) mapping(n *yaml.Node) (any, error) {
	fields := make(map[string]any, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		switch _, twice := fields[key.Value]; {
		case key.Kind != yaml.ScalarNode || key.ShortTag() == "!!merge":
			return nil, fmt.Errorf("not usable YAML (line %d: a key is no plain text)", key.Line)
		case twice:
			return nil, fmt.Errorf("not usable YAML (line %d: the key %q stands there twice)", key.Line, key.Value)
		}
		value, err := c.convert(n.Content[i+1])
		if err != nil {
			return nil, err
		}
		fields[key.Value] = value
	}
	return fields, nil
}

// scalar keeps as text whatever JSON has no other form for, times above all.
func scalar(n *yaml.Node) (any, error) {
	switch n.ShortTag() {
	case "!!null":
		return nil, nil
	case "!!bool", "!!int", "!!float":
		var value any
		if err := n.Decode(&value); err != nil {
			return nil, fmt.Errorf("%w (line %d: %w)", errSyntax, n.Line, err)
		}
		return value, nil
	}
	return n.Value, nil
}
