package pins

import (
	"fmt"
	"path/filepath"

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
// (mounted images, contexts of builds) is passive. A variable that has no value
// skips its repository; where even that can not be told, it is an error, as is
// everything that can not be read in full.
func Compose(s Stack) (pin.Set, error) {
	found, err := readStack(s)
	if err != nil {
		return pin.Set{}, fmt.Errorf("compose file %s: %w", s.path(), err)
	}
	set, unknown := found.pins("compose file "+s.path(), false)
	if len(unknown) > 0 {
		return pin.Set{}, fmt.Errorf("compose file %s: %w", s.path(), unknown[0])
	}
	return set, nil
}

func (s Stack) path() string { return joinFiles(s.Files) }

func (s Stack) dir() string {
	if s.Dir != "" || len(s.Files) == 0 {
		return s.Dir
	}
	return filepath.Dir(s.Files[0])
}
