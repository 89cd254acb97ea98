package s3

import (
	"bytes"
	"errors"
	iofs "io/fs"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/ebb-io/ebb/internal/store/blob"
)

// cuts breaks the first n answers to a read in their middle.
func cuts(n int64, mend func(*http.Request)) func(http.ResponseWriter, *http.Request, http.Handler) {
	var left atomic.Int64
	left.Store(n)
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if r.Method != http.MethodGet || r.Header.Get("Range") == "" && left.Load() < n {
			next.ServeHTTP(w, r)
			return
		}
		mend(r)
		whole := httptest.NewRecorder()
		next.ServeHTTP(whole, r)
		for name, values := range whole.Header() {
			w.Header()[name] = values
		}
		body := whole.Body.Bytes()
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		w.WriteHeader(whole.Code)
		if left.Add(-1) < 0 {
			_, _ = w.Write(body)
			return
		}
		_, _ = w.Write(body[:len(body)/2])
		panic(http.ErrAbortHandler)
	}
}

func TestReadGoesOn(t *testing.T) {
	want := bytes.Repeat([]byte("0123456789abcdef"), 64<<10)
	for reason, mend := range map[string]func(*http.Request){
		"from where it broke": func(*http.Request) {},
		"from the beginning":  func(r *http.Request) { r.Header.Del("Range") },
	} {
		f := newFake(t)
		w := f.open(t, "")
		if err := w.Put(t.Context(), "a/blob", want); err != nil {
			t.Fatal(err)
		}
		f.behave(cuts(3, mend))
		before := w.Requests()
		var got bytes.Buffer
		entry, err := w.Read(t.Context(), "a/blob", &got)
		if err != nil || !bytes.Equal(got.Bytes(), want) || entry.Size != int64(len(want)) {
			t.Errorf("%s: %d bytes of %d, %v", reason, got.Len(), len(want), err)
		}
		if n := w.Requests() - before; n != 4 {
			t.Errorf("%s: %d requests, want 4", reason, n)
		}
		f.behave(cuts(1000, mend))
		before = w.Requests()
		_, err = w.Read(t.Context(), "a/blob", &bytes.Buffer{})
		if err == nil || errors.Is(err, iofs.ErrNotExist) || w.Requests()-before != attempts {
			t.Errorf("%s, for ever: %v after %d requests", reason, err, w.Requests()-before)
		}
	}
}

// Halves of two files make none.
func TestReadOfFileThatChanges(t *testing.T) {
	old, other := strings.Repeat("o", 1<<20), strings.Repeat("n", 1<<20)
	for reason, keeps := range map[string]bool{"the server minds the condition": true, "it does not": false} {
		f := newFake(t)
		w := f.open(t, "")
		if err := w.Put(t.Context(), "a", []byte(old)); err != nil {
			t.Fatal(err)
		}
		cut := cuts(1, func(*http.Request) {})
		f.behave(func(rw http.ResponseWriter, r *http.Request, next http.Handler) {
			if r.Method == http.MethodGet && r.Header.Get("Range") != "" {
				request := httptest.NewRequest(http.MethodPut, "/"+testBucket+"/a", strings.NewReader(other))
				request.Header.Set("Content-Length", strconv.Itoa(len(other)))
				put := httptest.NewRecorder()
				if next.ServeHTTP(put, request); put.Code != http.StatusOK {
					t.Errorf("put: %d %s", put.Code, put.Body)
				}
				if r.Header.Get("If-Match") == "" {
					t.Error("the rest was asked for without a condition")
				}
				if keeps { // as the fake does not
					answer(rw, http.StatusPreconditionFailed, refusal("PreconditionFailed", "x"))
					return
				}
			}
			cut(rw, r, next)
		})
		var got bytes.Buffer
		if _, err := w.Read(t.Context(), "a", &got); err == nil || !strings.Contains(err.Error(), "changed while") || strings.Contains(got.String(), "n") {
			t.Errorf("%s: %v, %d bytes", reason, err, got.Len())
		}
	}
}

