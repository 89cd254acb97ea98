package pins

import (
	"errors"
	"fmt"

	"go.yaml.in/yaml/v3"
)

const (
	maxDepth  = 32     // of aliases and merged mappings
	maxVisits = 100000 // nodes of one stack
)

var errTooMuch = errors.New("its anchors and merges unfold to too much")

// follow is the node that an alias stands for.
func follow(n *yaml.Node) (*yaml.Node, error) {
	for range maxDepth {
		if n == nil || n.Kind != yaml.AliasNode {
			return n, nil
		}
		n = n.Alias
	}
	return nil, errTooMuch
}

// entry is one key of a mapping.
type entry struct {
	key   string
	value *yaml.Node
}

// entries are the keys of a mapping with what it merges in; its own keys win,
// then earlier merges. An empty value is an empty mapping.
func (r *reader) entries(n *yaml.Node, depth int) ([]entry, error) {
	n, err := follow(n)
	switch {
	case err != nil:
		return nil, err
	case isNull(n):
		return nil, nil
	case n.Kind != yaml.MappingNode:
		return nil, fmt.Errorf("line %d: not a mapping", n.Line)
	case depth > maxDepth:
		return nil, errTooMuch
	}
	var own, merged []entry
	for i := 0; i+1 < len(n.Content); i += 2 {
		if r.visits++; r.visits > maxVisits {
			return nil, errTooMuch
		}
		if err := r.spend(100); err != nil {
			return nil, err
		}
		key, value := n.Content[i], n.Content[i+1]
		if key.Tag != "!!merge" {
			own = append(own, entry{key.Value, value})
			continue
		}
		more, err := r.merged(value, depth+1)
		if err != nil {
			return nil, err
		}
		merged = append(merged, more...)
	}
	return distinct(append(own, merged...)), nil
}

// merged are the keys that "<<" brings: of a mapping, or of several.
func (r *reader) merged(n *yaml.Node, depth int) ([]entry, error) {
	n, err := follow(n)
	if err != nil {
		return nil, err
	}
	if n.Kind != yaml.SequenceNode {
		return r.entries(n, depth)
	}
	var all []entry
	for _, item := range n.Content {
		more, err := r.entries(item, depth)
		if err != nil {
			return nil, err
		}
		all = append(all, more...)
	}
	return all, nil
}

func distinct(all []entry) []entry {
	seen := map[string]bool{}
	kept := all[:0]
	for _, e := range all {
		if !seen[e.key] {
			seen[e.key] = true
			kept = append(kept, e)
		}
	}
	return kept
}

// mapping is entries for what is asked by name.
func (r *reader) mapping(n *yaml.Node) (map[string]*yaml.Node, error) {
	entries, err := r.entries(n, 0)
	if err != nil {
		return nil, err
	}
	m := make(map[string]*yaml.Node, len(entries))
	for _, e := range entries {
		m[e.key] = e.value
	}
	return m, nil
}

// items are the nodes of a list; a single value is a list of one.
func items(n *yaml.Node) ([]*yaml.Node, error) {
	n, err := follow(n)
	switch {
	case err != nil:
		return nil, err
	case isNull(n):
		return nil, nil
	case n.Kind == yaml.SequenceNode:
		return n.Content, nil
	}
	return []*yaml.Node{n}, nil
}

// isNull tells whether nothing is said.
func isNull(n *yaml.Node) bool {
	return n == nil || n.Kind == 0 || n.Kind == yaml.ScalarNode && (n.Tag == "!!null" || n.Tag == resetTag)
}

const (
	resetTag    = "!reset"    // compose: what earlier files said is taken away
	overrideTag = "!override" // compose: it replaces what earlier files said
)

// text is a scalar with its variables put in; "" is none.
func text(n *yaml.Node, variables map[string]string) (string, error) {
	n, err := follow(n)
	switch {
	case err != nil:
		return "", err
	case isNull(n):
		return "", nil
	case n.Kind != yaml.ScalarNode:
		return "", fmt.Errorf("line %d: not a text", n.Line)
	}
	value, err := substitute(n.Value, variables)
	if err != nil {
		return "", fmt.Errorf("line %d: %w", n.Line, err)
	}
	return value, nil
}

func texts(n *yaml.Node, variables map[string]string) ([]string, error) {
	nodes, err := items(n)
	if err != nil {
		return nil, err
	}
	all := make([]string, len(nodes))
	for i, item := range nodes {
		if all[i], err = text(item, variables); err != nil {
			return nil, err
		}
	}
	return all, nil
}
