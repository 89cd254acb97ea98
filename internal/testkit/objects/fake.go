package objects

import (
	"context"
	"encoding/xml"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
)

// Fake is an S3 server with one bucket in memory. It counts what it is asked,
// and does wrong what a test tells it to. gofakes3 speaks for it, but for
// listings, which are this package's own: gofakes3 has no encoding-type, and
// its listings can't be made to lie.
type Fake struct {
	Bucket
	backend *backend
	engine  http.Handler

	mutex      sync.Mutex
	clock      func() time.Time
	latency    time.Duration
	versioning string
	pageSize   int // of listings, at most; zero is S3's
	rules      []rule
	calls      []Call
	inFlight   int
	most       int
	ended      context.Context // when nothing hangs any more
}

type rule struct {
	when  When
	fault Fault
}

// NewFake starts a fake on a free loopback port until the test ends.
func NewFake(t testing.TB) *Fake {
	t.Helper()
	f := New(t.Context())
	server := httptest.NewServer(f)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	f.Endpoint = server.URL
	return f
}

// New is a fake to be served by its caller, who sets the Endpoint. What hangs
// does so until ctx ends or the client goes.
func New(ctx context.Context) *Fake {
	f := &Fake{
		Bucket: Bucket{Name: "images", Region: "eu-test-1", AccessKey: "anyone", SecretKey: "anything"},
		clock:  time.Now, ended: ctx,
	}
	f.backend = &backend{bucket: f.Name, shelf: newShelf(), clock: f.now}
	f.engine = gofakes3.New(f.backend, gofakes3.WithTimeSource(f.backend), gofakes3.WithTimeSkewLimit(0)).Server()
	return f
}

// SetClock sets the server's clock: its Date headers, and the LastModified of
// what is put from now on.
func (f *Fake) SetClock(clock func() time.Time) { f.set(func() { f.clock = clock }) }

// SetLatency makes every request take that much longer.
func (f *Fake) SetLatency(latency time.Duration) { f.set(func() { f.latency = latency }) }

// SetVersioning is what the bucket answers when asked whether it keeps old
// versions: "Enabled", "Suspended" or nothing. It keeps none whatever it says.
func (f *Fake) SetVersioning(status string) { f.set(func() { f.versioning = status }) }

// SetPageSize makes pages of listings shorter than S3's 1,000 keys, as servers
// may, so that a small storage takes many.
func (f *Fake) SetPageSize(n int) { f.set(func() { f.pageSize = n }) }

// Inject makes a fault of every request that when is true of, from now on. Of
// many rules the first that is true holds.
func (f *Fake) Inject(when When, fault Fault) {
	f.set(func() { f.rules = append(f.rules, rule{when, fault}) })
}

// Heal takes back every fault.
func (f *Fake) Heal() { f.set(func() { f.rules = nil }) }

// Reset forgets the calls so far.
func (f *Fake) Reset() { f.set(func() { f.calls, f.most = nil, f.inFlight }) }

// Calls are the requests so far, in the order in which they came.
func (f *Fake) Calls() []Call {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	return append([]Call(nil), f.calls...)
}

// Counts is the number of requests by operation.
func (f *Fake) Counts() map[string]int {
	counts := map[string]int{}
	for _, call := range f.Calls() {
		counts[call.Operation]++
	}
	return counts
}

// InFlight is how many requests were on their way at once, at most.
func (f *Fake) InFlight() int {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	return f.most
}

// Objects are what the bucket holds, sorted by key.
func (f *Fake) Objects() []Object {
	var all []Object
	for o := range f.backend.shelf.From("") {
		all = append(all, o)
	}
	return all
}

// Content is what an object holds.
func (f *Fake) Content(key string) (data []byte, ok bool) {
	o, ok := f.backend.shelf.get(key)
	return o.data, ok
}

// ServeHTTP answers one request.
func (f *Fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	call, err := read(r)
	if err != nil {
		WriteError(w, http.StatusBadRequest, "MalformedXML", err.Error())
		return
	}
	fault, leave := f.enter(&call)
	defer leave()
	w.Header().Set("Date", f.now().UTC().Format(http.TimeFormat))
	f.wait(r.Context(), f.delay())
	fault(call, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { f.answer(call, w, r) }), w, r)
}