// Only a missing file is one: neither a missing bucket nor a closed door.
func TestAbsence(t *testing.T) {
	tests := []struct {
		reason string
		status int
		body   string
		is     error
		absent bool
	}{
		{"no file", 404, refusal("NoSuchKey", "x"), iofs.ErrNotExist, true},
		{"no bucket", 404, refusal("NoSuchBucket", "x"), errNoBucket, false},
		{"no permission to list", 403, refusal("AccessDenied", "x"), iofs.ErrPermission, false},
		{"not of S3", 404, "<html>not found</html>", nil, false},
		{"404 without a word", 404, "", nil, false},
	}
	for _, test := range tests {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { answer(w, test.status, test.body) }))
		w := open(t, options(server.URL))
		_, readErr := w.Read(t.Context(), "a", &bytes.Buffer{})
		if readErr == nil || errors.Is(readErr, iofs.ErrNotExist) != test.absent || test.is != nil && !errors.Is(readErr, test.is) {
			t.Errorf("%s: read: %v", test.reason, readErr)
		}
		_, statErr := w.Stat(t.Context(), "a")
		if statErr == nil || errors.Is(statErr, iofs.ErrNotExist) != test.absent || test.is != nil && !errors.Is(statErr, test.is) {
			t.Errorf("%s: stat: %v", test.reason, statErr)
		}
		if _, _, err := blob.ReadFile(t.Context(), w, "a", 10); errors.Is(err, iofs.ErrNotExist) != test.absent {
			t.Errorf("%s: read file: %v", test.reason, err)
		}
		server.Close()
	}
}

// Even where the bucket was seen before, a 404 without a code is no absence.
func TestStatBelievesNoBare404(t *testing.T) {
	f := newFake(t)
	w := f.open(t, "")
	if err := w.Put(t.Context(), "a", []byte("12345")); err != nil {
		t.Fatal(err)
	}
	if err := w.Probe(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.behave(func(w http.ResponseWriter, _ *http.Request, _ http.Handler) { w.WriteHeader(http.StatusNotFound) })
	if _, err := w.Stat(t.Context(), "a"); err == nil || errors.Is(err, iofs.ErrNotExist) {
		t.Errorf("%v, want an error that is no absence", err)
	}
}

func TestStatSizes(t *testing.T) {
	tests := []struct {
		reason string
		status int
		header string // Content-Range
		body   string
		want   int64 // -1: an error
	}{
		{"the first byte", 206, "bytes 0-0/12345678901", "x", 12345678901},
		{"all of it", 200, "", "12345", 5},
		{"another byte", 206, "bytes 1-1/5", "x", -1},
		{"of unknown size", 206, "bytes 0-0/*", "x", -1},
	}
	for _, test := range tests {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodGet || r.Header.Get("Range") != "bytes=0-0" {
				t.Errorf("%s: %s %q", test.reason, r.Method, r.Header.Get("Range"))
			}
			if test.header != "" {
				w.Header().Set("Content-Range", test.header)
			}
			answer(w, test.status, test.body)
		}))
		w := open(t, options(server.URL))
		entry, err := w.Stat(t.Context(), "a")
		if got := entry.Size; (err != nil) != (test.want < 0) || err == nil && got != test.want || errors.Is(err, iofs.ErrNotExist) {
			t.Errorf("%s: %d, %v, want %d", test.reason, got, err, test.want)
		}
		server.Close()
	}
}

func TestStatOfAnEmptyFile(t *testing.T) {
	f := newFake(t)
	w := f.open(t, "")
	if err := w.Put(t.Context(), "a", nil); err != nil {
		t.Fatal(err)
	}
	f.behave(func(rw http.ResponseWriter, r *http.Request, next http.Handler) {
		if r.Header.Get("Range") != "" {
			answer(rw, http.StatusRequestedRangeNotSatisfiable, refusal("InvalidRange", "x"))
			return
		}
		next.ServeHTTP(rw, r)
	})
	if entry, err := w.Stat(t.Context(), "a"); err != nil || entry.Size != 0 || entry.ModTime.IsZero() {
		t.Errorf("%+v, %v", entry, err)
	}
}
