// Package registryconfig reads the configuration file of a distribution
// registry (v2 and v3), with the REGISTRY_ variables that override it, as the
// registry itself does: the same YAML, the same order of variables, the same
// defaults of the storage drivers.
//
// It reads only what Ebb needs: where the content lies, what the registry
// remembers of it, and how it behaves. It does not judge the rest, so that a
// mistake in a section such as log stops no one. It refuses what the registry
// would refuse to start with in the sections it reads, never guesses a storage,
// changes nothing, and reads no environment but the one it is given.
package registryconfig

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// Config is what a registry's configuration says.
type Config struct {
	Storage Storage
	Cache   Cache // which of the registry's memories outlives a deletion

	// Upstream is the registry that this one is a pull-through cache of,
	// without credentials. Empty: it is none.
	Upstream string
	// ReadOnly is storage.maintenance.readonly: the registry takes no writes.
	ReadOnly bool
	// Warnings are sentences for people about what the registry ignores.
	Warnings []string
}

// maxSize is far above any configuration; a path to something else is told
// from it by its size.
const maxSize = 1 << 20

// Read reads the configuration at path with the variables of environ, which
// has the form of os.Environ. Its errors are one sentence that names the file,
// the line or the key or the variable, and what to do; none holds a secret.
func Read(path string, environ []string) (Config, error) {
	text, err := readFile(path)
	if err != nil {
		return Config{}, fmt.Errorf("registry configuration %s: %w", path, err)
	}
	config, err := parse(text, environ)
	if err != nil {
		return Config{}, fmt.Errorf("registry configuration %s: %w", path, err)
	}
	return config, nil
}

func readFile(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, explain(err)
	}
	defer func() { _ = file.Close() }()
	text, err := io.ReadAll(io.LimitReader(file, maxSize+1))
	if err != nil {
		return nil, explain(err)
	}
	if len(text) > maxSize {
		return nil, errors.New("it is larger than 1 MiB: name the registry's configuration file")
	}
	return text, nil
}

// explain says of an error what to do; the path is in the sentence already.
func explain(err error) error {
	var where *fs.PathError
	if errors.As(err, &where) {
		err = where.Err
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w: registry:3 has its file at /etc/distribution/config.yml, registry:2 at /etc/docker/registry/config.yml", err)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%w: run as a user that may read it", err)
	}
	return fmt.Errorf("it can not be read (%w): name the registry's configuration file", err)
}

func parse(text []byte, environ []string) (Config, error) {
	f, err := decode(text)
	if err != nil {
		return Config{}, err
	}
	if err := f.override(environ); err != nil {
		return Config{}, err
	}
	return f.config()
}

func (f *file) config() (Config, error) {
	storage, err := f.Storage.read()
	if err != nil {
		return Config{}, err
	}
	config := Config{
		Storage:  storage,
		Upstream: withoutUser(f.Proxy.RemoteURL),
	}
	if config.ReadOnly, err = f.Storage.readOnly(); err != nil {
		return Config{}, err
	}
	if err := f.Storage.checkRedirect(); err != nil {
		return Config{}, err
	}
	if config.Cache, err = f.cache(); err != nil {
		return Config{}, err
	}
	config.Warnings = f.warnings
	return config, nil
}

func (s sections) readOnly() (bool, error) {
	value, ok := s["maintenance"]["readonly"]
	if !ok {
		return false, nil
	}
	// A map that variables made has another type, at which the registry stops.
	section, ok := value.(map[any]any)
	if !ok {
		return false, errors.New("storage.maintenance.readonly is no section, and the registry does not start with it: " +
			`write "readonly: {enabled: true}", or REGISTRY_STORAGE_MAINTENANCE_READONLY={"enabled":true}`)
	}
	enabled, ok := section["enabled"]
	if !ok {
		return false, nil
	}
	on, ok := enabled.(bool)
	if !ok {
		return false, errors.New("storage.maintenance.readonly.enabled is neither true nor false, and the registry does not start with it")
	}
	return on, nil
}

// checkRedirect only refuses what the registry would: whether it sends clients to
// the object storage changes nothing for what lies there.
func (s sections) checkRedirect() error {
	section, ok := s["redirect"]
	if !ok {
		return nil
	}
	if _, ok := section["disable"].(bool); !ok {
		return errors.New("storage.redirect.disable is neither true nor false, and the registry does not start with it")
	}
	return nil
}
