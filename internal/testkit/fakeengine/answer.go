package fakeengine

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// refusal is an error with its status.
type refusal struct {
	status  int
	message string
}

func (r *refusal) Error() string { return r.message }

func fault(status int, format string, a ...any) error {
	return &refusal{status, fmt.Sprintf(format, a...)}
}

// noSuch is the engine's word that it has no such image or container.
func (e *Engine) noSuch(what, name string) error {
	if e.opts.Podman {
		return fault(404, "failed to find %s %s: no such %s", what, name, what)
	}
	return fault(404, "No such %s: %s", what, name)
}

// answer is the whole of the engine's HTTP.
func (e *Engine) answer(w http.ResponseWriter, r *http.Request) {
	c, hooks, fail, down := e.record(parse(r))
	if down {
		panic(http.ErrAbortHandler)
	}
	for _, h := range hooks {
		h(c)
	}
	var f Fault
	if fail != nil {
		if got := fail(c); got != nil {
			f = *got
		}
	}
	if f.Hang != nil {
		select {
		case <-f.Hang:
		case <-r.Context().Done():
			panic(http.ErrAbortHandler)
		}
	}
	e.headers(w)
	if f.intercepts() {
		e.meet(w, c, f)
		return
	}
	if c.Kind == Events {
		if err := e.supports(c); err != nil {
			write(w, nil, err)
			return
		}
		if f.Half { // it opens, and ends
			w.WriteHeader(http.StatusOK)
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}
		e.watch(w, r, c)
		return
	}
	body, crashed, err := e.do(c)
	if crashed {
		panic(http.ErrAbortHandler)
	}
	if f.Half {
		half(w, body)
	}
	write(w, body, err)
}

func (f Fault) intercepts() bool { return f.Reset || f.Empty || f.Status != 0 }

// meet answers by a fault.
func (e *Engine) meet(w http.ResponseWriter, c Call, f Fault) {
	if f.Done {
		_, _, _ = e.do(c)
	}
	switch {
	case f.Reset:
		reset(w)
	case f.Empty:
		w.WriteHeader(http.StatusOK)
	case f.Page:
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(f.Status)
		_, _ = io.WriteString(w, f.Message)
	default:
		write(w, nil, fault(f.Status, "%s", f.Message))
	}
}

// reset closes the connection after the first letter of an answer: after none,
// Go's client would ask a second time by itself.
func reset(w http.ResponseWriter) {
	conn, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	_, _ = conn.Write([]byte("H"))
	_ = conn.Close()
}

// half sends the first half of an answer and closes the connection.
func half(w http.ResponseWriter, body any) {
	raw, _ := json.Marshal(body)
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(raw)))
	_, _ = w.Write(raw[:len(raw)/2])
	w.(http.Flusher).Flush()
	panic(http.ErrAbortHandler)
}

func (e *Engine) headers(w http.ResponseWriter) {
	e.mu.Lock()
	defer e.mu.Unlock()
	w.Header().Set("Api-Version", e.opts.API)
	w.Header().Set("Ostype", "linux")
	w.Header().Set("Server", "Docker/"+e.opts.Version+" (linux)")
	w.Header().Set("Swarm", e.swarm())
}

func (e *Engine) swarm() string {
	if e.opts.Manager {
		return "active/manager"
	}
	return "inactive"
}

type created struct{}

func write(w http.ResponseWriter, body any, err error) {
	var r *refusal
	w.Header().Set("Content-Type", "application/json")
	switch {
	case errors.As(err, &r):
		w.WriteHeader(r.status)
		body = map[string]string{"message": r.message}
	case body == created{}:
		w.WriteHeader(http.StatusCreated)
		return
	}
	_ = json.NewEncoder(w).Encode(body)
}

// supports refuses a version of the API that the engine does not have.
func (e *Engine) supports(c Call) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch v := c.API; {
	case v == "" || c.Kind == Ping:
		return nil
	case minor(v) < minor(e.opts.MinAPI):
		return fault(400, "client version %s is too old. Minimum supported API version is %s, please upgrade your client to a newer version", v, e.opts.MinAPI)
	case minor(v) > minor(e.opts.API):
		return fault(400, "client version %s is too new. Maximum supported API version is %s", v, e.opts.API)
	}
	return nil
}

func minor(v string) int {
	_, m, _ := strings.Cut(v, ".")
	n, _ := strconv.Atoi(m)
	return n
}

// do carries a call out.
func (e *Engine) do(c Call) (body any, crashed bool, err error) {
	if err := e.supports(c); err != nil {
		return nil, false, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.log.down {
		return nil, true, nil
	}
	if c.API == "" {
		c.API = e.opts.API
	}
	body, err = e.perform(c)
	return body, c.Mutates() && e.tookEffect(), err
}

func (e *Engine) perform(c Call) (any, error) {
	switch c.Kind {
	case Ping:
		return "OK", nil
	case GetInfo:
		return e.info(minor(c.API)), nil
	case GetVersion:
		return e.version(), nil
	case ListImages:
		return e.listImages(minor(c.API), yes(c.Query.Get("shared-size")), references(c.Query.Get("filters"))), nil
	case InspectImage:
		return e.inspectImage(c.Target, minor(c.API))
	case DeleteImage:
		return e.delete(c)
	case TagImage:
		return created{}, e.tag(c.Target, c.Query.Get("repo")+":"+orLatest(c.Query.Get("tag")))
	case ListContainers:
		return e.listContainers(minor(c.API), yes(c.Query.Get("all"))), nil
	case InspectContainer:
		return e.inspectContainer(c.Target, minor(c.API))
	case ListServices:
		return e.listServices()
	case DiskUsage:
		return e.diskUsage(minor(c.API), yes(c.Query.Get("verbose"))), nil
	case Prune:
		return map[string]any{}, nil
	}
	return nil, fault(404, "page not found")
}

func orLatest(tag string) string {
	if tag == "" {
		return "latest"
	}
	return tag
}

// delete removes, and judges what went.
func (e *Engine) delete(c Call) (any, error) {
	id, _, err := e.resolve(c.Target)
	if err != nil {
		return nil, err
	}
	names := e.names(id)
	out, err := e.remove(c.Target)
	if err == nil && e.log.allow != nil && !e.log.allow(c.Target, id, names) {
		e.violate(c, "a delete that was not allowed")
	}
	return out, err
}
