package s3

import (
	"context"
	"errors"
	iofs "io/fs"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/ebb-io/ebb/internal/store/blob/blobtest"
)

// down is a driver whose server has failed as many calls as it takes, and the
// server, which fails whatever it is asked.
func down(t *testing.T) (*Writable, *fake) {
	t.Helper()
	f := newFake(t)
	w := f.open(t, "")
	if err := w.Put(t.Context(), "a/one", []byte("1")); err != nil {
		t.Fatal(err)
	}
	f.behave(func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		answer(w, http.StatusServiceUnavailable, refusal("SlowDown", "x"))
	})
	for n := range outage {
		before := w.Requests()
		if err := w.Probe(t.Context()); err == nil || errors.Is(err, errSilent) || w.Requests()-before != attempts {
			t.Fatalf("call %d: %v after %d requests, want %d", n+1, err, w.Requests()-before, attempts)
		}
	}
	return w, f
}

// When a server is gone, what is still to be asked costs one request each, or
// none while another one finds out.
func TestOutageEnds(t *testing.T) {
	w, f := down(t)
	before := w.Requests()
	if err := w.Probe(t.Context()); err == nil || w.Requests()-before != 1 {
		t.Errorf("one after the outage began: %v after %d requests, want 1", err, w.Requests()-before)
	}
	asked, goOn, probed := make(chan struct{}), make(chan struct{}), make(chan error)
	f.behave(func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		asked <- struct{}{}
		<-goOn
		answer(w, http.StatusServiceUnavailable, refusal("SlowDown", "x"))
	})
	go func() { probed <- w.Probe(context.WithoutCancel(t.Context())) }()
	<-asked
	before = w.Requests()
	for name, err := range eachCall(t, w) {
		if !errors.Is(err, errSilent) || errors.Is(err, iofs.ErrNotExist) || !strings.HasPrefix(err.Error(), "store s3://"+testBucket+": ") {
			t.Errorf("%s: %v, want %v", name, err, errSilent)
		}
	}
	if n := w.Requests() - before; n != 0 {
		t.Errorf("%d requests while one finds out, want none", n)
	}
	close(goOn)
	if err := <-probed; err == nil || errors.Is(err, errSilent) {
		t.Errorf("the one that finds out: %v", err)
	}
	f.behave(nil)
	if err := w.Probe(t.Context()); err != nil {
		t.Errorf("the server is back: %v", err)
	}
	for name, err := range eachCall(t, w) {
		if err != nil {
			t.Errorf("the server is back: %s: %v", name, err)
		}
	}
}

func eachCall(t *testing.T, w *Writable) map[string]error {
	t.Helper()
	errs := map[string]error{}
	_, errs["stat"] = w.Stat(t.Context(), "a/one")
	_, errs["read"] = w.Read(t.Context(), "a/one", &strings.Builder{})
	errs["put"] = w.Put(t.Context(), "a/two", nil)
	errs["delete"] = errors.Join(w.Delete(t.Context(), []string{"a/two"})...)
	l, err := w.Lock(t.Context(), lockPath)
	if errs["lock"] = err; err == nil {
		errs["release"] = l.Release(t.Context())
	}
	_, errs["unfinished"] = w.Unfinished(t.Context(), "")
	seen, err := blobtest.Walk(t.Context(), w, "a", nil)
	if errs["walk"] = err; len(seen.Failed) > 0 {
		errs["walk"] = seen.Errors["a"]
	}
	return errs
}

// Calls that fail, some of which are answered, are no outage: a refusal is an
// answer, and so is the least success.
func TestAnswersAreNoOutage(t *testing.T) {
	for reason, front := range map[string]func(http.ResponseWriter, *http.Request, http.Handler){
		"success": func(w http.ResponseWriter, r *http.Request, next http.Handler) { next.ServeHTTP(w, r) },
		"refusal": func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
			answer(w, http.StatusForbidden, refusal("AccessDenied", "x"))
		},
		"absence": func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
			answer(w, http.StatusNotFound, refusal("NoSuchKey", "x"))
		},
		"a file that can not be removed": func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
			answer(w, http.StatusOK, "<DeleteResult>"+failure("a/one", "InternalError")+"</DeleteResult>")
		},
	} {
		w, f := down(t)
		w.again.breaker.failed--
		f.mu.Lock()
		broken := f.front
		f.mu.Unlock()
		f.behave(front)
		if reason == "a file that can not be removed" {
			w.Delete(t.Context(), []string{"a/one"})
		} else {
			_, _ = w.Stat(t.Context(), "a/one")
		}
		f.behave(broken)
		for range slices.Repeat([]int{0}, 2) {
			before := w.Requests()
			if err := w.Probe(t.Context()); err == nil || w.Requests()-before != attempts {
				t.Errorf("%s: %v after %d requests, want %d", reason, err, w.Requests()-before, attempts)
			}
		}
	}
}

// What a caller broke off says nothing of the server.
func TestBrokenOffCallsAreNoOutage(t *testing.T) {
	f := newFake(t)
	w := f.open(t, "")
	if err := w.Probe(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range outage + 1 {
		ctx, cancel := context.WithCancel(t.Context())
		f.behave(func(http.ResponseWriter, *http.Request, http.Handler) { cancel(); panic(http.ErrAbortHandler) })
		if err := w.Probe(ctx); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	}
	f.behave(nil)
	if failed := w.again.breaker.failed; failed != 0 {
		t.Errorf("%d calls count as failed", failed)
	}
}
