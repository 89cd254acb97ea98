package docker

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
)

// endpoint is where an engine answers.
type endpoint struct {
	host string
	tls  *tls.Config // nil: in the clear
}

// find chooses the engine: --host, --context, DOCKER_HOST, DOCKER_CONTEXT, the
// current context, then the first socket that is there. Docker's own programs
// choose in this order.
func find(opts Options) (endpoint, error) {
	if opts.Host != "" {
		return fromHost(opts, "--host", opts.Host)
	}
	if opts.Context != "" {
		return fromContext(opts, opts.Context)
	}
	if host, _ := opts.Env("DOCKER_HOST"); host != "" {
		return fromHost(opts, "DOCKER_HOST", host)
	}
	if name, _ := opts.Env("DOCKER_CONTEXT"); name != "" {
		return fromContext(opts, name)
	}
	name, err := currentContext(opts)
	if err != nil {
		return endpoint{}, err
	}
	if name != "" {
		return fromContext(opts, name)
	}
	return defaultSocket(opts), nil
}

// fromHost reads an address, with TLS by the variables that Docker has for it.
func fromHost(opts Options, source, host string) (endpoint, error) {
	host, err := address(host)
	if err != nil {
		return endpoint{}, fmt.Errorf("%s: %w", source, err)
	}
	at := endpoint{host: host}
	verify, _ := opts.Env("DOCKER_TLS_VERIFY")
	certs, _ := opts.Env("DOCKER_CERT_PATH")
	if strings.HasPrefix(host, "unix://") || (verify == "" && certs == "") {
		return at, nil
	}
	if certs == "" {
		certs = configDir(opts)
	}
	at.tls, err = loadTLS(certs)
	return at, err
}

// address completes and checks an address.
func address(host string) (string, error) {
	if filepath.IsAbs(host) {
		return "unix://" + host, nil
	}
	u, err := url.Parse(host)
	if err != nil {
		return "", errors.New("not an address such as unix:///var/run/docker.sock")
	}
	switch u.Scheme {
	case "ssh":
		return "", errors.New("ssh:// is not supported: run ebb-host on that machine, or forward the socket " +
			"(ssh -N -L /tmp/docker.sock:/var/run/docker.sock HOST) and use unix:///tmp/docker.sock")
	case "unix", "tcp":
	default:
		return "", fmt.Errorf("%s is not an address such as unix:///var/run/docker.sock or tcp://host:2376", u.Redacted())
	}
	if u.Scheme == "unix" && u.Path == "" || u.Scheme != "unix" && u.Host == "" {
		return "", fmt.Errorf("%s names no place", u.Redacted())
	}
	if u.User != nil {
		return "", fmt.Errorf("%s: an engine takes no user and no password", u.Redacted())
	}
	return host, nil
}

// loadTLS reads a folder with ca.pem, cert.pem and key.pem. The engine's
// certificate is always verified: Ebb deletes on its word.
func loadTLS(dir string) (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	ca, err := os.ReadFile(filepath.Join(dir, "ca.pem"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("TLS: %w", err)
	}
	if err == nil {
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(ca) {
			return nil, fmt.Errorf("TLS: %s: no certificate in it", filepath.Join(dir, "ca.pem"))
		}
	}
	pair, err := tls.LoadX509KeyPair(filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem"))
	if errors.Is(err, fs.ErrNotExist) && config.RootCAs != nil {
		return config, nil
	}
	if err != nil {
		return nil, fmt.Errorf("TLS: %w", err)
	}
	config.Certificates = []tls.Certificate{pair}
	return config, nil
}

// rootSocket is where an engine of the whole machine answers.
const rootSocket = "/var/run/docker.sock"

// defaultSocket is the first that is there: of the machine, of a rootless
// engine, of podman. Without any it is the first, whose error people know.
func defaultSocket(opts Options) endpoint {
	candidates := []string{rootSocket}
	if run, _ := opts.Env("XDG_RUNTIME_DIR"); run != "" {
		candidates = append(candidates, filepath.Join(run, "docker.sock"), filepath.Join(run, "podman", "podman.sock"))
	}
	for _, path := range candidates {
		if info, err := os.Stat(path); err == nil && info.Mode()&fs.ModeSocket != 0 {
			return endpoint{host: "unix://" + path}
		}
	}
	return endpoint{host: "unix://" + rootSocket}
}