// enter counts a request in and finds what shall become of it.
func (f *Fake) enter(call *Call) (Fault, func()) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	call.N = len(f.calls) + 1
	f.calls = append(f.calls, *call)
	f.inFlight++
	f.most = max(f.most, f.inFlight)
	leave := func() { f.set(func() { f.inFlight-- }) }
	for _, rule := range f.rules {
		if rule.when(*call) {
			return rule.fault, leave
		}
	}
	return none, leave
}

// answer is what S3 would.
func (f *Fake) answer(call Call, w http.ResponseWriter, r *http.Request) {
	if bucket, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/"); bucket != f.Name {
		WriteError(w, http.StatusNotFound, "NoSuchBucket", "the specified bucket does not exist")
		return
	}
	switch call.Operation {
	case List:
		f.list(w, r)
	case Versioning:
		writeXML(w, http.StatusOK, versioning{Status: f.status()})
	case ListUploads:
		f.listUploads(w, r)
	case DeleteMany:
		if refusal := call.refusal(); refusal != "" {
			WriteError(w, http.StatusBadRequest, refusal, "see the documentation of DeleteObjects")
			return
		}
		f.engine.ServeHTTP(w, r)
	case Unknown:
		WriteError(w, http.StatusNotImplemented, "NotImplemented", r.Method+" "+r.URL.String())
	default:
		f.engine.ServeHTTP(w, r)
	}
}

// refusal is why S3 does not take a DeleteObjects.
func (c Call) refusal() string {
	if len(c.Keys) == 0 || len(c.Keys) > pageSize {
		return "MalformedXML"
	}
	for name := range maps.Keys(c.Header) {
		if name == "Content-Md5" || strings.HasPrefix(name, "X-Amz-Checksum-") {
			return ""
		}
	}
	return "InvalidRequest" // no check sum
}

func (f *Fake) list(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	f.shorten(query)
	page, err := ListPage(f.Name, query, f.backend.shelf)
	if err != nil {
		WriteError(w, http.StatusBadRequest, "InvalidArgument", err.Error())
		return
	}
	if lie, ok := r.Context().Value(lieKey{}).(func(*Page)); ok {
		lie(page)
	}
	page.Write(w)
}

// listUploads says that there are none where gofakes3 says that there is no such
// upload: it does so of a bucket that never had one.
func (f *Fake) listUploads(w http.ResponseWriter, r *http.Request) {
	said := record(f.engine, r)
	if said.Code == http.StatusNotFound {
		writeXML(w, http.StatusOK, noUploads{Bucket: f.Name, Prefix: r.URL.Query().Get("prefix"), MaxUploads: pageSize})
		return
	}
	copyHeader(w, said)
	w.WriteHeader(said.Code)
	_, _ = w.Write(said.Body.Bytes()) // the client may be gone
}

type noUploads struct {
	XMLName     xml.Name `xml:"http://s3.amazonaws.com/doc/2006-03-01/ ListMultipartUploadsResult"`
	Bucket      string
	Prefix      string `xml:",omitempty"`
	MaxUploads  int
	IsTruncated bool
}

func (f *Fake) shorten(query url.Values) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if n, err := maxKeys(query); err == nil && f.pageSize > 0 {
		query.Set("max-keys", strconv.Itoa(min(n, f.pageSize)))
	}
}

type versioning struct {
	XMLName xml.Name `xml:"http://s3.amazonaws.com/doc/2006-03-01/ VersioningConfiguration"`
	Status  string   `xml:",omitempty"`
}

func (f *Fake) set(change func()) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	change()
}

func (f *Fake) now() time.Time {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	return f.clock()
}

func (f *Fake) delay() time.Duration {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	return f.latency
}

func (f *Fake) status() string {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	return f.versioning
}

// wait returns sooner when the client goes or the test ends.
func (f *Fake) wait(ctx context.Context, d time.Duration) {
	if d == 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	case <-f.ended.Done():
	}
}
