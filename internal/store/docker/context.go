package docker

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// contextMeta is what Docker's command line stores of a context.
type contextMeta struct {
	Name      string
	Endpoints map[string]struct {
		Host          string
		SkipTLSVerify bool
	}
}

// configDir is the folder of Docker's command line.
func configDir(opts Options) string {
	if dir, _ := opts.Env("DOCKER_CONFIG"); dir != "" {
		return dir
	}
	return filepath.Join(opts.Home, ".docker")
}

// currentContext is the context that was chosen by docker context use; empty
// if none was.
func currentContext(opts Options) (string, error) {
	path := filepath.Join(configDir(opts), "config.json")
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("current context: %w", err)
	}
	var config struct{ CurrentContext string }
	if err := json.Unmarshal(raw, &config); err != nil {
		return "", fmt.Errorf("current context: %s: %w", path, err)
	}
	return config.CurrentContext, nil
}

// fromContext reads a context. The one named default is no context: it stands
// for the variables and the socket.
func fromContext(opts Options, name string) (endpoint, error) {
	if name == "default" {
		if host, _ := opts.Env("DOCKER_HOST"); host != "" {
			return fromHost(opts, "DOCKER_HOST", host)
		}
		return defaultSocket(opts), nil
	}
	sum := sha256.Sum256([]byte(name))
	id := hex.EncodeToString(sum[:])
	dir := filepath.Join(configDir(opts), "contexts")
	raw, err := os.ReadFile(filepath.Join(dir, "meta", id, "meta.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return endpoint{}, fmt.Errorf("context %q: there is none in %s", name, dir)
	}
	if err != nil {
		return endpoint{}, fmt.Errorf("context %q: %w", name, err)
	}
	var meta contextMeta
	if err := json.Unmarshal(raw, &meta); err != nil {
		return endpoint{}, fmt.Errorf("context %q: %w", name, err)
	}
	return contextEndpoint(meta, name, filepath.Join(dir, "tls", id, "docker"))
}

func contextEndpoint(meta contextMeta, name, certs string) (endpoint, error) {
	docker, ok := meta.Endpoints["docker"]
	if !ok || meta.Name != name {
		return endpoint{}, fmt.Errorf("context %q: it names no docker engine", name)
	}
	host, err := address(docker.Host)
	if err != nil {
		return endpoint{}, fmt.Errorf("context %q: %w", name, err)
	}
	at := endpoint{host: host}
	if _, err := os.Stat(certs); errors.Is(err, fs.ErrNotExist) {
		return at, nil
	}
	if at.tls, err = loadTLS(certs); err != nil {
		return endpoint{}, fmt.Errorf("context %q: %w", name, err)
	}
	at.tls.InsecureSkipVerify = docker.SkipTLSVerify // as the context's owner chose
	return at, nil
}
