package docker

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/moby/moby/api/types/system"

	"github.com/ebb-io/ebb/internal/engine"
)

// What an engine writes into its containerd.
const (
	pullLabel   = "moby/prune.images" // containerd store: on the lease of a pull under way
	imagePrefix = "moby-image-"       // graph driver, and the ID: the lease of an image that was pulled
	leaseBytes  = 16 << 20            // more is no list of leases
	leaseWait   = 10 * time.Second    // containerd answers from memory
	staleLease  = time.Hour           // a pull that was cancelled leaves its lease for eight hours
	leaseMethod = "/containerd.services.leases.v1.Leases/List"
)

// lease is a lease as far as it is read.
type lease struct {
	id      string
	created time.Time // zero: not said
	pull    bool
}

// ErrUnseen says that it is not known whether anything is being pulled.
var ErrUnseen = errors.New("pulls under way can't be seen")

// leaseService is containerd's list of leases.
type leaseService struct {
	socket    string // empty: it can't be asked
	namespace string
	why       string // it can't be
}

// leasesOf finds the engine's own containerd. Only one that the engine names
// counts, as those from API 1.46 on do, and only on the engine's own machine:
// another's would show no pulls, or those of another engine.
func leasesOf(info system.Info, local bool, e engine.Engine) leaseService {
	switch {
	case !local:
		return leaseService{why: "the engine answers from elsewhere"}
	case info.Containerd == nil || info.Containerd.Address == "":
		return leaseService{why: "the engine does not name its containerd"}
	}
	if is, why := here(e); !is {
		return leaseService{why: why}
	}
	namespace := info.Containerd.Namespaces.Containers
	if namespace == "" {
		namespace = "moby"
	}
	return leaseService{socket: strings.TrimPrefix(info.Containerd.Address, "unix://"), namespace: namespace}
}

// here tells whether the engine's data folder is on this machine. A socket may
// be forwarded from another one. Engines of 23.0 and newer write their ID there.
func here(e engine.Engine) (is bool, why string) {
	elsewhere := "the engine's data folder " + e.Root + " is not here"
	id, err := os.ReadFile(filepath.Join(e.Root, "engine-id"))
	if err == nil {
		return strings.TrimSpace(string(id)) == e.ID, elsewhere
	}
	if errors.Is(err, os.ErrPermission) {
		return false, "whether the engine is on this machine can't be told: " + err.Error()
	}
	name, hostErr := os.Hostname()
	info, statErr := os.Stat(e.Root)
	return errors.Is(err, os.ErrNotExist) && e.Store == engine.GraphDriver &&
		hostErr == nil && name == e.Name && statErr == nil && info.IsDir(), elsewhere
}

// Pulls are the pulls under way: leases of pulls that are not older than an
// hour. The error wraps ErrUnseen where containerd can't be asked: from another
// machine, or without the right to. A graph driver shows none.
func (e *Engine) Pulls(ctx context.Context) (pulls []engine.Pull, err error) {
	switch {
	case e.what.Store != engine.Containerd:
		return nil, nil
	case e.lease.socket == "":
		return nil, fmt.Errorf("%w: %s", ErrUnseen, e.lease.why)
	}
	list, err := e.lease.list(ctx)
	if errors.Is(err, os.ErrPermission) || errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%w: %w", ErrUnseen, err)
	}
	if err != nil {
		return nil, incomplete("leases: %w", err)
	}
	for _, l := range list {
		if l.pull && (l.created.IsZero() || e.now().Sub(l.created) <= staleLease) {
			pulls = append(pulls, engine.Pull{Lease: l.id, Began: l.created})
		}
	}
	return pulls, nil
}

// fillPulled adds when images were pulled, as their leases say: a containerd
// store makes none. Without an answer it stays unknown.
func (e *Engine) fillPulled(ctx context.Context, images []engine.Image) {
	if e.lease.socket == "" || e.what.Store != engine.GraphDriver {
		return
	}
	list, err := e.lease.list(ctx)
	if err != nil {
		return
	}
	at := map[string]time.Time{}
	for _, l := range list {
		if id, ok := strings.CutPrefix(l.id, imagePrefix); ok {
			at[id] = l.created
		}
	}
	for i := range images {
		images[i].Pulled = at[images[i].ID.String()]
	}
}

// list makes the one call: a unary one of gRPC over HTTP/2 without an argument.
func (s leaseService) list(ctx context.Context) ([]lease, error) {
	ctx, cancel := context.WithTimeout(ctx, leaseWait)
	defer cancel()
	transport := s.transport()
	defer transport.CloseIdleConnections()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://containerd"+leaseMethod, bytes.NewReader(make([]byte, 5)))
	if err != nil {
		return nil, err
	}
	r.Header = http.Header{
		"Content-Type": {"application/grpc"}, "Te": {"trailers"},
		"Grpc-Timeout": {"10S"}, "Containerd-Namespace": {s.namespace},
	}
	answer, err := transport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(answer.Body, leaseBytes+1))
	if err != nil {
		return nil, err
	}
	if err := status(answer); err != nil {
		return nil, err
	}
	return unframe(body)
}

func (s leaseService) transport() *http.Transport {
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	return &http.Transport{
		Protocols: protocols,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", s.socket)
		},
	}
}

// status is the call's outcome, which comes after the answer, or instead of it.
func status(answer *http.Response) error {
	code := answer.Trailer.Get("Grpc-Status")
	if code == "" {
		code = answer.Header.Get("Grpc-Status")
	}
	if answer.StatusCode != http.StatusOK || code != "0" {
		return fmt.Errorf("containerd answered %q with gRPC status %q", answer.Status, code)
	}
	return nil
}

// unframe takes the one message out of gRPC's frame.
func unframe(body []byte) ([]lease, error) {
	if len(body) < 5 || body[0] != 0 || uint64(binary.BigEndian.Uint32(body[1:5])) != uint64(len(body)-5) {
		return nil, errors.New("not one whole message")
	}
	return decodeLeases(body[5:])
}
