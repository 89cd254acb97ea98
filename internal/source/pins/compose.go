package pins

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ebb-io/ebb/internal/pin"
)

// Stack is what compose is given to read: files that are merged in order, as
// `docker compose -f a.yml -f b.yml` does.
type Stack struct {
	Files    []string
	Dir      string   // the project's folder; empty: the first file's
	EnvFiles []string // none: .env in Dir, where there is one
	Project  string   // its name; empty: as the files or the folder say
	// Environment is what variables are looked up in before the env files.
	Environment map[string]string
}

// Compose are the images that a stack's services name, whatever their
// profiles. A service with a build alone has none. What else the files name
// (mounted images, contexts of builds) is passive, and so are the images of an
// override file beside a single file, which compose reads where it is not told
// which files to take. A variable that has no value skips its repository;
// where even that can not be told, it is an error, as is everything that can
// not be read in full. Relative paths are of this process's folder.
func Compose(s Stack) (pin.Set, error) {
	s, err := s.absolute()
	if err != nil {
		return pin.Set{}, err
	}
	set, err := readPins(s, false)
	if err != nil {
		return pin.Set{}, err
	}
	if override, ok := s.override(); ok {
		s.Files = append(slices.Clone(s.Files), override)
		more, err := readPins(s, true)
		if err != nil {
			return pin.Set{}, err
		}
		set = Combine(set, more)
	}
	return set, nil
}

func readPins(s Stack, passive bool) (pin.Set, error) {
	left := workPerPass
	found, err := readStack(s, &left)
	if err != nil {
		return pin.Set{}, fmt.Errorf("compose file %s: %w", s.path(), err)
	}
	set, unknown := found.pins("compose file "+s.path(), passive)
	if len(unknown) > 0 {
		return pin.Set{}, fmt.Errorf("compose file %s: %w", s.path(), unknown[0])
	}
	return set, nil
}

// absolute is the stack with paths that do not depend on a folder.
func (s Stack) absolute() (Stack, error) {
	var err error
	s.Files, s.EnvFiles = slices.Clone(s.Files), slices.Clone(s.EnvFiles)
	for _, paths := range [][]string{s.Files, s.EnvFiles} {
		for i, path := range paths {
			if paths[i], err = filepath.Abs(path); err != nil {
				return Stack{}, fmt.Errorf("compose file %s: %w", path, err)
			}
		}
	}
	if s.Dir != "" {
		s.Dir, err = filepath.Abs(s.Dir)
	}
	return s, err
}

// override is the file that compose lays over a single one of a usual name.
func (s Stack) override() (string, bool) {
	if len(s.Files) != 1 {
		return "", false
	}
	name := filepath.Base(s.Files[0])
	for _, stem := range []string{"compose", "docker-compose"} {
		if name != stem+".yaml" && name != stem+".yml" {
			continue
		}
		for _, kind := range []string{".override.yml", ".override.yaml"} {
			path := filepath.Join(filepath.Dir(s.Files[0]), stem+kind)
			// What can not be looked at is there: reading it says why not.
			if _, err := os.Lstat(path); !os.IsNotExist(err) {
				return path, true
			}
		}
	}
	return "", false
}

// path is how a stack is called: its files, as compose's label joins them.
func (s Stack) path() string { return strings.Join(s.Files, ",") }

func (s Stack) dir() string {
	if s.Dir != "" || len(s.Files) == 0 {
		return s.Dir
	}
	return filepath.Dir(s.Files[0])
}
