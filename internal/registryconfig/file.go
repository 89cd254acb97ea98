package registryconfig

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v2" // the registry's own: yes and on are true, 010 is 8
)

// file is the part of a configuration that is read.
type file struct {
	Version string   `yaml:"version"`
	Storage sections `yaml:"storage"`
	Proxy   struct {
		RemoteURL string `yaml:"remoteurl"`
	} `yaml:"proxy"`
	Redis redisSection `yaml:"redis"`

	warnings []string
}

// redisSection has the keys of v2 (addr) and of v3 (addrs and the rest).
type redisSection struct {
	Addr       string   `yaml:"addr"`
	Addrs      []string `yaml:"addrs"`
	DB         int      `yaml:"db"`
	Username   string   `yaml:"username"` // these two only for what the registry refuses
	Password   string   `yaml:"password"`
	MasterName string   `yaml:"mastername"`
	TLS        redisTLS `yaml:"tls"`
}

type redisTLS struct {
	Certificate string   `yaml:"certificate"`
	Key         string   `yaml:"key"`
	RootCAs     []string `yaml:"rootcas"`
}

// sections is what stands under storage: one driver, and settings.
type sections map[string]parameters

type parameters map[string]any

// version is the only format that there has been, in v2 and v3.
const version = "0.1"

func decode(text []byte) (*file, error) {
	var head struct {
		Version string `yaml:"version"`
	}
	if err := yaml.Unmarshal(text, &head); err != nil {
		return nil, reason(err)
	}
	if head.Version != version {
		return nil, fmt.Errorf("it does not say version: %s: name the configuration file of a distribution registry", version)
	}
	f := &file{}
	if err := yaml.Unmarshal(text, f); err != nil {
		if line := lineOf(text, "storage"); errors.Is(err, errManyDrivers) && line > 0 {
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
		return nil, reason(err)
	}
	return f, nil
}

// lineOf finds a section of the file by its key.
func lineOf(text []byte, key string) int {
	at := regexp.MustCompile(`(?m)^` + key + `\s*:`).FindIndex(text)
	if at == nil {
		return 0
	}
	return strings.Count(string(text[:at[0]]), "\n") + 1
}

// The YAML library repeats pieces of the file, which may be secrets, and names
// of types.
var (
	wrongKind = regexp.MustCompile("cannot unmarshal (!!\\w+)( `[^`]*`)? into .*")
	noAnchor  = regexp.MustCompile("unknown anchor '[^']*' referenced")
)

// reason is the first thing that the YAML library complains about, with its
// line and without the value.
func reason(err error) error {
	text := strings.TrimPrefix(firstOf(err).Error(), "yaml: ")
	text = strings.TrimPrefix(text, "unmarshal errors:")
	text = strings.TrimSpace(strings.ReplaceAll(text, "\n", " "))
	text = wrongKind.ReplaceAllString(text, "the registry can not use the value ($1), and does not start with it")
	text = noAnchor.ReplaceAllString(text, "a value begins with *: put it into quotes")
	return errors.New(text)
}

var errManyDrivers = errors.New("storage names more than one driver")

// UnmarshalYAML reads the sections, or the name of a driver alone.
func (s *sections) UnmarshalYAML(unmarshal func(any) error) error {
	var all map[string]parameters
	whole := unmarshal(&all)
	if whole == nil {
		*s = all
		_, err := s.driver()
		return err
	}
	whole = firstOf(whole) // the library uses the error's memory again
	var name string
	if err := unmarshal(&name); err != nil {
		return whole
	}
	*s = sections{name: parameters{}}
	return nil
}

func firstOf(err error) error {
	var several *yaml.TypeError
	if errors.As(err, &several) && len(several.Errors) > 0 {
		return &yaml.TypeError{Errors: []string{several.Errors[0]}}
	}
	return err
}

// driver is the name of the one section that is no setting, or empty.
func (s sections) driver() (string, error) {
	var names []string
	for name := range s {
		switch name {
		case "maintenance", "cache", "delete", "redirect", "tag":
		default:
			names = append(names, name)
		}
	}
	slices.Sort(names)
	switch len(names) {
	case 0:
		return "", nil
	case 1:
		return names[0], nil
	}
	return "", fmt.Errorf("%w (%s), and the registry does not start with it: leave one in the file, "+
		"or choose one with REGISTRY_STORAGE", errManyDrivers, strings.Join(names, ", "))
}

// withoutUser drops credentials. It never makes an address empty: any value at
// all makes the registry a pull-through cache.
func withoutUser(address string) string {
	const unknown = "an address that can not be read"
	u, err := url.Parse(address)
	switch {
	case address == "":
		return ""
	case err != nil:
		return unknown
	}
	u.User = nil
	if text := u.String(); text != "" {
		return text
	}
	return unknown
}
