package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"go.yaml.in/yaml/v3"
)

// File is a configuration file: one mapping, whose keys are the names of flags
// or are known to the group.
type File struct {
	Path   string
	keys   map[string]*yaml.Node
	values map[string]*yaml.Node
	order  []string
}

// ReadFile reads a configuration. Every error is a UsageError that names the
// file.
func ReadFile(path string) (*File, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, Usagef("configuration: %w", err)
	}
	f := &File{Path: path, keys: map[string]*yaml.Node{}, values: map[string]*yaml.Node{}}
	if err := f.parse(data); err != nil {
		return nil, Usagef("configuration %s: %w", path, err)
	}
	return f, nil
}

func (f *File) parse(data []byte) error {
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var document, more yaml.Node
	switch err := decoder.Decode(&document); {
	case errors.Is(err, io.EOF):
		return nil // an empty file chooses nothing
	case err != nil:
		return fmt.Errorf("it is no YAML: %w", err)
	}
	if err := decoder.Decode(&more); !errors.Is(err, io.EOF) {
		return errors.New("it holds more than one document: keep one")
	}
	root := document.Content[0]
	if root.Kind == yaml.ScalarNode && root.Tag == "!!null" {
		return nil
	}
	if root.Kind != yaml.MappingNode {
		return fmt.Errorf("line %d: want keys with values, such as min-age: 1h", root.Line)
	}
	for i := 0; i < len(root.Content); i += 2 {
		if err := f.add(root.Content[i], root.Content[i+1]); err != nil {
			return err
		}
	}
	return nil
}

func (f *File) add(key, value *yaml.Node) error {
	if f.keys[key.Value] != nil {
		return fmt.Errorf("line %d: key %q stands in it twice", key.Line, key.Value)
	}
	f.keys[key.Value], f.values[key.Value] = key, value
	f.order = append(f.order, key.Value)
	return nil
}

// Check returns a UsageError for the first key that only the command line may
// give, or that is neither the name of a flag nor otherwise known.
func (f *File) Check(known, onlyGiven []string) error {
	for _, key := range f.order {
		if slices.Contains(onlyGiven, key) {
			return errPersonal(f.place(key), key)
		}
		if !slices.Contains(known, key) {
			return Usagef("configuration %s: line %d: unknown key %q: keys are the names of flags, such as min-age",
				f.Path, f.keys[key].Line, key)
		}
	}
	return nil
}

// Node is the value of a key, nil where there is none.
func (f *File) Node(key string) *yaml.Node { return f.values[key] }

// Rename lets a key stand for a flag of another name.
func (f *File) Rename(key, flag string) {
	if f.values[key] != nil {
		f.keys[flag], f.values[flag] = f.keys[key], f.values[key]
	} else {
		delete(f.values, flag)
	}
}

// take is a flag's values, and where they stand.
func (f *File) take(flag string, isList bool) (values []string, from string, err error) {
	node := f.values[flag]
	if node == nil {
		return nil, "", nil
	}
	from = f.place(flag)
	items := []*yaml.Node{node}
	if node.Kind == yaml.SequenceNode && isList {
		items = node.Content
	}
	for _, item := range items {
		switch {
		case item.Kind != yaml.ScalarNode:
			return nil, from, Usagef("%s wants a single value%s", from, orList(isList))
		case item.Tag == "!!null":
			return nil, from, Usagef("%s has no value: give one, or drop the key", from)
		}
		values = append(values, item.Value)
	}
	return values, from, nil
}

// place is where a key stands.
func (f *File) place(key string) string {
	return fmt.Sprintf("configuration %s: line %d: %s", f.Path, f.values[key].Line, f.keys[key].Value)
}

func orList(isList bool) string {
	if isList {
		return " or a list of them"
	}
	return ""
}
