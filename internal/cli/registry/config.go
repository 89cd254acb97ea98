package registry

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"github.com/ebb-io/ebb/internal/cli"
	"github.com/ebb-io/ebb/internal/source/rules"
)

// The keys of a configuration that are no flags: the rules, and the paths that
// the flag --owners names.
const (
	ownersKey     = "owners"
	ownersFromKey = "owners-from"
)

// configure fills a command's flags from the environment and the configuration
// file, and returns the file's owner rules.
func configure(app *cli.App, cmd *cobra.Command) ([]rules.Config, error) {
	file, err := app.OpenConfig(cmd, ownersKey, ownersFromKey)
	if err != nil {
		return nil, err
	}
	if file == nil {
		return nil, app.Configure(cmd, nil)
	}
	owners, err := readOwners(file)
	if err != nil {
		return nil, err
	}
	file.Rename(ownersFromKey, ownersKey)
	return owners, app.Configure(cmd, file)
}

func readOwners(file *cli.File) ([]rules.Config, error) {
	node := file.Node(ownersKey)
	if node == nil {
		return nil, nil
	}
	if node.Kind != yaml.SequenceNode {
		return nil, cli.Usagef("configuration %s: line %d: owners is a list of owner rules; paths of files belong under owners-from",
			file.Path, node.Line)
	}
	var owners []rules.Config
	for i, item := range node.Content {
		var one rules.Config
		if err := decodeRule(item, &one); err != nil {
			return nil, cli.Usagef("configuration %s: owners[%d]: %w", file.Path, i, err)
		}
		owners = append(owners, one)
	}
	if len(owners) == 0 {
		return nil, cli.Usagef("configuration %s: line %d: owners is empty: name a rule, or drop it", file.Path, node.Line)
	}
	return owners, nil
}

func decodeRule(node *yaml.Node, to *rules.Config) error {
	if node.Kind != yaml.MappingNode {
		return fmt.Errorf("line %d: want a rule, such as {preset: virtualization}", node.Line)
	}
	if err := checkKeys(node, reflect.TypeFor[rules.Config]()); err != nil {
		return err
	}
	text, err := yaml.Marshal(node)
	if err != nil {
		return err
	}
	return yaml.NewDecoder(bytes.NewReader(text)).Decode(to)
}

// checkKeys finds a key that the type has no field for, which the decoder
// itself would name without its place in the file.
func checkKeys(node *yaml.Node, in reflect.Type) error {
	if node.Kind != yaml.MappingNode || in.Kind() != reflect.Struct {
		return nil
	}
	fields := map[string]reflect.Type{}
	for i := range in.NumField() {
		name, _, _ := strings.Cut(in.Field(i).Tag.Get("yaml"), ",")
		fields[name] = in.Field(i).Type
	}
	for i := 0; i < len(node.Content); i += 2 {
		key := node.Content[i]
		field, ok := fields[key.Value]
		if !ok {
			return fmt.Errorf("line %d: unknown key %q", key.Line, key.Value)
		}
		if err := checkKeys(node.Content[i+1], field); err != nil {
			return err
		}
	}
	return nil
}
