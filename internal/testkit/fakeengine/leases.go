package fakeengine

import (
	"encoding/binary"
	"io"
	"maps"
	"net/http"
	"slices"
	"time"
)

// lease is a lease in containerd's namespace moby.
type lease struct {
	ID      string
	Created time.Time
	Labels  map[string]string
}

// AddLease adds a lease, such as a pull's that was cancelled.
func (e *Engine) AddLease(id string, created time.Time, labels map[string]string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.pulls = append(e.pulls, lease{id, created, labels})
}

// answerLeases is containerd's service of leases: one unary call of gRPC. As in
// containerd, no filter is a list of all.
func (e *Engine) answerLeases(w http.ResponseWriter, r *http.Request) {
	c, hooks, fail, down := e.record(Call{Kind: Leases, Method: r.Method, Path: r.URL.Path})
	if down {
		panic(http.ErrAbortHandler)
	}
	for _, h := range hooks {
		h(c)
	}
	_, _ = io.Copy(io.Discard, r.Body)
	w.Header().Set("Content-Type", "application/grpc")
	w.Header().Set("Trailer", "Grpc-Status, Grpc-Message")
	status, body := "0", e.leaseList()
	if r.URL.Path != "/containerd.services.leases.v1.Leases/List" || r.Header.Get("Containerd-Namespace") != "moby" {
		status, body = "12", nil
	}
	if fail != nil {
		if f := fail(c); f != nil {
			status, body = "14", nil
		}
	}
	if status == "0" {
		_, _ = w.Write(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(body))))
		_, _ = w.Write(body)
	}
	w.Header().Set("Grpc-Status", status)
}

// leaseList is a ListResponse: field 1 repeats a lease.
func (e *Engine) leaseList() []byte {
	e.mu.Lock()
	defer e.mu.Unlock()
	var out []byte
	for _, l := range e.pulls {
		out = field(out, 1, l.encode())
	}
	return out
}

// encode is a Lease: 1 the ID, 2 the time as seconds and nanoseconds, 3 the labels.
func (l lease) encode() []byte {
	out := field(nil, 1, []byte(l.ID))
	at := number(number(nil, 1, uint64(l.Created.Unix())), 2, uint64(l.Created.Nanosecond()))
	out = field(out, 2, at)
	for _, k := range slices.Sorted(maps.Keys(l.Labels)) {
		out = field(out, 3, field(field(nil, 1, []byte(k)), 2, []byte(l.Labels[k])))
	}
	return out
}

func field(out []byte, n uint64, value []byte) []byte {
	out = binary.AppendUvarint(out, n<<3|2)
	out = binary.AppendUvarint(out, uint64(len(value)))
	return append(out, value...)
}

func number(out []byte, n, value uint64) []byte {
	return binary.AppendUvarint(binary.AppendUvarint(out, n<<3), value)
}
