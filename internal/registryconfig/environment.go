package registryconfig

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v2"
)

const prefix = "REGISTRY_"

// override applies the REGISTRY_ variables in the registry's order, by name:
// REGISTRY_STORAGE replaces the whole section, then REGISTRY_STORAGE_S3_BUCKET
// sets a key in what is left. Each value is YAML. Where a name appears twice
// the first counts, as for every program.
func (f *file) override(environ []string) error {
	values := map[string]string{}
	for _, pair := range environ {
		name, value, _ := strings.Cut(pair, "=")
		if _, known := values[name]; !known && strings.HasPrefix(name, prefix) {
			values[name] = value
		}
	}
	names := make([]string, 0, len(values))
	for name := range values {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if err := f.set(strings.TrimPrefix(name, prefix), values[name]); err != nil {
			return fmt.Errorf("environment variable %s: %w", name, err)
		}
	}
	return nil
}

// set applies one variable. What names nothing that is read here is not judged.
func (f *file) set(name, value string) error {
	if apply, ok := f.variables()[name]; ok {
		return apply(value)
	}
	if strings.HasPrefix(name, "REDIS_ADDRS_") {
		f.warn(name, "the registry takes no single address: write REGISTRY_REDIS_ADDRS=[host:6379]")
	}
	path := strings.Split(name, "_")
	if path[0] != "STORAGE" {
		return nil
	}
	if f.Storage == nil {
		f.Storage = sections{}
	}
	err := f.Storage.set(path[1:], value)
	if errors.Is(err, errNothing) {
		f.warn(name, "the file already has a section there, which a variable can only replace as a whole")
		return nil
	}
	return err
}

func (f *file) warn(name, why string) {
	f.warnings = append(f.warnings, fmt.Sprintf("environment variable %s%s changes nothing: %s", prefix, name, why))
}

// variables are the names of what is no free map.
func (f *file) variables() map[string]func(string) error {
	r := &f.Redis
	return map[string]func(string) error{
		"STORAGE":               into(&f.Storage),
		"PROXY":                 into(&f.Proxy),
		"PROXY_REMOTEURL":       into(&f.Proxy.RemoteURL),
		"REDIS":                 into(r),
		"REDIS_ADDR":            into(&r.Addr),
		"REDIS_ADDRS":           into(&r.Addrs),
		"REDIS_DB":              into(&r.DB),
		"REDIS_USERNAME":        into(&r.Username),
		"REDIS_PASSWORD":        into(&r.Password),
		"REDIS_MASTERNAME":      into(&r.MasterName),
		"REDIS_TLS":             into(&r.TLS),
		"REDIS_TLS_CERTIFICATE": into(&r.TLS.Certificate),
		"REDIS_TLS_KEY":         into(&r.TLS.Key),
		"REDIS_TLS_ROOTCAS":     into(&r.TLS.RootCAs),
	}
}

// into replaces a value as a whole; an empty variable empties it.
func into[T any](to *T) func(string) error {
	return func(text string) error {
		var value T
		if err := yaml.Unmarshal([]byte(text), &value); err != nil {
			return unreadable(err)
		}
		*to = value
		return nil
	}
}

// unreadable does not repeat what the library says, which may quote a secret.
func unreadable(err error) error {
	if errors.Is(err, errManyDrivers) {
		return err
	}
	return errors.New("the registry can not read its value, which it takes for YAML: put it into quotes, or write what the key wants")
}

// errNothing tells that the registry ignores a variable.
var errNothing = errors.New("it changes nothing")

// set follows path through the sections: the registry finds an existing name
// in any letter case, and makes a new one in small letters.
func (s sections) set(path []string, text string) error {
	name := strings.ToLower(path[0])
	if len(path) == 1 {
		var value parameters
		if err := into(&value)(text); err != nil {
			return err
		}
		s[name] = value
		return nil
	}
	for known, section := range s {
		if strings.ToUpper(known) == path[0] && section != nil {
			return section.set(path[1:], text)
		}
	}
	section := parameters{}
	if err := section.set(path[1:], text); err != nil {
		return err
	}
	s[name] = section
	return nil
}

func (p parameters) set(path []string, text string) error {
	name := strings.ToLower(path[0])
	if len(path) == 1 {
		var value any
		if err := into(&value)(text); err != nil {
			return err
		}
		p[name] = value
		return nil
	}
	for known, value := range p {
		if strings.ToUpper(known) == path[0] && value != nil {
			return setInside(value, path[1:], text)
		}
	}
	made := map[string]any{}
	if err := parameters(made).set(path[1:], text); err != nil {
		return err
	}
	p[name] = made
	return nil
}

// setInside goes on below a parameter. Only what variables themselves have
// made can be changed there: a section of the file can be replaced as a whole.
func setInside(value any, path []string, text string) error {
	switch inside := value.(type) {
	case map[string]any:
		return parameters(inside).set(path, text)
	case []any:
		return setItem(inside, path)
	}
	return errNothing
}

// setItem only tells where the registry would not start: it can neither change
// nor add an item there.
func setItem(list []any, path []string) error {
	index, err := strconv.Atoi(path[0])
	if err != nil || index < 0 || index >= len(list) {
		return errors.New("it names an item that the list does not have, and the registry does not start with it: set the whole list")
	}
	switch list[index].(type) {
	case nil, []any:
		return errors.New("it reaches into a list, and the registry does not start with it: set the whole list")
	}
	return errNothing
}
